"""What a run asks of its clients, whatever they do, and how a workload is registered.

A workload is one module that ends in its `WorkloadKind`, and one line in
`workloads.workload_kinds`.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from checkers.history.history_kinds import HistoryKind
from workloads.connection import ClientEntry, Driver
from workloads.library_clients import RAW
from workloads.log_driver import LogClients
from workloads.operation_history import HistoryError, LogHistory
from workloads.tally import Tally


class ClientError(Exception):
    """A client of ours died, or ended before it was told to; no node is to blame for that."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name} {what}")
        self.name = name
        self.what = what


def _may_end() -> bool:
    return True


async def client(
    name: str, work: Coroutine[Any, Any, None], may_end: Callable[[], bool] = _may_end
) -> None:
    """All that one client does. Raises ClientError where it dies of it, or is done before it may
    end; what a history raises that cannot be written goes on."""
    try:
        await work
    except HistoryError:
        raise
    except Exception as error:
        raise ClientError(name, f"died: {type(error).__name__}: {error}") from error
    if not may_end():
        raise ClientError(name, "ended, and nobody had told it to")


class Workload(Protocol):
    """`run` until told to stop, then `read_all` once the cluster is healed, then `close`."""

    @property
    def tally(self) -> Tally: ...

    @property
    def acknowledged_writes(self) -> int: ...

    @property
    def committed_transactions(self) -> int:
        """Those that their coordinators called committed."""

    @property
    def is_over(self) -> bool:
        """Whether all that it may issue was issued."""

    @property
    def leader(self) -> int | None:
        """Whom the processes follow now; None where they follow nobody or many."""

    async def run(self) -> None:
        """All processes, until `stop`. Raises ClientError, among others."""

    def stop(self) -> None:
        """Let every process finish its operation; `run` returns within one time-out."""

    async def read_all(self, within_s: float) -> tuple[str, ...]:
        """Everything once more, by fresh clients. What could not be read, by name."""

    async def close(self) -> None: ...


class Load(Protocol):
    """The options of a workload: a frozen dataclass of plain values, as `run.json` has them."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def concurrency(self) -> int:
        """Processes that change something, each with one operation in flight."""

    @property
    def rate(self) -> float:
        """Operations a second of all of them together; 0: no limit."""

    @property
    def most_operations(self) -> int:
        """Before the final reads; 0: until told to stop."""

    def adjusted(
        self, *, concurrency: int | None, rate: float, settings: Mapping[str, str]
    ) -> Self:
        """With what a user asked for instead, and as the target's settings want it."""


class Servers(StrEnum):
    """Which nodes clients talk to."""

    CONTROLLERS = "controllers"
    BROKERS = "brokers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a workload reaches a cluster: the raw `driver` by the harness's entries, the libraries
    `client` and `topic_client` by the `entries` that nodes advertise. `reached`: where controllers
    reach each other, which a client has to say of one that is to vote."""

    driver: Driver
    entries: Mapping[int, ClientEntry] = field(default_factory=dict)
    client: str = RAW
    topic_client: str = RAW
    reached: Mapping[int, ClientEntry] = field(default_factory=dict)
    # Makes the clients of a scenario that brings its own.
    clients: Callable[[Driver, Any], LogClients] | None = None


Options = TypeVar("Options", bound=Load)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKind(Generic[Options]):
    """An entry of the registry: everything that a run has to know of a workload."""

    name: str
    options: type[Options]
    history: HistoryKind
    servers: Servers
    make: Callable[[Options, Access, LogHistory, int], Workload]  # the last is the seed
    libraries: Sequence[str] = (RAW,)  # that can be its `client`
    topic_clients: Sequence[str] = (RAW,)
    # Whole numbers among the options of which a failing run is shrunk to fewer, and their least.
    shrinks: Sequence[tuple[str, int]] = ()
    # Topics whose partitions have to be in sync before the final reads.
    topics: Callable[[Options], Sequence[str]] = lambda _: ()
