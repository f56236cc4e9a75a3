"""The controller on top of the quorum: claims, decides, appends, replays, answers.

Also here: partition gauges, the active controller's state, and the batching of records.
"""

import random
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import field

from node import limits
from node.config import BrokerSettings, NodeConfig, RecoveryStrategy
from node.controller import heartbeats
from node.controller.decision import DecisionContext, min_isr, recovers, recovery_strategy
from node.controller.feature_updates import one_min_isr
from node.controller.heartbeats import BrokerSessions
from node.controller.image import Image
from node.controller.image.loader import ImageLoader, SnapshotGenerator, replay
from node.controller.partitions.elections import PeriodicElections
from node.controller.partitions.unclean_elections import asks_for_recovery
from node.controller.partitions.unclean_recovery import UncleanRecovery
from node.controller.reads import ConfirmedReads
from node.controller.registration import Registrar
from node.controller.resource_configs import drop_elr
from node.controller.writes import decide
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, ChannelId, ConnectionId, Epoch, Now, Offset
from node.lazy_dataclass import dataclass
from node.outbox import Outbox, Parking, Waiting
from node.raft.client import RaftClient, SnapshotPart
from node.records.batch import HEADER_SIZE, RECORD_OVERHEAD
from node.records.metadata import (
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
    NoOpRecord,
    decode_metadata,
    encode_metadata,
)
from node.wire.apis import ReadRequest, Response, WriteRequest
from node.wire.offsets import ReplicaLogsResponse
from node.wire.reassignments import ElectLeadersRequest
from node.wire.refusals import refused
from node.wire.registration import BrokerHeartbeatRequest, ControllerRegistrationRequest

# Gauges of partitions (KIP-966, "Metrics"), from the committed image.


def partition_gauges(image: Image, settings: BrokerSettings) -> dict[str, int]:
    electable = under_min_isr = recovering = manual = 0
    has_recovery = recovers(image, settings)
    for (topic_id, _), found in image.topics.partitions():
        topic = image.topics.find(topic_id)
        assert topic is not None, f"{topic_id} is no topic"
        least = min_isr(image, topic, len(found.replicas), settings.min_isr)
        electable += len(found.isr) + len(found.elr)
        under_min_isr += len(found.isr) < least
        if has_recovery and not found.has_leader:
            strategy = recovery_strategy(image, topic, settings)
            waits = strategy is not RecoveryStrategy.AGGRESSIVE and (found.isr or found.elr)
            recovering += strategy is not RecoveryStrategy.NONE and not waits
            manual += strategy is RecoveryStrategy.NONE and not waits
    return {
        "electable-leaders": electable,
        "global-under-min-isr-partition-count": under_min_isr,
        "unclean-recovery-partitions-count": recovering,
        "manual-leader-election-required-partition-count": manual,
    }


# State that only the active controller has: decided and uncommitted records, and heartbeats.


@dataclass(slots=True, kw_only=True)
class ActiveState:
    """`image` is ahead of the committed one by what was decided since; it is thrown away with the
    claim (KAFKA-20839: keep nothing, revert nothing)."""

    epoch: Epoch
    image: Image
    sessions: BrokerSessions
    elections: PeriodicElections
    recovery: UncleanRecovery

    def deadline_ns(self) -> int:
        return min(
            self.sessions.deadline_ns(), self.elections.deadline_ns(), self.recovery.deadline_ns()
        )


def claim_of(
    epoch: Epoch,
    committed: Image,
    settings: BrokerSettings,
    recovery: UncleanRecovery,
    now_ns: int,
) -> ActiveState:
    """A claim that begins."""
    image = committed.copy()
    return ActiveState(
        epoch=epoch,
        image=image,
        sessions=BrokerSessions(image, settings.session_ms, now_ns),
        elections=PeriodicElections(settings, now_ns),
        recovery=recovery,
    )


# Records that wait to be appended together: one batch, one flush, for all writes of a moment.


@dataclass(slots=True)
class Accumulation:
    """The records of one batch in the order they were decided, as objects and as bytes, and the
    clients that wait for them. `size` bounds the bytes of the batch."""

    records: list[MetadataRecord] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)
    writers: list[ConnectionId] = field(default_factory=list)
    size: int = HEADER_SIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedBatch:
    """Records appended in one batch, up to the offset `last`."""

    last: Offset
    records: list[MetadataRecord]
    writers: list[ConnectionId]


def encode_all(records: Sequence[MetadataRecord], level: int) -> Accumulation:
    """The records to append atomically, encoded for this metadata.version, with their size."""
    values = [encode_metadata(record, level) for record in records]
    size = HEADER_SIZE + sum(len(value) + RECORD_OVERHEAD for value in values)
    return Accumulation(records=list(records), values=values, size=size)


class Accumulator:
    def __init__(self, linger_ns: int) -> None:
        self._linger_ns = linger_ns
        self._batches: list[Accumulation] = []  # all but the last are full
        self.deadline_ns = NEVER_NS  # when they are to be appended

    def add(self, added: Accumulation, mono_ns: int) -> None:
        """The first record starts the clock; a full batch stops it."""
        if not self._batches:
            self._batches.append(Accumulation())
            self.deadline_ns = mono_ns + self._linger_ns
        elif self._batches[-1].size + added.size > limits.MAX_BATCH_BYTES:
            self._batches.append(Accumulation())
            self.deadline_ns = mono_ns
        last = self._batches[-1]
        last.records += added.records
        last.values += added.values
        last.writers += added.writers
        last.size += added.size
        if len(last.records) >= limits.MAX_RECORDS_PER_BATCH:
            self.deadline_ns = mono_ns

    def count(self) -> int:
        """Number of collected records."""
        return sum(len(batch.records) for batch in self._batches)

    def take(self) -> list[Accumulation]:
        """The collected records, batch by batch, oldest first."""
        taken, self._batches = self._batches, []
        self.deadline_ns = NEVER_NS
        return taken


_STANDBY = "The active controller is another node."
_LOST = "The leadership was lost before the write was committed; it may still take effect."


def first_records(bootstrap: Sequence[MetadataRecord]) -> list[MetadataRecord]:
    """The first records of an empty log, in one transaction (`ActivationRecordsGenerator`)."""
    return [BeginTransactionRecord(name="Bootstrap records"), *bootstrap, EndTransactionRecord()]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingWrite:
    """A client that waits for its records to be committed."""

    request: WriteRequest
    response: Response


class Controller:
    """One method per request; each answers by its return value, or later through the outbox."""

    def __init__(
        self,
        raft: RaftClient,
        config: NodeConfig,
        cluster_id: str,
        outbox: Outbox,
        parking: Parking,
        bootstrap: Sequence[MetadataRecord],
        registrar: Registrar,
        rng: random.Random,
    ) -> None:
        timeouts = config.timeouts
        self._raft = raft
        self._cluster_id = cluster_id
        self._brokers = config.brokers
        self._rng = rng
        self._registrar = registrar
        self._outbox = outbox
        self._bootstrap = bootstrap
        # 0 switches the no-ops off (MetadataLogConfig).
        self._request_ms = timeouts.request_ms
        self._idle_interval_ns = timeouts.idle_interval_ms * MS or NEVER_NS
        self._accumulator = Accumulator(timeouts.append_linger_ms * MS)
        self._snapshots = SnapshotGenerator(raft, config.snapshots, outbox)
        self.image = Image()  # everything committed below `applied`
        self._snapshot = ImageLoader()
        self._claim: ActiveState | None = None
        self._appended: deque[AppendedBatch] = deque()
        self._writes = Waiting[PendingWrite](parking)
        self._elections = Waiting[ElectLeadersRequest](parking)  # by unclean recovery
        # When elections that were decided have to be committed.
        self._timed: dict[ConnectionId, int] = {}
        self._own = config.own
        self._reads = ConfirmedReads(raft, self._own, parking, outbox)
        self._idle_deadline_ns = NEVER_NS

    @property
    def is_active(self) -> bool:
        return self._claim is not None

    @property
    def applied(self) -> Offset:
        return self._raft.handed_over

    def gauges(self) -> dict[str, int]:
        """Metrics as of this moment."""
        finished = 0 if self._claim is None else self._claim.recovery.finished
        return {
            **partition_gauges(self.image, self._brokers),
            "unclean-recovery-finished-count": finished,
        }

    # --- requests ---

    def write(self, connection: ConnectionId, request: WriteRequest, now: Now) -> Response | None:
        """None: answered when the records are committed."""
        claim = self._claim
        if claim is None:
            return refused(request, ErrorCode.NOT_CONTROLLER, _STANDBY)
        if isinstance(request, ElectLeadersRequest):
            if asks_for_recovery(request):
                if self._elections.park(connection, request):
                    claim.recovery.request(connection, request, self._context(claim, now))
                return None
            self._timed[connection] = now.mono_ns + max(0, request.timeout_ms) * MS
        decision = decide(self._context(claim, now), request)
        encoded = self._encode(decision.records, claim)
        if encoded.size > limits.MAX_BATCH_BYTES:
            why = "The records do not fit into one batch."
            return refused(request, ErrorCode.MESSAGE_TOO_LARGE, why)
        if decision.only_validated or not decision.records:
            self._timed.pop(connection, None)
            self._after(request, claim, now)
            return decision.response
        write = PendingWrite(request=request, response=decision.response)
        if self._writes.park(connection, write):
            encoded.writers.append(connection)
            self._gather(encoded, claim, now)
            self._after(request, claim, now)
        return None

    def read(self, connection: ConnectionId, request: ReadRequest, now: Now) -> Response | None:
        """None: answered when a majority has confirmed that we still lead."""
        if self._claim is None:
            return refused(request, ErrorCode.NOT_CONTROLLER, _STANDBY)
        self._reads.park(connection, request, now)
        return None

    # --- start and timers ---

    def load(self) -> None:
        """Once, before `Raft.start`: load the newest snapshot, if there is one."""
        self._raft.load(self)

    def start(self, now: Now) -> None:
        """Once, after `Raft.start`: start from what was loaded."""
        self._raft.start(self)
        self._snapshots.start(now)

    def poll(self, now: Now) -> None:
        """Bring everything up to what the quorum has reached. Called after `Raft.poll`."""
        self._raft.poll(self, now)
        self._snapshots.poll(self.image, now)
        if self._claim is not None:
            self._reads.respond(self.image, self._claim.epoch)

    def on_timeout(self, now: Now) -> None:
        """Append the collected records. Only here: the shell feeds time-outs when no input is left,
        so even without linger one batch holds all that was ready."""
        if self._claim is None:
            return
        self._fence_silent_broker(self._claim, now)
        self._hold_elections(self._claim, now)
        self._recover(self._claim, now)
        if now.mono_ns >= self._idle_deadline_ns:
            self._write([NoOpRecord()], self._claim, now)
            self._idle_deadline_ns = now.mono_ns + self._idle_interval_ns
        self._give_up_late(now)
        if now.mono_ns >= self._accumulator.deadline_ns:
            for taken in self._accumulator.take():
                self._append(taken, now)

    def deadline_ns(self) -> int:
        return min(
            self._raft.deadline_ns(),
            self._accumulator.deadline_ns,
            self._idle_deadline_ns,
            self._snapshots.deadline_ns(),
            min(self._timed.values(), default=NEVER_NS),
            NEVER_NS if self._claim is None else self._claim.deadline_ns(),
        )

    # --- leadership ---

    def on_leadership(self, epoch: Epoch | None, now: Now) -> None:
        """Active while it leads; this call comes once everything committed is replayed."""
        if epoch is None:
            self._resign()
        else:
            self._activate(epoch, now)

    def _activate(self, epoch: Epoch, now: Now) -> None:
        recovery = UncleanRecovery(self._request_ms, self._brokers.recovery_ms, self._outbox)
        self._claim = claim_of(epoch, self.image, self._brokers, recovery, now.mono_ns)
        self._idle_deadline_ns = now.mono_ns + self._idle_interval_ns
        self._outbox.trace("c.active", epoch=epoch, offset=self.applied)
        if self.image.metadata_version == 0:
            self._write(first_records(self._bootstrap), self._claim, now)
        self._set_min_isr(self._claim, now)
        self._register_self(self._claim, now)

    def _resign(self) -> None:
        """Nothing uncommitted outlives the claim."""
        assert self._claim is not None, "it was not active"
        self._outbox.trace("c.resign", epoch=self._claim.epoch)
        self._claim.recovery.hang_up()
        self._claim = None
        self._idle_deadline_ns = NEVER_NS
        self._accumulator.take()
        self._appended.clear()
        for connection, write in self._writes.all():
            lost = refused(write.request, ErrorCode.NOT_CONTROLLER, _LOST)
            self._writes.respond(connection, lost)
        for connection, asked in self._elections.all():
            self._elections.respond(connection, refused(asked, ErrorCode.NOT_CONTROLLER, _LOST))
        self._timed.clear()
        self._reads.refuse_all(_STANDBY)

    # --- writes ---

    def _context(self, claim: ActiveState, now: Now) -> DecisionContext:
        return DecisionContext(
            image=claim.image,
            settings=self._brokers,
            own=self._own,
            cluster_id=self._cluster_id,
            sessions=claim.sessions,
            next_offset=self._raft.log_end() + self._accumulator.count(),
            now_ns=now.mono_ns,
            rng=self._rng,
            voters_without=self._raft.voters_without,
        )

    def _after(self, request: WriteRequest, claim: ActiveState, now: Now) -> None:
        """Update the active controller's in-memory state after a request."""
        if isinstance(request, ControllerRegistrationRequest):
            self._register_self(claim, now)
        if isinstance(request, BrokerHeartbeatRequest):
            self._hear(request, claim, now)
        else:
            claim.sessions.follow(claim.image, now.mono_ns)

    def _hear(self, request: BrokerHeartbeatRequest, claim: ActiveState, now: Now) -> None:
        found = claim.image.brokers.find(request.broker)
        if found is None or found.broker_epoch != request.epoch:
            return  # the sender was another broker
        claim.sessions.heard(claim.image, request.broker, request.metadata_offset, now.mono_ns)
        if found.in_controlled_shutdown:
            last = self._raft.log_end() + self._accumulator.count() - 1
            claim.sessions.shuts_down_at(request.broker, last)

    def _fence_silent_broker(self, claim: ActiveState, now: Now) -> None:
        broker = claim.sessions.expired(now.mono_ns)
        if broker is not None:
            self._write(heartbeats.fence(self._context(claim, now), broker), claim, now)
            claim.sessions.follow(claim.image, now.mono_ns)

    def _hold_elections(self, claim: ActiveState, now: Now) -> None:
        if now.mono_ns >= claim.elections.deadline_ns():
            records = claim.elections.due(self._context(claim, now))
            if records:
                self._write(records, claim, now)

    def _recover(self, claim: ActiveState, now: Now) -> None:
        records = claim.recovery.poll(self._context(claim, now))
        if records:
            self._write(records, claim, now)
        for each in claim.recovery.take_answered(self._context(claim, now)):
            if self._elections.find(each.connection) is None:
                continue  # the client hung up meanwhile
            self._elections.leave(each.connection)
            write = PendingWrite(request=each.request, response=each.response)
            if self._writes.park(each.connection, write):
                # Behind all elections that the response tells of.
                marker = self._encode([NoOpRecord()], claim)
                marker.writers.append(each.connection)
                self._gather(marker, claim, now)

    def _give_up_late(self, now: Now) -> None:
        """Elections that were not committed in the operator's time."""
        for connection, due_ns in list(self._timed.items()):
            write = self._writes.find(connection)
            if write is None:
                del self._timed[connection]
            elif now.mono_ns >= due_ns:
                del self._timed[connection]
                late = refused(write.request, ErrorCode.REQUEST_TIMED_OUT, None)
                self._writes.respond(connection, late)

    def on_log_infos(
        self, channel: ChannelId, correlation_id: int, response: ReplicaLogsResponse, now_ns: int
    ) -> None:
        """A broker says what its replicas hold."""
        if self._claim is not None:
            self._claim.recovery.on_response(channel, correlation_id, response, now_ns)

    def on_broker_lost(self, channel: ChannelId, now_ns: int) -> None:
        """The connection over which a broker was asked failed, or brought garbage."""
        if self._claim is not None:
            self._claim.recovery.on_lost(channel, now_ns)

    def _register_self(self, claim: ActiveState, now: Now) -> None:
        if self._registrar.is_wanted(claim.image, is_voter=True):
            self._write([self._registrar.record], claim, now)

    def _set_min_isr(self, claim: ActiveState, now: Now) -> None:
        """Eligible leader replicas that the format turned on from the first record need the same
        settings as those that an operator turns on."""
        default, image = self._brokers.min_isr, claim.image
        records = list(one_min_isr(image, default)) if image.has_elr else []
        if records:
            self._write([*records, *drop_elr(image, records, default)], claim, now)

    def _write(self, records: Sequence[MetadataRecord], claim: ActiveState, now: Now) -> None:
        self._gather(self._encode(records, claim), claim, now)

    def _encode(self, records: Sequence[MetadataRecord], claim: ActiveState) -> Accumulation:
        return encode_all(records, claim.image.metadata_version)

    def _gather(self, added: Accumulation, claim: ActiveState, now: Now) -> None:
        for record in added.records:
            claim.image.replay(record)
        if any(not isinstance(record, NoOpRecord) for record in added.records):
            claim.recovery.note()
        self._accumulator.add(added, now.mono_ns)

    def _append(self, taken: Accumulation, now: Now) -> None:
        last = self._raft.append(taken.values, now)
        self._appended.append(
            AppendedBatch(last=last, records=taken.records, writers=taken.writers)
        )
        self._idle_deadline_ns = now.mono_ns + self._idle_interval_ns

    # --- replay ---

    def on_committed(self, last: Offset, values: Iterable[bytes | None] | None) -> None:
        """Replay a batch, our own from memory, and answer the clients that wait for it."""
        if values is None:
            self._replay_own(last)
        else:
            records = [decode_metadata(value) for value in values]
            replay(self.image, last, records, self._outbox)
        self._snapshots.after_batch(self.image)

    def _replay_own(self, last: Offset) -> None:
        batch = self._appended.popleft()
        assert batch.last == last, f"appended up to {batch.last}, committed up to {last}"
        replay(self.image, last, batch.records, self._outbox)
        for connection in batch.writers:
            write = self._writes.find(connection)
            self._timed.pop(connection, None)
            if write is not None:
                self._writes.respond(connection, write.response)

    def on_snapshot(self, part: SnapshotPart) -> None:
        """Replaces the image, once it is complete."""
        image = self._snapshot.load(part)
        if image is not None:
            self.image = image
            self._snapshots.loaded(image)
