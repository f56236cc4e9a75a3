"""What the invariants look at: a node in one life, and what its disk would keep."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Protocol

from node.combined_node import CombinedRole
from node.controller_node import ControllerRole
from node.core import Core
from node.effects import ElectionState
from node.ids import Offset, ReplicaKey
from node.raft.roles import Role
from node.storage.view import LogView


class Durable(Protocol):
    """What the machine's disk is sure to hold after a power cut at this moment.

    The disk itself must say so, not the node: what was written and not flushed does not count, and
    what a lying fsync left in the page cache does not either. Heard often, so kept at hand.
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
        """As it tells others, and asks of them."""

    @property
    def role(self) -> Role: ...

    @property
    def committed(self) -> Offset | None:
        """The highest high watermark known in this life."""

    @property
    def applied(self) -> Offset:
        """Below this the controller's image is made, and the writes in it were acknowledged."""

    @property
    def digest(self) -> int:
        """Of the controller's image."""

    @property
    def reads(self) -> int:
        """How many reads it took as the active controller, in this life."""

    @property
    def voters(self) -> Iterable[ReplicaKey]:
        """Who votes, as it takes it; another object once that changes."""

    @property
    def polled_ns(self) -> int:
        """When its last step was, by its own clock."""

    @property
    def change_due_ns(self) -> int:
        """By when the first of those who asked for a change of the voters, and wait, is to be
        answered; by the same clock."""

    @property
    def log(self) -> LogView:
        """The log as written."""

    @property
    def disk(self) -> Durable: ...


class ControllerView:
    """What answers of a controller are compared with."""

    def __init__(self, core: Core[ControllerRole] | Core[CombinedRole], log: LogView) -> None:
        self.log = log
        self._quorum = core.raft.quorum
        self._controller = core.role.controller

    role = property(attrgetter("_quorum.role"))
    committed = property(attrgetter("_quorum.committed"))
    applied = property(attrgetter("_controller.applied"))
    image = property(attrgetter("_controller.image"))
    # With what it has decided and is not committed yet; only who is active has that.
    decided = property(attrgetter("_controller._claim.image"))

    @property
    def log_end(self) -> Offset:
        return self.log.end().offset


class CoreView:
    """The real thing, as a `View`."""

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

    # By C, and by few steps: they are asked for after every step of the node.
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
