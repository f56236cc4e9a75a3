"""The interface of a workload to a run, and how a workload is registered.

A workload is one module that ends in its `WorkloadKind`, and one line in
`workloads.workload_kinds`.

What clients of registers do, as a value.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from checkers.history.events import HistoryKind
from workloads.clients.library_clients import RAW
from workloads.clients.log_driver import LogClients
from workloads.connection import ClientEntry, Driver
from workloads.operation_history import HistoryError, LogHistory, Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterOptions:
    """`rate` limits all processes together, in requests a second; 0 lets them run.

    Of requests, `read_share` read and the others alter; `several_share` of both name up to
    `most_in_request` registers. Of alterations, `delete_share` delete and `wrong_share` must be
    refused. A write with an unknown outcome is sent again, on a fresh connection, in `retry_share`
    of cases, an acknowledged one in `repeat_share`. Of alterations, `wide_share` write values of
    several pages.
    """

    concurrency: int = 20
    rate: float = 0.0
    live_keys: int = 5
    operations_per_key: int = 400
    read_share: float = 0.5
    delete_share: float = 0.05
    wrong_share: float = 0.05
    wide_share: float = 0.02
    several_share: float = 0.05
    most_in_request: int = 4
    retry_share: float = 0.3
    repeat_share: float = 0.005
    timeout_s: float = 1.0
    most_operations: int = 0  # before the final reads; 0: until told to stop

    @property
    def interval_s(self) -> float:
        """The least time from one request of a process to its next."""
        return self.concurrency / self.rate if self.rate else 0.0

    def adjusted(
        self, *, concurrency: int | None, rate: float, settings: Mapping[str, str]
    ) -> Self:
        """With the user's overrides; no setting of a target matters to registers."""
        del settings
        return replace(self, concurrency=concurrency or self.concurrency, rate=rate or self.rate)


class ClientError(Exception):
    """A client of ours failed, or ended too early; no node is to blame for that."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name} {what}")
        self.name = name
        self.what = what


def _may_end() -> bool:
    return True


async def client(
    name: str, work: Coroutine[Any, Any, None], may_end: Callable[[], bool] = _may_end
) -> None:
    """Run one client. Raises ClientError where it fails, or ends before it may; a HistoryError
    passes through."""
    try:
        await work
    except HistoryError:
        raise
    except Exception as error:
        raise ClientError(name, f"died: {type(error).__name__}: {error}") from error
    if not may_end():
        raise ClientError(name, "ended before it was stopped")


class Workload(Protocol):
    """`run` until told to stop, then `read_all` once the cluster is healed, then `close`."""

    @property
    def tally(self) -> Tally: ...

    @property
    def acknowledged_writes(self) -> int: ...

    @property
    def committed_transactions(self) -> int:
        """Transactions that their coordinators reported as committed."""

    @property
    def is_over(self) -> bool:
        """Whether all operations that it may issue were issued."""

    @property
    def leader(self) -> int | None:
        """The node that the processes follow now; None where they follow none or many."""

    async def run(self) -> None:
        """All processes, until `stop`. Raises ClientError, among others."""

    def stop(self) -> None:
        """Let every process finish its operation; `run` returns within one time-out."""

    async def read_all(self, within_s: float) -> tuple[str, ...]:
        """Read everything once more, by fresh clients. Returns the names of what could not be
        read."""

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
        """The limit before the final reads; 0: until `stop`."""

    def adjusted(
        self, *, concurrency: int | None, rate: float, settings: Mapping[str, str]
    ) -> Self:
        """With the user's overrides, and as the target's settings require."""


class Servers(StrEnum):
    """Which nodes clients talk to."""

    CONTROLLERS = "controllers"
    BROKERS = "brokers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a workload reaches a cluster: the raw `driver` by the harness's entries, the libraries
    `client` and `topic_client` by the `entries` that nodes advertise. `reached`: the addresses by
    which controllers reach each other, which a client names when it adds a voter."""

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
    """An entry of the registry: everything that a run needs of a workload."""

    name: str
    options: type[Options]
    history: HistoryKind
    servers: Servers
    make: Callable[[Options, Access, LogHistory, int], Workload]  # the last is the seed
    libraries: Sequence[str] = (RAW,)  # the libraries that can be its `client`
    topic_clients: Sequence[str] = (RAW,)
    # Integer options that shrinking a failing run lowers, and their least values.
    shrinks: Sequence[tuple[str, int]] = ()
    # Topics with partitions that must be in sync before the final reads.
    topics: Callable[[Options], Sequence[str]] = lambda _: ()
