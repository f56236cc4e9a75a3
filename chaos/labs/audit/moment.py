"""A moment at which power fails, as a value, and the stage on which it is reached."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from chaos.cluster.interface import Cluster, DiskTrouble, NodeId
from chaos.cluster.powers import DiskCopying, DiskTroubling
from chaos.conditions import Conditions
from chaos.labs.audit.questions import Acknowledgement, Question, until

if TYPE_CHECKING:
    from chaos.labs.audit.kafka_client import KafkaClient  # its library is slow to load


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
