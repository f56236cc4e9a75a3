"""A node of a story: its disk, and the life that it has now."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from node.config import QuorumTimeouts
from node.effects import ElectionState
from node.ids import ReplicaKey
from node.outbox import Output
from tests.support.memory_log import MemoryLog
from tests.support.rig import Rig
from tests.support.story_command import node_name
from tests.support.story_draws import Draws


@dataclass(slots=True, kw_only=True)
class Machine:
    """What outlives a process, and the process, if there is one."""

    key: ReplicaKey
    log: MemoryLog = field(default_factory=MemoryLog)
    election: ElectionState = ElectionState()
    has_slow_disk: bool = False
    planned_ns: deque[int] = field(default_factory=deque)  # the next election time-outs
    lives: int = 0
    rig: Rig | None = None

    @property
    def name(self) -> str:
        return node_name(self.key.id)

    def boot(
        self,
        *,
        size: int,
        timeouts: QuorumTimeouts,
        kraft_version: int,
        now_ns: int,
        watch: Callable[[Output], None],
        drawn: Callable[[int], None],
    ) -> None:
        """Start a process in a quorum of `size`. `drawn` is told of its election time-outs."""
        self.lives += 1
        rng = Draws(seed=f"{self.key.id}:{self.lives}", planned_ns=self.planned_ns, told=drawn)
        self.rig = Rig(
            size=size,
            me=self.key,
            log=self.log,
            election=self.election,
            flushes=not self.has_slow_disk,
            rng=rng,
            timeouts=timeouts,
            kraft_version=kraft_version,
            now_ns=now_ns,
            watch=watch,
        )
