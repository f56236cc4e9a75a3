"""The nodes of a story, their disks, their connections, and the time.

A node that the story starts is real. The others are played by the story: what they are asked waits
for the answer that the story gives, or for ever.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from node.config import QuorumTimeouts
from node.effects import (
    AppendBatches,
    CloseConnection,
    DisconnectPeer,
    PersistElectionState,
    Stop,
    Trace,
    TruncateLog,
)
from node.ids import NodeId
from node.outbox import Output, RequestTo, ResponseTo
from node.wire.apis import Request, Response
from tests.support.rig import MS, Rig, asked_node, key
from tests.support.story_command import StoryError, node_name
from tests.support.story_links import Asked, Link, Links, Party
from tests.support.story_machine import Machine
from tests.support.story_words import (
    batch_lines,
    election_words,
    exchange_of,
    request_words,
    response_words,
    trace_words,
)


class Tell(Protocol):
    """Takes the kind of thing that happened, and a line about it."""

    def __call__(self, kind: str, line: str, /) -> None: ...


class World:
    def __init__(self, size: int, timeouts: QuorumTimeouts, tell: Tell, kraft_version: int) -> None:
        self.now_ns = 1000 * MS
        self.links = Links()
        self._size = size
        self._timeouts = timeouts
        self._kraft_version = kraft_version
        self._tell_story = tell
        self._is_silent = False
        self._is_landing = False
        self._unmuted: deque[Link] = deque()  # their last request was answered, the next waits
        self._machines = {node: Machine(key=key(node)) for node in map(NodeId, range(1, size + 1))}

    # --- looking ---

    def machine(self, node: NodeId) -> Machine:
        if node not in self._machines:
            raise StoryError(f"{node_name(node)} is not in a quorum of {self._size}")
        return self._machines[node]

    def rig(self, node: NodeId) -> Rig:
        """A node that was never mentioned has just started, and nobody looked."""
        machine = self.machine(node)
        if machine.lives == 0:
            self._is_silent = True
            self.start(node)
            self._is_silent = False
        if machine.rig is None:
            raise StoryError(f"{machine.name} is down")
        return machine.rig

    def names(self) -> list[Party]:
        return [machine.name for machine in self._machines.values()]

    # --- lives ---

    def start(self, node: NodeId) -> None:
        machine = self.machine(node)
        if machine.rig is not None:
            raise StoryError(f"{machine.name} is up already")
        machine.boot(
            size=self._size,
            timeouts=self._timeouts,
            kraft_version=self._kraft_version,
            now_ns=self.now_ns,
            watch=partial(self._see, machine),
            drawn=partial(self._tell_draw, machine),
        )
        self._after_step(machine)

    def kill(self, node: NodeId) -> None:
        """The process dies; what it wrote stays in the page cache."""
        self._die(self.machine(node))
        self.land_all()

    def power_off(self, node: NodeId) -> None:
        machine = self.machine(node)
        end = machine.log.end().offset
        machine.log.power_off()
        lost = end - machine.log.end().offset
        if lost:
            self._tell("disk", f"{machine.name} lose {lost} of {end} records")
        self.kill(node)

    def shut_down(self, node: NodeId) -> None:
        self.step(node, Rig.shut_down)

    def flush(self, node: NodeId) -> None:
        self.step(node, Rig.flush)

    # --- steps ---

    def step(self, node: NodeId, act: Callable[[Rig], object]) -> None:
        """Let a node handle something, and then all that follows at once."""
        rig, machine = self.rig(node), self.machine(node)
        rig.now_ns = self.now_ns
        try:
            act(rig)
        except AssertionError as broken:
            self._tell("state", f"{machine.name} dies: {broken}")
            self._die(machine)
        self._after_step(machine)

    def request(self, client: Party, node: NodeId, request: Request, label: str = "") -> None:
        """The story asks a real node, over the connection of that label."""
        self.rig(node)
        link = self.links.connect(client, node_name(node), label)
        self._arrive_request(link, Asked(correlation_id=0, request=request))
        self.land_all()

    def respond(
        self, server: Party, node: NodeId, exchange: str, answer: Callable[[Request], Response]
    ) -> None:
        """A node that the story plays answers what it was asked first of its kind."""
        for link in self.links.between(node_name(node), server):
            for asked in link.waiting:
                if exchange_of(asked.request) == exchange:
                    link.waiting.remove(asked)
                    self._arrive_response(link, asked, answer(asked.request))
                    self.land_all()
                    return
        raise StoryError(f"{node_name(node)} waits for no {exchange} from {server}")

    def disconnect(self, client: Party, server: Party) -> None:
        links = self.links.between(client, server)
        if not links:
            raise StoryError(f"{client} has no connection to {server}")
        for link in links:
            self._break(link)
        self.land_all()

    def land_all(self) -> None:
        """Let everything arrive that nothing delays, and what comes of it."""
        if not self._is_landing:
            self._is_landing = True
            while self.links.land():
                pass
            self._is_landing = False

    # --- time ---

    def wait_until(self, end_ns: int) -> None:
        """Let time pass, stopping at every deadline of every node."""
        self.land_all()
        while True:
            due = [
                (max(machine.rig.core.next_deadline_ns(), self.now_ns), node)
                for node, machine in self._machines.items()
                if machine.rig is not None
            ]
            if not due or min(due)[0] > end_ns:
                break
            self.now_ns, node = min(due)
            self.step(node, Rig.act_on_time)
        self.now_ns = end_ns

    # --- what a node does ---

    def _tell(self, kind: str, line: str) -> None:
        if not self._is_silent:
            self._tell_story(kind, line)

    def _see(self, machine: Machine, output: Output) -> None:
        name = machine.name
        match output:
            case PersistElectionState(state=state):
                machine.election = state
                self._tell("persist", f"{name} persist {election_words(state)}")
            case AppendBatches(data=data):
                for line in batch_lines(data):
                    self._tell("append", f"{name} append {line}")
            case TruncateLog(end=end):
                self._tell("truncate", f"{name} truncate to {end}")
            case Trace():
                for kind, words in trace_words(output):
                    self._tell(kind, f"{name} {words}")
            case RequestTo():
                self._ask(name, output)
            case ResponseTo():
                self._answer(name, output)
            case DisconnectPeer(channel=channel):
                assert machine.rig is not None
                peer = node_name(machine.rig.peer(channel))
                self._hang_up(name, self.links.between(name, peer))
            case CloseConnection(connection=connection):
                link = self.links.find(connection)
                assert link is not None, "hangs up on nobody"
                self._tell("hang-up", f"{name} hang up on {link.client}")
                self._break(link)
            case Stop():
                self._tell("state", f"{name} stop")
            case _:
                pass  # a flush is told when it is done

    def _tell_draw(self, machine: Machine, drawn_ns: int) -> None:
        self._tell("draw", f"{machine.name} draw election-timeout={drawn_ns // MS}ms")

    def _ask(self, name: Party, ask: RequestTo) -> None:
        link = self.links.connect(name, node_name(asked_node(ask)))
        asked = Asked(correlation_id=ask.correlation_id, request=ask.request)
        fate = self.links.launch(
            (name, link.server), link, partial(self._arrive_request, link, asked)
        )
        words = request_words(ask.request)
        self._tell(f"{exchange_of(ask.request)}-request", f"{name} -> {link.server} {words}{fate}")

    def _answer(self, name: Party, answer: ResponseTo) -> None:
        link = self.links.find(answer.connection)
        if link is None:
            return  # hung up in the meantime
        asked, response = link.waiting.popleft(), answer.response
        arrive = partial(self._arrive_response, link, asked, response)
        fate = self.links.launch((name, link.client), link, arrive)
        if link.waiting:
            self._unmuted.append(link)
        words = response_words(asked.request, response)
        self._tell(exchange_of(asked.request), f"{name} -> {link.client} {words}{fate}")

    def _hang_up(self, name: Party, links: Sequence[Link]) -> None:
        for link in links:
            self._tell("hang-up", f"{name} hang up on {link.server}")
            self.links.close(link)
            self.links.launch((name, link.server), link, partial(self._close_at_server, link))

    def _after_step(self, machine: Machine) -> None:
        if machine.rig is not None and machine.rig.is_stopped:
            self._die(machine)
        while self._unmuted:
            self._hand_over(self._unmuted.popleft())
        self.land_all()

    def _die(self, machine: Machine) -> None:
        machine.rig = None
        for link in self.links.of(machine.name):
            self._break(link)

    # --- what arrives ---

    def _real(self, party: Party) -> Machine | None:
        return next((m for m in self._machines.values() if m.name == party and m.lives), None)

    def _arrive_request(self, link: Link, asked: Asked) -> None:
        if not self.links.is_open(link):
            return
        server = self._real(link.server)
        if server is not None and server.rig is None:
            self._break(link)  # connection refused
            return
        link.waiting.append(asked)
        if len(link.waiting) == 1:
            self._hand_over(link)

    def _hand_over(self, link: Link) -> None:
        """A node works on one request of a connection at a time; the shell keeps the others."""
        server = self._real(link.server)
        if server is not None and self.links.is_open(link):
            request = link.waiting[0].request
            self.step(server.key.id, lambda rig: rig.request(request, link.id))

    def _arrive_response(self, link: Link, asked: Asked, response: Response) -> None:
        client = self._real(link.client) if link.label is None else None
        if client is not None and client.rig is not None and self.links.is_open(link):
            peer = self._id_of(link.server)
            self.step(client.key.id, lambda rig: rig.answer(peer, asked.correlation_id, response))

    def _break(self, link: Link) -> None:
        """Both ends learn that the connection is gone, as far as they live and can be told."""
        self.links.close(link)
        back, there = (link.server, link.client), (link.client, link.server)
        self.links.launch(back, link, partial(self._lose_at_client, link))
        self.links.launch(there, link, partial(self._close_at_server, link))

    def _lose_at_client(self, link: Link) -> None:
        client = self._real(link.client) if link.label is None else None
        if client is not None and client.rig is not None:
            peer = self._id_of(link.server)
            self.step(client.key.id, lambda rig: rig.lose(peer))

    def _close_at_server(self, link: Link) -> None:
        server = self._real(link.server)
        if server is not None and server.rig is not None:
            self.step(server.key.id, lambda rig: rig.hung_up_on(link.id))

    def _id_of(self, party: Party) -> NodeId:
        return next(node for node, machine in self._machines.items() if machine.name == party)
