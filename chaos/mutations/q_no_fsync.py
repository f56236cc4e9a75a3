"""Q-NO-FSYNC: a voter sends its next Fetch before its last append is durable (KAFKA-10533)."""

from chaos.mutations.planted import Planted
from node.raft.fetch_follower import FollowerFetch


def fetch_unflushed(_self: FollowerFetch) -> bool:
    """The leader counts a log end that a power cut undoes."""
    return True


PLANTED = Planted(owner=FollowerFetch, decision="may_fetch", wrong=fetch_unflushed)
