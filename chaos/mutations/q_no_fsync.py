"""Q-NO-FSYNC: a voter sends its next Fetch before what it appended is durable (KAFKA-10533)."""

from chaos.mutations.planted import Planted
from node.raft.fetch_follower import FollowerFetch


def fetch_unflushed(_self: FollowerFetch) -> bool:
    """The leader counts an end that a power cut takes back."""
    return True


PLANTED = Planted(owner=FollowerFetch, decision="may_fetch", wrong=fetch_unflushed)
