"""Q-LIVELOCK: every election time-out is the same; candidates collide again and again
(KAFKA-18345)."""

import random

from chaos.mutations.planted import Planted
from node.config import QuorumTimeouts
from node.ids import MS
from node.raft import deadlines


def wait_like_everybody(timeouts: QuorumTimeouts, _rng: random.Random) -> int:
    """Candidates that collided time out together again."""
    return timeouts.election_ms * MS


PLANTED = Planted(owner=deadlines, decision="election_timeout_ns", wrong=wait_like_everybody)
