"""A moment at which power fails, as a value, and the stage on which it is reached.

Questions to nodes after a power cut, and the answers that they must give.
"""

import asyncio
import itertools
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from chaos.cluster.interface import Cluster, DiskTrouble, NodeId
from chaos.cluster.powers import DiskCopying, DiskTroubling
from chaos.conditions import Conditions
from chaos.errors import OperatorError

if TYPE_CHECKING:
    from chaos.labs.audit.kafka_client import KafkaClient


# Waits for a condition by asking again and again.
#
# A question is never broken off: it is asked in a thread, which would go on beside the next
# question.


_WITHIN_S = 30.0
_ASKS_EVERY_S = 0.1


async def until(done: Callable[[], Awaitable[bool]], what: str) -> None:
    """Raises OperatorError if the condition does not become true."""
    if not await comes_true(done, within_s=_WITHIN_S):
        raise OperatorError(f"timed out after {_WITHIN_S:g} s waiting for {what}")


async def comes_true(done: Callable[[], Awaitable[bool]], *, within_s: float) -> bool:
    """Asks at least once."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    while not (true := await done()) and loop.time() < deadline:
        await asyncio.sleep(_ASKS_EVERY_S)
    return true


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`rests_on`: the logs from which the answer is read, "orders-0", or "orders" for all of a
    topic.

    `settles_within_s`: a broker answers from its image of the metadata, which follows its log; an
    answer counts as changed only if it still differs after this time.
    """

    text: str
    rests_on: tuple[str, ...]
    ask: Callable[[], Awaitable[str]]
    settles_within_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """An answer that a node has promised to give. Not `promised`: it may be lost with the page
    cache.

    `now`: it would give this answer before the cut, too.
    """

    question: Question
    value: str
    promised: bool
    now: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAnswer:
    """The answer after the start, beside the one acknowledged before the cut."""

    question: str
    rests_on: tuple[str, ...]
    acknowledged: str
    answered: str
    promised: bool

    @property
    def changed(self) -> bool:
        return self.acknowledged != self.answered

    @property
    def broken(self) -> bool:
        """Whether a promised answer has changed."""
        return self.changed and self.promised


async def asked(expected: Sequence[Acknowledgement]) -> list[ComparedAnswer]:
    """All answers, in order; a node that does not answer has not kept its promise."""
    return [await _asked(each) for each in expected]


async def _asked(expected: Acknowledgement) -> ComparedAnswer:
    answered = ""

    async def is_kept() -> bool:
        nonlocal answered
        answered = await _answer(expected.question)
        return answered == expected.value

    await comes_true(is_kept, within_s=expected.question.settles_within_s)
    return ComparedAnswer(
        question=expected.question.text,
        rests_on=expected.question.rests_on,
        acknowledged=expected.value,
        answered=answered,
        promised=expected.promised,
    )


async def _answer(question: Question) -> str:
    try:
        return await question.ask()
    except OperatorError as trouble:
        return f"no answer: {trouble}"


def told_of(values: Sequence[bytes]) -> str:
    """The answer that these records are."""
    return f"{len(values)} (checksum {zlib.crc32(b''.join(values)):08x})"


class AuditedCluster(Cluster, DiskCopying, Protocol):
    """A cluster with disks that can be copied before and after a power cut."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """A running cluster with a client, and all that nodes have acknowledged so far.

    `flushed`: nodes sync records before they acknowledge them.
    """

    cluster: AuditedCluster
    client: "KafkaClient"
    victims: Sequence[NodeId]
    scratch: Path
    flushed: bool = False
    expected: list[Acknowledgement] = field(default_factory=list)
    going_on: list[asyncio.Task[None]] = field(default_factory=list)  # until the power is cut

    def goes_on(self, act: Coroutine[Any, Any, None]) -> None:
        """Repeat this until the power is cut."""
        self.going_on.append(asyncio.create_task(act))

    async def end(self) -> None:
        """End the repeated action; raises what it has raised."""
        for task in self.going_on:
            task.cancel()
        for task in self.going_on:
            with suppress(asyncio.CancelledError):
                await task
        self.going_on.clear()

    async def files(self) -> Sequence[Path]:
        """All files of the victims now."""
        await self.cluster.copy_disks(self.victims, self.scratch)
        return sorted(path for path in self.scratch.rglob("*") if path.is_file())

    def acknowledged(self, question: Question, value: str, *, promised: bool) -> None:
        self.expected.append(Acknowledgement(question=question, value=value, promised=promised))

    def acknowledged_later(self, question: Question, value: str, *, promised: bool) -> None:
        """A question that is not asked before the cut: it would take too long, or be too early."""
        told = Acknowledgement(question=question, value=value, promised=promised, now=False)
        self.expected.append(told)


Reach = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How one target reaches a moment. `nodes`: the least number, of brokers if there are any.
    `conditions`: of the quorum. `stopped`: its victims are stopped in good order then. `in_time`:
    the leader, asked just before the cut, reports the end of the committed metadata log."""

    reach: Reach
    nodes: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    conditions: Conditions = field(default_factory=Conditions)
    controllers_only: bool = False  # are its victims, instead of all nodes
    stopped: bool = False
    in_time: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    name: str
    summary: str
    ways: Mapping[str, Way]  # by target: a key of `next_start.KINDS`


# Registers of a quorum, set one after the other: metadata for which brokers make no files.


REGISTERS = 8  # set in one go


async def set_registers(
    stage: Stage, first: int, *, now: bool = True, leader: int | None = None
) -> None:
    """Each is acknowledged before the next is set. `leader`: to use this leader without a
    search."""
    tell = stage.acknowledged if now else stage.acknowledged_later
    quorum = stage.client.quorum
    for number in range(first, first + REGISTERS):
        key = f"register-{number}"
        value = 100 + number
        await quorum.set_register(key, value, leader)
        tell(quorum.register(key), str(value), promised=True)


async def set_while_syncs_wait(stage: Stage, trouble: DiskTrouble, least: int) -> None:
    """Set registers until the power fails; returns when at least this many were acknowledged by a
    disk in trouble. A node that waits for a disk all the time answers nothing, not even that it
    leads."""
    assert isinstance(stage.cluster, DiskTroubling)
    await set_registers(stage, first=1, now=False)
    leader = (await stage.client.quorum.leader()).node
    before = len(stage.expected)
    await stage.cluster.trouble_disks(stage.victims, trouble)
    stage.goes_on(_go_on_setting(stage, leader))

    async def acknowledged() -> bool:
        return len(stage.expected) >= before + least

    await until(acknowledged, "registers set by a slow disk")


async def _go_on_setting(stage: Stage, leader: int) -> None:
    """Expect the acknowledged values to be kept."""
    for first in itertools.count(1 + REGISTERS, REGISTERS):
        await set_registers(stage, first, now=False, leader=leader)
