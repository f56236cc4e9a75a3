"""The image of the metadata log, as a broker replays it: all that it knows of the cluster."""

from collections.abc import Iterable
from typing import Protocol

from node.config import SnapshotSettings
from node.controller.image import Image
from node.controller.image.loader import ImageLoader, SnapshotGenerator, replay
from node.ids import Endpoint, Epoch, Now, Offset
from node.outbox import Outbox
from node.raft.client import RaftClient, SnapshotPart
from node.records.metadata import decode_metadata


class MetadataFollower(Protocol):
    """What a broker has of the metadata log: the replayed committed records, and the active
    controller.
    """

    @property
    def image(self) -> Image: ...

    @property
    def applied(self) -> Offset:
        """The offset below which all is replayed."""

    def leader_at(self) -> Endpoint | None:
        """Where the active controller is, as far as is known."""

    def load(self) -> None:
        """Called before `Raft.start`."""

    def start(self, now: Now) -> None:
        """Called after `Raft.start`."""

    def poll(self, now: Now) -> None: ...

    def deadline_ns(self) -> int: ...


class ImageFollower:
    """The follower of a broker-only node: a `Listener` of the quorum that never leads."""

    def __init__(self, raft: RaftClient, settings: SnapshotSettings, outbox: Outbox) -> None:
        self._raft = raft
        self._outbox = outbox
        self._snapshots = SnapshotGenerator(raft, settings, outbox)
        self._snapshot = ImageLoader()
        self.image = Image()

    @property
    def applied(self) -> Offset:
        return self._raft.handed_over

    def leader_at(self) -> Endpoint | None:
        return self._raft.leader_at()

    def load(self) -> None:
        self._raft.load(self)

    def start(self, now: Now) -> None:
        self._raft.start(self)
        self._snapshots.start(now)

    def poll(self, now: Now) -> None:
        self._raft.poll(self, now)
        self._snapshots.poll(self.image, now)

    def deadline_ns(self) -> int:
        return min(self._raft.deadline_ns(), self._snapshots.deadline_ns())

    # --- calls by the quorum ---

    def on_committed(self, last: Offset, values: Iterable[bytes | None] | None) -> None:
        assert values is not None, "a broker appends nothing to the metadata log"
        replay(self.image, last, [decode_metadata(value) for value in values], self._outbox)
        self._snapshots.after_batch(self.image)

    def on_snapshot(self, part: SnapshotPart) -> None:
        image = self._snapshot.load(part)
        if image is not None:
            self.image = image
            self._snapshots.loaded(image)

    def on_leadership(self, epoch: Epoch | None, now: Now) -> None:  # noqa: ARG002
        raise AssertionError("a broker neither votes nor is voted for")
