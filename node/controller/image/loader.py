"""Loads the image of a snapshot, replays committed records, and writes snapshots of the image.

A loaded image is not visible before it is complete.
"""

from collections.abc import Iterator, Sequence

from node.config import SnapshotSettings
from node.controller.image import Image, is_of_brokers
from node.controller.image.digest import Postponed
from node.ids import MS, NEVER_NS, Now, Offset
from node.lazy_dataclass import dataclass
from node.outbox import Outbox
from node.raft.client import RaftClient, SnapshotPart, SnapshotWriter
from node.records.metadata import (
    MetadataRecord,
    UnknownRecord,
    decode_metadata,
    encode_metadata,
    plain_entries,
)

# Replay of committed records into an image, traced where a judge may compare it with the log.


def replay(
    image: Image,
    last: Offset,
    records: Sequence[MetadataRecord | UnknownRecord],
    outbox: Outbox,
) -> None:
    """`last`: the offset of the last of them. Registers, which clients write all the time, stay
    untraced."""
    for offset, record in enumerate(records, start=last - len(records) + 1):
        image.replay(record)
        if is_of_brokers(record):
            name = type(record).__name__.removesuffix("Record")
            outbox.trace("c.record", offset=offset, record=name)


class ImageLoader:
    def __init__(self) -> None:
        self._loading = _empty()

    def load(self, part: SnapshotPart) -> Image | None:
        """The image, with the last part; a first part discards the earlier ones."""
        if part.is_first:
            self._loading = _empty()
        self._replay(part.values)
        if not part.is_last:
            return None
        image, self._loading = self._loading, _empty()
        return image

    def _replay(self, values: Sequence[bytes | None]) -> None:
        image, at = self._loading, 0
        while at < len(values):
            at += image.configs.load(plain_entries(values, at))
            if at < len(values):
                image.replay(decode_metadata(values[at]))
                at += 1


def _empty() -> Image:
    image = Image()
    image.begin_loading()
    return image


# When and how the controller's image is written as a snapshot: one slice per step (KIP-630).
#
# A snapshot is due after a number of committed bytes since the last one, or after a time if there
# were any (`SnapshotGenerator`). The node goes on while it is written: the written image is a copy.


# Records encoded in one step, during which no other input is handled. They become a batch, and
# readers accept at most `limits.MAX_BATCH_BYTES`.
_SLICE_RECORDS = 2_000
_SLICE_BYTES = 1024 * 1024  # unless a single record has more
_SLICE_HASHED = 5_000  # entries of a loaded snapshot; about 10 ms


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """A loaded image that was not traced yet."""

    offset: Offset
    digest: Postponed


class SnapshotGenerator:
    def __init__(self, raft: RaftClient, settings: SnapshotSettings, outbox: Outbox) -> None:
        self._raft = raft
        self._settings = settings
        self._outbox = outbox
        self._due_ns = NEVER_NS  # by time
        self._writer: SnapshotWriter | None = None
        self._slices = _slices(Image())
        self._loaded: _Loaded | None = None

    def start(self, now: Now) -> None:
        self._count_from(now)

    def loaded(self, image: Image) -> None:
        """It came from a snapshot; its digest is traced once that is hashed."""
        self._loaded = _Loaded(offset=self._raft.handed_over, digest=image.end_loading())

    def after_batch(self, image: Image) -> None:
        """Begin one that is due by its size: at the same offset on every node that has replayed as
        much since its last."""
        if self._raft.bytes_since_snapshot >= self._settings.record_bytes:
            self._begin(image)

    def poll(self, image: Image, now: Now) -> None:
        """Begin one that is due by time, or continue."""
        if self._loaded is not None and self._loaded.digest.hash_some(_SLICE_HASHED):
            self._tell_loaded(self._loaded)
        if now.mono_ns >= self._due_ns:
            self._count_from(now)
            if self._raft.bytes_since_snapshot:
                self._begin(image)
        if self._writer is not None:
            self._count_from(now)
            self._go_on(self._writer)

    def deadline_ns(self) -> int:
        """0: continue as soon as the input that is ready was served."""
        if self._writer is not None or self._loaded is not None:
            return 0
        return self._due_ns

    def _begin(self, image: Image) -> None:
        if self._writer is None:
            self._writer = self._raft.begin_snapshot()
            if self._writer is not None:
                self._slices = _slices(image.copy())
                if self._loaded is not None:
                    self._tell_loaded(self._loaded)
                self._tell(self._raft.handed_over, image.digest)

    def _tell_loaded(self, loaded: _Loaded) -> None:
        self._loaded = None
        self._tell(loaded.offset, loaded.digest.value)

    def _tell(self, offset: Offset, digest: int) -> None:
        self._outbox.trace("c.image", offset=offset, digest=digest)

    def _go_on(self, writer: SnapshotWriter) -> None:
        if not writer.is_current:
            self._writer = None
            return
        values = next(self._slices, None)
        if values is not None:
            writer.append(values)
        else:
            writer.finish()
            self._writer = None

    def _count_from(self, now: Now) -> None:
        interval_ms = self._settings.interval_ms
        self._due_ns = now.mono_ns + interval_ms * MS if interval_ms else NEVER_NS


def _slices(image: Image) -> Iterator[list[bytes]]:
    """Each becomes a batch."""
    taken, size = list[bytes](), 0
    for record in image.records():
        value = encode_metadata(record, image.metadata_version)
        if taken and (len(taken) == _SLICE_RECORDS or size + len(value) > _SLICE_BYTES):
            yield taken
            taken, size = [], 0
        taken.append(value)
        size += len(value)
    if taken:
        yield taken
