"""A node whose steps are watched over while they last, and looked at afterwards."""

from collections.abc import Sequence

from chaos.cluster.interface import NodeId
from chaos.cluster.sim.watchdog import Going, Watchdog
from node.effects import Effect
from node.events import Event
from node.ids import Now
from node.outbox import Output
from node.server.recovered import AnyNode


class WatchedNode:
    """A `node.turn.SteppedNode`. `outputs` are those of its last step, before they were frames."""

    outputs: Sequence[Output] = ()

    def __init__(self, node: AnyNode, watchdog: Watchdog, number: NodeId, life: int) -> None:
        self._node = node
        self._watchdog = watchdog
        self._going = Going(number, life)

    def start(self, now: Now) -> list[Effect]:
        self._watchdog.begin(self._going, "start")
        try:
            outputs = self._node.core.start(now)
            self.outputs = outputs
            return self._node.encode(outputs)
        finally:
            self._watchdog.going = None

    def step(self, event: Event, now: Now) -> list[Effect]:
        self._watchdog.begin(self._going, event)
        try:
            outputs = self._node.decide(event, now)
            self.outputs = outputs
            return self._node.encode(outputs)
        finally:
            self._watchdog.going = None

    def next_deadline_ns(self) -> int:
        return self._node.next_deadline_ns()
