"""A moment at which power fails, as a value, and the stage on which it is reached."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from chaos.audit.kafka_client import KafkaClient
from chaos.audit.questions import Acknowledgement, Question
from chaos.cluster.interface import Cluster, NodeId
from chaos.cluster.powers import DiskCopying
from chaos.conditions import Conditions


class AuditedCluster(Cluster, DiskCopying, Protocol):
    """A cluster with disks that can be copied before and after a power cut."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """A cluster that stands, a client of it, and what nodes have acknowledged so far.

    `flushed`: nodes sync records before they acknowledge them.
    """

    cluster: AuditedCluster
    client: KafkaClient
    victims: Sequence[NodeId]
    scratch: Path
    flushed: bool = False
    expected: list[Acknowledgement] = field(default_factory=list)
    going_on: list[asyncio.Task[None]] = field(default_factory=list)  # until the power is cut

    def goes_on(self, act: Coroutine[Any, Any, None]) -> None:
        """Do this until the power is cut."""
        self.going_on.append(asyncio.create_task(act))

    async def end(self) -> None:
        """What goes on; raises what it has raised."""
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
        """Of a question that is not asked before the cut: it would take too long, or be too
        early."""
        told = Acknowledgement(question=question, value=value, promised=promised, now=False)
        self.expected.append(told)


Reach = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How one target gets to a moment. `nodes`: the least that it takes; brokers, where there are
    some. `conditions`: of the quorum.
    `stopped`: its victims are stopped in good order then. `in_time`: the leader, asked just before
    the cut, says how far the metadata log is committed."""

    reach: Reach
    nodes: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    conditions: Conditions = field(default_factory=Conditions)
    controllers_only: bool = False  # are its victims, and not all nodes
    stopped: bool = False
    in_time: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    name: str
    summary: str
    ways: Mapping[str, Way]  # by target: a key of `file_kinds.KINDS`
