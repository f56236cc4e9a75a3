"""A node whose steps are watched over while they last, and looked at afterwards."""

from collections.abc import Callable

from chaos.cluster.interface import NodeId
from chaos.cluster.sim.watchdog import Watchdog
from node.effects import Effect
from node.events import Event
from node.ids import Now
from node.node import Node
from node.raft.outbox import Output


class WatchedNode:
    """A `node.turn.SteppedNode`. `outputs` are those of its last step, before they were frames."""

    def __init__(self, node: Node, watchdog: Watchdog, number: NodeId, life: int) -> None:
        self.outputs: list[Output] = []
        self._node = node
        self._watchdog = watchdog
        self._id = number
        self._life = life
        self._steps = 0

    def start(self, now: Now) -> list[Effect]:
        return self._watched("start", lambda: self._node.core.start(now))

    def step(self, event: Event, now: Now) -> list[Effect]:
        return self._watched(event, lambda: self._node.decide(event, now))

    def next_deadline_ns(self) -> int:
        return self._node.next_deadline_ns()

    def _watched(self, event: object, decide: Callable[[], list[Output]]) -> list[Effect]:
        self._steps += 1
        with self._watchdog.over(self._id, self._life, self._steps, event):
            self.outputs = decide()
            return self._node.encode(self.outputs)
