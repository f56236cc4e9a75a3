"""A replica as the leader sees it."""

from dataclasses import replace

from node.ids import NEVER_NS, Now, Offset
from node.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a replica's valid Fetches have told. `None`: it has not fetched in this epoch."""

    end: Offset | None = None  # durable there: everything below
    last_fetch_ns: int = -NEVER_NS  # monotonic
    last_fetch_wall_ns: int = -1
    last_caught_up_wall_ns: int = -1  # when it last had all that the leader had then
    leader_end_at_fetch: Offset = Offset(-1)
    outcome: str = ""  # of the last Fetch, as traced

    def fetched(self, *, end: Offset, leader_end: Offset, now: Now, outcome: str) -> "Progress":
        """After a valid Fetch from `end`, while the leader's log ended at `leader_end`.

        Caught up as Kafka counts it (`ReplicaState.updateFollowerState`): now, if it has all; at
        the time of the fetch before, if it has all that the leader had then.
        """
        caught_up = self.last_caught_up_wall_ns
        if end >= leader_end:
            caught_up = now.wall_ns
        elif self.leader_end_at_fetch >= 0 and end >= self.leader_end_at_fetch:
            caught_up = max(caught_up, self.last_fetch_wall_ns)
        return Progress(
            end=end,
            last_fetch_ns=now.mono_ns,
            last_fetch_wall_ns=now.wall_ns,
            last_caught_up_wall_ns=caught_up,
            leader_end_at_fetch=leader_end,
            outcome=outcome,
        )

    def fetched_snapshot(self, now: Now) -> "Progress":
        """After a FetchSnapshot: it follows, and what it has is what it had."""
        return replace(self, last_fetch_ns=now.mono_ns, last_fetch_wall_ns=now.wall_ns)


NOT_MET = Progress()
