"""What the invariants see: a node in one life, and what its disk would keep."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Protocol

from node.core import Core
from node.effects import ElectionState
from node.ids import Offset, ReplicaKey
from node.process_roles import CombinedRole, ControllerRole
from node.raft.roles import Role
from node.storage.view import LogView


class Durable(Protocol):
    """What the machine's disk surely holds after a power cut at this moment.

    Taken from the disk, not from the node: data that was written and not flushed does not count,
    nor what a lying fsync left in the page cache. Cached, since it is read often.
    """

    @property
    def election(self) -> ElectionState: ...

    @property
    def log_end(self) -> Offset:
        """Every batch below is durable."""


class View(Protocol):
    """A node in one life. All of it is read after every step, so all of it must be cheap."""

    @property
    def cluster_id(self) -> str:
        """The role as it tells it to other nodes."""

    @property
    def role(self) -> Role: ...

    @property
    def committed(self) -> Offset | None:
        """The highest high watermark known in this life."""

    @property
    def applied(self) -> Offset:
        """The controller's image holds all below this, and those writes were acknowledged."""

    @property
    def digest(self) -> int:
        """The digest of the controller's image."""

    @property
    def reads(self) -> int:
        """How many reads it accepted as the active controller, in this life."""

    @property
    def voters(self) -> Iterable[ReplicaKey]:
        """The voters as the node has them; another object once they change."""

    @property
    def polled_ns(self) -> int:
        """When its last step was, by its own clock."""

    @property
    def change_due_ns(self) -> int:
        """By when the first pending change of the voters must be answered; by the same clock."""

    @property
    def log(self) -> LogView:
        """The log as written."""

    @property
    def disk(self) -> Durable: ...


class ControllerView:
    """What a controller's answers are compared with."""

    def __init__(self, core: Core[ControllerRole] | Core[CombinedRole], log: LogView) -> None:
        self.log = log
        self._quorum = core.raft.quorum
        self._controller = core.role.controller

    role = property(attrgetter("_quorum.role"))
    committed = property(attrgetter("_quorum.committed"))
    applied = property(attrgetter("_controller.applied"))
    image = property(attrgetter("_controller.image"))
    # With its decisions that are not committed yet; only the active controller has those.
    decided = property(attrgetter("_controller._claim.image"))

    @property
    def log_end(self) -> Offset:
        return self.log.end().offset


class CoreView:
    """A real node, as a `View`."""

    def __init__(
        self, core: Core[ControllerRole] | Core[CombinedRole], log: LogView, disk: Durable
    ) -> None:
        self.log = log
        self.disk = disk
        self.cluster_id = core.raft.cluster_id
        self._raft = core.raft
        self._quorum = core.raft.quorum
        self._reads = core.raft.reads
        self._changes = core.raft.changes
        self._controller = core.role.controller

    # In C, and in few steps: they are read after every step of the node.
    role = property(attrgetter("_quorum.role"))
    committed = property(attrgetter("_quorum.committed"))
    voters = property(attrgetter("_quorum.voters.rows"))
    polled_ns = property(attrgetter("_raft.polled_ns"))
    applied = property(attrgetter("_controller.applied"))
    digest = property(attrgetter("_controller.image.digest"))
    reads = property(attrgetter("_reads.issued"))

    @property
    def change_due_ns(self) -> int:
        return self._changes.deadline_ns()
