"""The environment of a simulated process: the node with its invariants, and the requests that it
got."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from chaos.cluster.sim.invariant_keeper import ProcessMonitor
from chaos.cluster.sim.loop import VirtualLoop
from chaos.cluster.sim.network import Network
from chaos.cluster.sim.sim_clock import NodeClock
from chaos.cluster.sim.sim_disk import Drive
from chaos.cluster.sim.watchdog import Going, Watchdog
from node.effects import ConnectionClosed, Effect, Event, FrameReceived
from node.ids import Now
from node.node import Framing
from node.outbox import Output, ResponseTo
from node.server.recovered import AnyNode
from node.wire.apis import Request
from node.wire.headers import RequestHeader
from node.wire.partition_fetch import PartitionsFetchResponse

# The requests to a node, kept as they are decoded from its frames, for the invariants.


class Ear:
    """Of one process. `request`: what was read last, of whichever listener it came to."""

    def __init__(self) -> None:
        self.request: Request | None = None

    def take(self) -> Request | None:
        """Since it was asked last; None: nothing could be read."""
        request, self.request = self.request, None
        return request


class ListeningFraming:
    """Does what `framing` does."""

    def __init__(self, ear: Ear, framing: Framing) -> None:
        self._ear = ear
        self._decode = framing.decode_request
        # By few steps: whatever a node sends and receives comes by here.
        self.encode_response = framing.encode_response
        self.encode_pieces = framing.encode_pieces
        self.encode_request = framing.encode_request
        self.decode_response = framing.decode_response

    def decode_request(self, frame: bytes) -> tuple[RequestHeader, Request]:
        read = self._decode(frame)
        self._ear.request = read[1]
        return read


Between = Callable[[], None]  # before an effect or an operation of the disk; may raise


class StruckError(Exception):
    """A fault ended this process amid its work; it unwinds what it was doing."""


class EndUnasked(Protocol):
    def __call__(self, exit_code: int, *, told_to_stop: bool, halted: str) -> None:
        """It ended by itself, or failed as it was told to stop; or the harness `halted` it, and
        why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """They outlive the process."""

    loop: VirtualLoop
    network: Network
    clock: NodeClock
    drive: Drive
    between: Between
    post: ProcessMonitor
    ear: Ear
    watchdog: Watchdog
    life: int  # which one of the node's
    err: Callable[[str], None]  # stderr
    close_files: Callable[[], None]  # as the kernel does when a process ends
    end_unasked: EndUnasked


# A node with counted steps, which are judged afterwards.


class WatchedNode:
    """A `node.turn.SteppedNode`. `outputs` are those of its last step, before they were frames.
    Answers are read from files in the step that makes them: a look at a simulated disk takes no
    time, and no reader is slow."""

    outputs: Sequence[Output] = ()

    def __init__(self, node: AnyNode, going: Going, ear: Ear, post: ProcessMonitor) -> None:
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
