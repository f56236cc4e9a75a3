"""How long to wait: election time-outs and the back-off of those that are told of a resignation."""

import random
from collections.abc import Sequence

from node.config import QuorumTimeouts
from node.ids import MS, ReplicaKey


def election_timeout_ns(timeouts: QuorumTimeouts, rng: random.Random) -> int:
    """Uniform in [T, 2T): equal waits would let candidates collide for ever (KAFKA-18345)."""
    base = timeouts.election_ms * MS
    return base + rng.randrange(base)


def check_quorum_timeout_ns(timeouts: QuorumTimeouts) -> int:
    """A leader that no majority fetches from for 1.5 fetch time-outs steps down (KAFKA-15489)."""
    return timeouts.fetch_ms * MS * 3 // 2


def begin_epoch_interval_ns(timeouts: QuorumTimeouts) -> int:
    """A voter that has not fetched for this long is told (again) who leads."""
    return timeouts.fetch_ms * MS // 2


def end_epoch_backoff_ms(preferred: Sequence[ReplicaKey], me: ReplicaKey, max_ms: int) -> int:
    """How long a follower waits after its leader resigned (`endEpochElectionBackoff`).

    The first in line, or everybody when there is no line, starts now; the others wait so much
    longer, the further back they are; who is not in the line waits longest.
    """
    if not preferred:
        return 0
    if me not in preferred:
        return max_ms
    position = preferred.index(me)
    if position == 0:
        return 0
    return min(max_ms, (max_ms >> (len(preferred) - 1)) << (position - 1))
