"""A moment at which power fails, as a value, and the stage on which it is reached."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from chaos.audit.questions import Acknowledgement, Question
from chaos.cluster.interface import Cluster, DiskCopying, NodeId

Client = TypeVar("Client")


class AuditedCluster(Cluster, DiskCopying, Protocol):
    """One whose disks can be copied on either side of a power cut."""


@dataclass(slots=True, kw_only=True)
class Stage(Generic[Client]):
    """A cluster that stands, a client of it, and what nodes have acknowledged so far.

    `flushed`: nodes sync records before they acknowledge them.
    """

    cluster: AuditedCluster
    client: Client
    victims: Sequence[NodeId]
    scratch: Path
    flushed: bool = False
    expected: list[Acknowledgement] = field(default_factory=list)

    def acknowledged(self, question: Question, value: str, *, promised: bool) -> None:
        self.expected.append(Acknowledgement(question=question, value=value, promised=promised))


Reach = Callable[[Stage[Client]], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way(Generic[Client]):
    """How one target gets to a moment. `stopped`: its victims are stopped in good order then."""

    reach: Reach[Client]
    nodes: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    segment_bytes: int = 1 << 30  # of the metadata log
    stopped: bool = False
    asked_before: bool = True  # else a question would let the moment pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    name: str
    summary: str
    ways: Mapping[str, Way[Any]]  # by target: a key of `file_kinds.KINDS`
