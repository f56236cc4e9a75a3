"""The interface between the quorum and the code built on it (Kafka's `RaftClient`).

Committed batches are handed over one by one, each once and in order. Batches that this node
appended itself are already in its listener's memory; the rest are read from the log, a bounded
piece per step. Where the log begins behind what was handed over, a snapshot is handed over instead:
all of it before the start is over, a bounded piece per step later on. The listener learns that it
leads only after it was handed everything committed, including the LeaderChange of this epoch, so
its decisions lack nothing. It learns that it lost leadership before it is handed anything that
another leader wrote. The listener writes snapshots of what it was handed; the quorum adds its own
control records.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol

from node.ids import (
    NEVER_NS,
    NO_NODE,
    Endpoint,
    Epoch,
    LogPosition,
    NodeId,
    Now,
    Offset,
    ReplicaKey,
    Ticket,
)
from node.lazy_dataclass import dataclass
from node.raft.fetch_follower import portion
from node.raft.local_log import first_unknown
from node.raft.raft import QuorumPart, Raft
from node.raft.roles import Leader
from node.raft.snapshots import PieceWriter
from node.records.batch import Batch, BatchHeader, split_batches
from node.records.control import ControlRecord
from node.records.snapshot import SnapshotEncoder, SnapshotReader
from node.storage.snapshots import Snapshot

_PIECE_BYTES = 1024 * 1024  # most log bytes read in one step


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPart:
    values: Sequence[bytes | None]  # values of its records
    is_first: bool
    is_last: bool


class Listener(Protocol):
    def on_committed(self, last: Offset, values: Iterable[bytes | None] | None) -> None:
        """A batch of records with these values is committed, directly after the previous one.

        `values` is None for batches that this listener appended since it leads, and empty for
        control records, which only concern the quorum.
        """

    def on_snapshot(self, part: SnapshotPart) -> None:
        """One part of a snapshot: the state below its end offset. Parts come one after the other,
        with nothing else in between. The snapshot replaces everything handed over before."""

    def on_leadership(self, epoch: Epoch | None, now: Now) -> None:
        """The epoch in which this node leads. None: it leads no more, and what it appended without
        a reported commit may be lost, or yet be committed by another leader."""


@dataclass(slots=True, kw_only=True)
class _Loading:
    """A snapshot that is being handed over."""

    snapshot: Snapshot
    reader: SnapshotReader
    position: int = 0  # bytes read so far
    batches: deque[Batch] = field(default_factory=deque)  # read, not yet handed over
    is_begun: bool = False

    @property
    def is_read(self) -> bool:
        """Has it been read to its end?"""
        return self.reader.is_complete and not self.batches


class SnapshotWriter:
    """Writes a snapshot of what was handed over: of the listener's state at that moment."""

    def __init__(
        self, writer: PieceWriter, encoder: SnapshotEncoder, controls: Sequence[ControlRecord]
    ) -> None:
        self._writer = writer
        self._encoder = encoder
        writer.write(encoder.opening(controls))

    @property
    def is_current(self) -> bool:
        """False once another snapshot was begun: this one is dropped."""
        return self._writer.is_current

    def append(self, values: Sequence[bytes]) -> None:
        """Records with these values; at least one, and no more than a batch holds."""
        self._writer.write(self._encoder.data(values))

    def finish(self) -> None:
        self._writer.write(self._encoder.closing())
        self._writer.finish("created")


class RaftClient:
    """The client of one listener."""

    def __init__(self, raft: Raft) -> None:
        self._raft = raft
        self.handed_over = Offset(0)  # everything below was handed over
        self.bytes_since_snapshot = 0  # bytes handed over since a snapshot was taken or loaded
        self._epoch = Epoch(0)  # epoch of the last record handed over
        self._timestamp_ms = 0  # timestamp of that record
        newest = raft.snapshots.newest()
        self._loading = None if newest is None else _load(newest)
        self._is_behind = False  # more is committed than one step could hand over
        self._leads_in: Epoch | None = None  # the epoch last reported to the listener
        self._appended: deque[BatchHeader] = deque()  # appended in that epoch, not committed

    # --- requests of the listener ---

    def append(self, values: Sequence[bytes], now: Now) -> Offset:
        """Append these values as one batch; returns its last offset. Only while the
        listener leads."""
        assert self._leads_in is not None, "only a leader appends"
        header = self._raft.append([(None, value) for value in values], now)
        self._appended.append(header)
        return header.last_offset

    def log_end(self) -> Offset:
        """A lower bound for the offset of the next append."""
        return self._raft.log.end.offset

    def snapshot_id(self) -> LogPosition:
        """The id of a snapshot taken now: it ends at the offset after what was handed over."""
        return LogPosition(self._epoch, self.handed_over)

    def begin_snapshot(self) -> SnapshotWriter | None:
        """Begin a snapshot of all that was handed over; its header is written. None where none can
        be taken now: one with that end exists, one is being fetched, or what was handed over could
        not be read."""
        log, id_ = self._raft.log, self.snapshot_id()
        newest = self._raft.snapshots.newest()
        is_taken = newest is not None and newest.id.offset >= id_.offset
        if is_taken or self._raft.snapshots.writing is not None or log.unreplayable is not None:
            return None
        if log.metadata_from is None or log.metadata_from >= id_.offset:
            return None  # it would hide that not all voters need have the records that name them
        self.bytes_since_snapshot = 0
        encoder = SnapshotEncoder(self._epoch, self._timestamp_ms)
        controls = log.voters.records_at(id_.offset)
        return SnapshotWriter(self._raft.begin_snapshot(id_), encoder, controls)

    def voters_without(self, kraft_version: int) -> Sequence[NodeId] | None:
        """The voters that keep kraft.version from being raised to that; None if it cannot be
        raised."""
        return self._raft.voters_without(kraft_version)

    def take_ticket(self) -> Ticket:
        """A ticket for a read that just arrived."""
        return self._raft.reads.take_ticket()

    def confirmed(self) -> Ticket:
        """Reads up to this ticket may be answered: a majority confirmed, after they arrived, that
        we still lead, and the listener has everything committed by then."""
        is_complete = self.handed_over >= self._committed()
        return self._raft.reads.confirmed() if is_complete else Ticket(0)

    def leader_at(self) -> Endpoint | None:
        """Where the active controller is, as far as known."""
        quorum = self._raft.quorum
        return None if quorum.leader == NO_NODE else quorum.leader_at()

    def followed_ns(self) -> Mapping[ReplicaKey, int]:
        """Which voters confirm the leadership, and since when (`ReadIndex.followed_ns`)."""
        return self._raft.reads.followed_ns

    # --- notifications ---

    def load(self, listener: Listener) -> None:
        """Hand over the whole newest snapshot, without reporting it as complete. Called before
        `Raft.start`, which has to know whether this node can replay the state its log starts from.
        No client waits for this node yet."""
        loading, log, unknown = self._loading, self._raft.log, None
        while loading is not None and not loading.is_read:
            part = self._read_snapshot(loading)
            unknown = unknown or first_unknown(part.values)
            listener.on_snapshot(part)
        if log.start > 0:
            log.read_below(unknown and unknown[1])

    def start(self, listener: Listener) -> None:
        """After `Raft.start`: the last, empty part of what `load` handed over."""
        if self._loading is not None:
            self._hand_over_snapshot(listener, self._loading)

    def poll(self, listener: Listener, now: Now) -> None:
        """Bring `listener` up to what the quorum has reached."""
        if not (self._raft.dirty.take(QuorumPart.CLIENT, now.mono_ns) or self._is_behind):
            return
        if self._leads_in is not None and not self._still_leads(self._leads_in):
            self._leads_in = None
            self._appended.clear()
            listener.on_leadership(None, now)
        self._hand_over_committed(listener)
        role = self._raft.quorum.role
        if self._leads_in is None and isinstance(role, Leader) and self._may_lead(role):
            self._leads_in = role.epoch
            listener.on_leadership(role.epoch, now)

    def deadline_ns(self) -> int:
        """0: continue as soon as the input that is ready was served."""
        return 0 if self._is_behind else NEVER_NS

    def _may_lead(self, leader: Leader) -> bool:
        return self.has_all_committed(leader) and self._raft.may_write()

    def has_all_committed(self, leader: Leader) -> bool:
        """Was the listener handed everything committed, including this epoch?"""
        return leader.high_watermark is not None and self.handed_over >= leader.high_watermark

    def _still_leads(self, epoch: Epoch) -> bool:
        role = self._raft.quorum.role
        return isinstance(role, Leader) and role.epoch == epoch

    def _committed(self) -> Offset:
        return self._raft.quorum.committed or Offset(0)

    def _hand_over_committed(self, listener: Listener) -> None:
        """Records of other leaders come before those we appended since we lead."""
        if self.handed_over < self._raft.log.start:
            self._is_behind = True
            self._go_on_loading(listener)
            return
        before, committed = self.handed_over, self._committed()
        if before == committed:
            self._is_behind = False
            return
        if before < committed and not self._is_own(before):
            self._hand_over_from_log(listener, committed)
        while self.handed_over < committed and self._is_own(self.handed_over):
            own = self._appended.popleft()
            self._hand_over(listener, own, None)
        # Without progress the high watermark lies within a batch: no honest fetch says so.
        self._is_behind = before < self.handed_over < committed

    def _hand_over_from_log(self, listener: Listener, committed: Offset) -> None:
        """Hand over one piece."""
        data = self._raft.log.view.read(self.handed_over, _PIECE_BYTES)
        for batch in portion(split_batches(data)):
            header = batch.header
            if self._is_own(header.base_offset) or header.next_offset > committed:
                break
            values = () if header.is_control else batch.values()
            self._hand_over(listener, header, values)

    def _hand_over(
        self, listener: Listener, header: BatchHeader, values: Iterable[bytes | None] | None
    ) -> None:
        self.handed_over = header.next_offset
        self._epoch, self._timestamp_ms = header.leader_epoch, max(header.max_timestamp_ms, 0)
        self.bytes_since_snapshot += header.size
        listener.on_committed(header.last_offset, values)

    def _go_on_loading(self, listener: Listener) -> None:
        """The log was replaced by a snapshot, which is seen from the next step on."""
        newest = self._raft.snapshots.newest()
        if newest is None or newest.id.offset < self._raft.log.start:
            return
        if self._loading is None or self._loading.snapshot != newest:
            self._loading = _load(newest)
        self._hand_over_snapshot(listener, self._loading)

    def _hand_over_snapshot(self, listener: Listener, loading: _Loading) -> None:
        """Hand over one piece."""
        part, id_ = self._read_snapshot(loading), loading.snapshot.id
        if loading.is_read:
            self._loading = None
            self.handed_over, self._epoch = id_.offset, id_.epoch
            self._timestamp_ms, self.bytes_since_snapshot = loading.snapshot.timestamp_ms, 0
        listener.on_snapshot(replace(part, is_last=loading.is_read))

    def _read_snapshot(self, loading: _Loading) -> SnapshotPart:
        """Read one piece, not marked as the last; empty after the last one."""
        id_, reader = loading.snapshot.id, loading.reader
        if not loading.batches and not reader.is_complete:
            data = self._raft.log.view.read_snapshot(id_, loading.position, _PIECE_BYTES)
            assert data, f"{id_} ends before its footer"
            loading.position += len(data)
            loading.batches += reader.feed(data)
        batches = list(portion(loading.batches))
        for _ in batches:
            loading.batches.popleft()
        values = [value for batch in batches for value in batch.values()]
        is_first, loading.is_begun = not loading.is_begun, True
        return SnapshotPart(values=values, is_first=is_first, is_last=False)

    def _is_own(self, base: Offset) -> bool:
        return bool(self._appended) and self._appended[0].base_offset == base


def _load(snapshot: Snapshot) -> _Loading:
    return _Loading(snapshot=snapshot, reader=SnapshotReader(snapshot.id.epoch))
