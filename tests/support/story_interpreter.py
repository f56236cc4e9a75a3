"""What the commands of a story mean (tests/stories/README.md lists them for readers)."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from node.config import QuorumTimeouts
from node.effects import ElectionState
from node.ids import NEVER_NS, NO_NODE, Epoch, NodeId
from node.raft.voter_forms import DYNAMIC, STATIC
from node.wire.apis import Request
from tests.support import story_messages as messages
from tests.support.rig import MS, QUIET, batch
from tests.support.story import Line
from tests.support.story_command import (
    NOBODY,
    Command,
    StoryError,
    node_name,
    parse_epochs,
    parse_node,
    parse_replica,
)
from tests.support.story_words import KINDS, timer_of
from tests.support.story_world import World

_TIMEOUTS = {
    "election.timeout.ms": "election_ms",
    "fetch.timeout.ms": "fetch_ms",
    "election.backoff.max.ms": "election_backoff_max_ms",
    "append.linger.ms": "append_linger_ms",
    "request.timeout.ms": "request_ms",
    "max.idle.interval.ms": "idle_interval_ms",
}
_REQUESTS: dict[str, Callable[[Command, NodeId], Request]] = {
    "vote-request": partial(messages.vote_request, pre_vote=False),
    "pre-vote-request": partial(messages.vote_request, pre_vote=True),
    "begin-quorum-epoch-request": messages.begin_request,
    "end-quorum-epoch-request": messages.end_request,
    "fetch-request": messages.fetch_request,
}
_CLIENT_REQUESTS: dict[str, Callable[[Command, NodeId], Request]] = {
    "describe-quorum": messages.describe_quorum_request,
    "alter-configs": messages.alter_configs_request,
    "describe-configs": messages.describe_configs_request,
    "add-voter": messages.add_voter_request,
    "remove-voter": messages.remove_voter_request,
}
_RESPONSES: dict[str, Callable[[Command, NodeId], messages.Make]] = {
    "vote-response": messages.vote_response,
    "pre-vote-response": messages.vote_response,
    "begin-quorum-epoch-response": messages.quorum_epoch_response,
    "end-quorum-epoch-response": messages.quorum_epoch_response,
    "fetch-response": messages.fetch_response,
}


class Interpreter:
    """Performs the blocks of one file, one after the other."""

    def __init__(self) -> None:
        self._hidden: list[str] = []
        self._lines: list[str] = []
        self._told_ns = 0
        self._labels = itertools.count(1)
        self._world = self._new_world(3, QUIET)
        self._begun_ns = self._world.now_ns
        self._commands: dict[str, Callable[[Command], None]] = {
            "quorum": self._quorum,
            "hide": self._hide,
            "disk": self._disk,
            "slow-disk": self._slow_disk,
            "draws": self._draws,
            "start": lambda command: self._world.start(_node(command)),
            "kill": lambda command: self._world.kill(_node(command)),
            "power-off": lambda command: self._world.power_off(_node(command)),
            "shutdown": lambda command: self._world.shut_down(_node(command)),
            "flush": lambda command: self._world.flush(_node(command)),
            "wait": self._wait,
            "timeout": lambda command: self._time_out(_node(command)),
            "timer": self._timer,
            "elect": lambda command: self._elect(_node(command)),
            "cut": self._cut,
            "heal": self._heal,
            "delay": lambda command: self._world.links.delayed.add(_way(command)),
            "deliver": self._deliver,
            "drop": self._drop,
            "disconnect": lambda command: self._world.disconnect(*_way(command)),
        }

    def perform(self, lines: Sequence[Line]) -> list[str]:
        """What comes of the commands of a block. Raises StoryError with the line's number."""
        self._lines = []
        self._begun_ns = self._told_ns = self._world.now_ns
        for line in lines:
            try:
                self._run(Command.parse(line.text))
            except (StoryError, ValueError) as error:
                raise StoryError(f"line {line.number}: {error}") from error
        return self._lines

    def _run(self, command: Command) -> None:
        name = command.name
        if name in _REQUESTS:
            self._ask(command, _REQUESTS[name])
        elif name in _CLIENT_REQUESTS:
            self._ask_as_client(command, _CLIENT_REQUESTS[name])
        elif name in _RESPONSES:
            self._respond(command, _RESPONSES[name])
        elif name in self._commands:
            self._commands[name](command)
        else:
            raise StoryError(f"{name} is no command")
        command.finish()

    def _tell(self, kind: str, line: str) -> None:
        if kind in self._hidden:
            return
        if self._world.now_ns != self._told_ns:
            self._told_ns = self._world.now_ns
            self._lines.append(f"after {(self._told_ns - self._begun_ns) // MS}ms:")
        self._lines.append(line)

    # --- the scene ---

    def _new_world(self, size: int, timeouts: QuorumTimeouts, kraft_version: int = STATIC) -> World:
        return World(size, timeouts, self._tell, kraft_version)

    def _quorum(self, command: Command) -> None:
        """Forget everything, and begin with new machines."""
        size = int(command.the_word("a size"))
        kraft_version = DYNAMIC if command.take_flag("dynamic") else STATIC
        timeouts = QUIET
        for name, attribute in _TIMEOUTS.items():
            if name in command.fields:
                timeouts = replace(timeouts, **{attribute: command.number(name)})
        self._world = self._new_world(size, timeouts, kraft_version)
        self._begun_ns = self._told_ns = self._world.now_ns

    def _hide(self, command: Command) -> None:
        """Kinds of lines that this file does not tell, from here on; none to tell all again."""
        self._hidden = command.take_words()
        unknown = set(self._hidden) - KINDS
        if unknown:
            raise StoryError(f"nothing is called {', '.join(sorted(unknown))}")

    def _disk(self, command: Command) -> None:
        """What a node finds when it starts."""
        replica = parse_replica(command.the_word("a node"))
        machine = self._world.machine(replica.id)
        if machine.rig is not None:
            raise StoryError(f"{machine.name} is up")
        machine.key = replica
        voted = command.text("voted", NOBODY)
        machine.election = ElectionState(
            epoch=Epoch(command.number("epoch", 0)),
            leader=command.node("leader", NO_NODE),
            voted=None if voted == NOBODY else parse_replica(voted),
        )
        epochs = parse_epochs(command.text("log", NOBODY))
        unflushed = command.number("unflushed", 0)
        for base, epoch in enumerate(epochs):
            if base == len(epochs) - unflushed:
                machine.log.flush()
            machine.log.append(batch(base, epoch))
        if not unflushed:
            machine.log.flush()

    def _slow_disk(self, command: Command) -> None:
        """From now on it flushes only when the story says so."""
        node = _node(command)
        machine = self._world.machine(node)
        machine.has_slow_disk = True
        if machine.rig is not None:
            machine.rig.flushes = False

    def _draws(self, command: Command) -> None:
        """The next election time-outs of a node."""
        machine = self._world.machine(_node(command))
        while command.words:
            machine.planned_ns.append(command.duration_ns())

    # --- messages ---

    def _ask(self, command: Command, make: Callable[[Command, NodeId], Request]) -> None:
        to, label = command.node("to"), command.text("connection", "")
        sender = node_name(parse_replica(command.fields.get("from", NOBODY)).id)
        self._world.request(sender, to, make(command, to), label)

    def _ask_as_client(self, command: Command, make: Callable[[Command, NodeId], Request]) -> None:
        """Every request of a client comes over a connection of its own, unless it names one."""
        to, client = command.node("to"), command.text("from", "client")
        label = command.text("connection", f"client {next(self._labels)}")
        self._world.request(client, to, make(command, to), label)

    def _respond(self, command: Command, make: Callable[[Command, NodeId], messages.Make]) -> None:
        sender, to = command.node("from"), command.node("to")
        exchange = command.name.removesuffix("-response")
        self._world.respond(node_name(sender), to, exchange, make(command, sender))

    def _elect(self, node: NodeId) -> None:
        """Its timer runs out; as few vote for it as it needs, after the others have refused."""
        rig = self._world.rig(node)
        self._time_out(node)
        others = [node_name(other) for other in range(1, rig.size + 1) if other != node]
        refusing = others[rig.size // 2 :]
        for exchange in ("pre-vote", "vote"):
            for other in reversed(others):
                answer = messages.rejected if other in refusing else messages.granted
                self._world.respond(other, node, exchange, answer)

    # --- time ---

    def _wait(self, command: Command) -> None:
        self._world.wait_until(self._world.now_ns + command.duration_ns())

    def _time_out(self, node: NodeId) -> None:
        """Wait until the timer of its role has run out."""
        name, deadline_ns = timer_of(self._world.rig(node).role)
        if deadline_ns == NEVER_NS:
            raise StoryError(f"{node_name(node)} has no {name}")
        self._world.wait_until(deadline_ns)

    def _timer(self, command: Command) -> None:
        node = _node(command)
        name, deadline_ns = timer_of(self._world.rig(node).role)
        left = "never" if deadline_ns == NEVER_NS else f"in {_ms(deadline_ns - self._world.now_ns)}"
        self._tell("timer", f"{node_name(node)} {name} {left}")

    # --- the network ---

    def _cut(self, command: Command) -> None:
        """`cut n1 -> n2`, or `cut n1` from everybody and back."""
        links = self._world.links
        if len(command.words) > 1:
            links.cut.add(_way(command))
            return
        node = node_name(_node(command))
        for other in self._world.names():
            links.cut |= {(node, other), (other, node)} if other != node else set()

    def _heal(self, _command: Command) -> None:
        self._world.links.heal()
        self._world.land_all()

    def _deliver(self, command: Command) -> None:
        """What was delayed so far arrives."""
        way = _way(command)
        _expect_some(self._world.links.deliver(way), way)
        self._world.land_all()

    def _drop(self, command: Command) -> None:
        way = _way(command)
        _expect_some(self._world.links.drop(way), way)


def _node(command: Command) -> NodeId:
    return parse_node(command.the_word("a node"))


def _way(command: Command) -> tuple[str, str]:
    """`n1 -> n2`."""
    sender, arrow, receiver = (command.the_word("n1 -> n2") for _ in range(3))
    if arrow != "->":
        raise StoryError(f"{command.name} needs n1 -> n2")
    return sender, receiver


def _expect_some(count: int, way: tuple[str, str]) -> None:
    if count == 0:
        raise StoryError(f"nothing is on its way from {way[0]} to {way[1]}")


def _ms(ns: int) -> str:
    return f"{ns // MS}ms"
