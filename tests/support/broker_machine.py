"""A machine of a `BrokerWorld`: its disk, its log directories, and the node that runs on it."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from chaos.cluster.sim.disk.disk import SimDisk
from chaos.cluster.sim.disk.filesystem import FileSystem
from node.broker.broker import Broker
from node.effects import PersistElectionState
from node.ids import METADATA_LOG, ChannelId, ConnectionId, Endpoint, LogId, NodeId, ReplicaKey
from node.process_roles import CombinedRole
from node.server.recovered import AnyNode
from node.storage.format import format_data_directory
from node.storage.log import BatchLog
from node.storage.log_directories import LogDirectories
from node.storage.meta import MetaProperties
from node.turn import Turns

SECOND = "second"  # a path of a log directory
CLUSTER = "4L6g3nShT-eMCtK--X86sw"


@dataclass(slots=True)
class Line:
    """A connection, as its server sees it: one request is with the node at a time."""

    listener: str
    answer: Callable[[bytes | None], None]  # None: it was closed
    waiting: deque[bytes] = field(default_factory=deque)
    is_busy: bool = False


@dataclass
class Machine:
    """A disk, and the process on it, if one runs."""

    id: NodeId
    as_controller: Endpoint | None = None
    as_broker: Endpoint | None = None
    filesystem: FileSystem = field(default_factory=FileSystem)
    life: "Life | None" = None
    lives: int = 0
    exit_code: int | None = None
    log_dirs: tuple[str, ...] = ("",)  # as its file names them

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        return tuple(at for at in (self.as_broker, self.as_controller) if at is not None)

    @property
    def disk(self) -> SimDisk:
        return SimDisk(self.filesystem)

    def disks(self, paths: Sequence[str]) -> dict[str, SimDisk]:
        return {path: SimDisk(self.filesystem, path) for path in paths}

    @property
    def broker(self) -> Broker:
        assert self.life is not None
        role = self.life.node.core.role
        if isinstance(role, CombinedRole):
            return role.broker
        assert isinstance(role, Broker)
        return role


@dataclass
class Life:
    machine: Machine
    node: AnyNode
    log: BatchLog
    replicas: LogDirectories | None
    save: Callable[[PersistElectionState], None]
    turns: Turns
    lines: dict[ConnectionId, Line] = field(default_factory=dict)
    out: dict[ChannelId, tuple["Life", ConnectionId]] = field(default_factory=dict)
    next_connection: int = 1
    opened: frozenset[str] = frozenset()  # listeners, at the request of the node

    @property
    def is_alive(self) -> bool:
        return self.machine.life is self

    def log_of(self, log: LogId) -> BatchLog:
        if log == METADATA_LOG:
            return self.log
        assert self.replicas is not None
        return self.replicas[log]


def add_second(machine: Machine) -> None:
    """An empty one, formatted, and named last."""
    machine.disk.make_directory(SECOND)
    meta = MetaProperties(
        cluster_id=CLUSTER, node_id=machine.id, directory_id=second_of(machine.id)
    )
    format_data_directory(SimDisk(machine.filesystem, SECOND), meta)
    machine.log_dirs = ("", SECOND)


def second_of(id_: int) -> UUID:
    return UUID(int=2000 + id_)


def directory_of(id_: int) -> UUID:
    return UUID(int=1000 + id_)


def key_of(id_: int) -> ReplicaKey:
    return ReplicaKey(NodeId(id_), directory_of(id_))
