"""A node with counted steps, which are judged afterwards."""

from collections.abc import Sequence

from chaos.cluster.sim.invariant_keeper import Post
from chaos.cluster.sim.overheard import Ear
from chaos.cluster.sim.watchdog import Going
from node.effects import Effect
from node.events import ConnectionClosed, Event, FrameReceived
from node.ids import Now
from node.outbox import Output, ResponseTo
from node.server.recovered import AnyNode
from node.wire.partition_fetch import PartitionsFetchResponse


class WatchedNode:
    """A `node.turn.SteppedNode`. `outputs` are those of its last step, before they were frames.
    Answers are read from files in the step that makes them: a look at a simulated disk takes no
    time, and no reader is slow."""

    outputs: Sequence[Output] = ()

    def __init__(self, node: AnyNode, going: Going, ear: Ear, post: Post) -> None:
        self._node = node
        self._going = going
        self._ear = ear
        self._post = post

    def start(self, now: Now) -> list[Effect]:
        self._going.number += 1
        self._going.event = "start"
        outputs = self._node.core.start(now)
        self.outputs = outputs
        return self._node.encode(outputs)

    def step(self, event: Event, now: Now) -> list[Effect]:
        self._going.number += 1
        self._going.event = event
        outputs = [_read_at_once(each) for each in self._node.decide(event, now)]
        self.outputs = outputs
        if type(event) is FrameReceived:
            self._post.hear(event.connection, self._ear.take(), now.mono_ns)
        elif type(event) is ConnectionClosed:
            self._post.forget(event.connection)
        return self._node.encode(outputs)

    def next_deadline_ns(self) -> int:
        return self._node.next_deadline_ns()


def _read_at_once(output: Output) -> Output:
    if type(output) is ResponseTo and isinstance(output.response, PartitionsFetchResponse):
        return ResponseTo(output.connection, output.response.read())
    return output
