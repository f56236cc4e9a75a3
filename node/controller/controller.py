"""The controller on top of the quorum: claims, decides, appends, replays, answers."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from node import limits
from node.config import QuorumTimeouts, SnapshotSettings
from node.controller import registration, resource_configs
from node.controller.accumulator import (
    Accumulation,
    Accumulator,
    AppendedBatch,
    encode_all,
)
from node.controller.image import METADATA_VERSION, Image
from node.controller.registration import Registrar
from node.controller.snapshot_generator import SnapshotGenerator
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, ConnectionId, Epoch, Now, Offset, Ticket, uuid_text
from node.outbox import Outbox
from node.parking import Parking, Waiting
from node.raft.client import RaftClient, SnapshotPart
from node.records.metadata import (
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
    NoOpRecord,
    decode_metadata,
)
from node.wire.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)
from node.wire.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from node.wire.create_topics import CreateTopicsRequest, CreateTopicsResponse, TopicResult

_STANDBY = "The active controller is another node."
_LOST = "The leadership was lost before the write was committed; it may still take effect."


def first_records(bootstrap: Sequence[MetadataRecord]) -> list[MetadataRecord]:
    """What an empty log begins with, in one transaction (`ActivationRecordsGenerator`)."""
    return [BeginTransactionRecord(name="Bootstrap records"), *bootstrap, EndTransactionRecord()]


Written = AlterConfigsResponse | ControllerRegistrationResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingWrite:
    """Of a client that waits for its records to be committed, and what it is told if that is no
    longer to be known."""

    response: Written
    if_lost: Written


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRead:
    """Of a client that waits for the confirmation that we still lead."""

    ticket: Ticket
    arrived_ns: int
    request: DescribeConfigsRequest


@dataclass(slots=True, kw_only=True)
class Claim:
    """What only the active controller has. `image` is ahead of the committed one by what it
    decided since; it is thrown away with the claim (KAFKA-20839: keep nothing, revert nothing)."""

    epoch: Epoch
    image: Image


class Controller:
    """One method a request; each answers by its return value, or later through the outbox."""

    def __init__(
        self,
        raft: RaftClient,
        timeouts: QuorumTimeouts,
        snapshots: SnapshotSettings,
        outbox: Outbox,
        parking: Parking,
        bootstrap: Sequence[MetadataRecord],
        registrar: Registrar,
    ) -> None:
        self._raft = raft
        self._registrar = registrar
        self._outbox = outbox
        self._bootstrap = bootstrap
        # 0 switches the no-ops off (MetadataLogConfig).
        self._idle_interval_ns = timeouts.idle_interval_ms * MS or NEVER_NS
        self._accumulator = Accumulator(timeouts.append_linger_ms * MS)
        self._snapshots = SnapshotGenerator(raft, snapshots, outbox)
        self.image = Image()  # all that is committed and below `applied`
        self._loading = Image()  # the part of a snapshot that was handed over
        self._claim: Claim | None = None
        self._appended: deque[AppendedBatch] = deque()
        self._writes = Waiting[PendingWrite](parking)
        self._reads = Waiting[PendingRead](parking)
        self._idle_deadline_ns = NEVER_NS

    @property
    def is_active(self) -> bool:
        return self._claim is not None

    @property
    def applied(self) -> Offset:
        return self._raft.handed_over

    # --- requests ---

    def alter_configs(
        self, connection: ConnectionId, request: AlterConfigsRequest, now: Now
    ) -> AlterConfigsResponse | None:
        """None: answered when the records are committed."""
        claim = self._claim
        if claim is None:
            return _refuse_alteration(request, ErrorCode.NOT_CONTROLLER, _STANDBY)
        records, results = resource_configs.alter_all(claim.image, request.resources)
        response = AlterConfigsResponse(results=results)
        encoded = encode_all(records, claim.image.metadata_version)
        if encoded.size > limits.MAX_BATCH_BYTES:
            return _refuse_alteration(
                request, ErrorCode.MESSAGE_TOO_LARGE, "The records do not fit into one batch."
            )
        if request.validate_only or not records:
            return response
        if_lost = _refuse_alteration(request, ErrorCode.NOT_CONTROLLER, _LOST)
        write = PendingWrite(response=response, if_lost=if_lost)
        self._write_for(connection, write, encoded, claim, now)
        return None

    def register_controller(
        self, connection: ConnectionId, request: ControllerRegistrationRequest, now: Now
    ) -> ControllerRegistrationResponse | None:
        """None: answered when the record is committed. `ClusterControlManager.registerController`
        refuses nothing else."""
        claim = self._claim
        if claim is None:
            return ControllerRegistrationResponse(error=ErrorCode.NOT_CONTROLLER, message=_STANDBY)
        if claim.image.feature_level(METADATA_VERSION) < registration.FIRST_LEVEL:
            return ControllerRegistrationResponse(
                error=ErrorCode.UNSUPPORTED_VERSION,
                message="The current metadata.version is too old for controller registrations.",
            )
        encoded = encode_all([registration.record_of(request)], claim.image.metadata_version)
        lost = ControllerRegistrationResponse(error=ErrorCode.NOT_CONTROLLER, message=_LOST)
        write = PendingWrite(response=ControllerRegistrationResponse(), if_lost=lost)
        self._write_for(connection, write, encoded, claim, now)
        self._register_self(claim, now)
        return None

    def describe_configs(
        self, connection: ConnectionId, request: DescribeConfigsRequest, now: Now
    ) -> DescribeConfigsResponse | None:
        """None: answered when a majority has confirmed that we still lead."""
        if self._claim is None:
            return _refuse_description(request)
        ticket = self._raft.take_ticket()
        read = PendingRead(ticket=ticket, arrived_ns=now.mono_ns, request=request)
        self._reads.park(connection, read)
        return None

    def create_topics(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        """There is no broker that could hold a replica."""
        if self._claim is None:
            error, message = ErrorCode.NOT_CONTROLLER, _STANDBY
        else:
            error = ErrorCode.INVALID_REPLICATION_FACTOR
            message = (
                "Unable to replicate the partition: the target replication factor of 1 cannot be "
                "reached because only 0 broker(s) are registered."
            )
        return CreateTopicsResponse(
            results=tuple(
                TopicResult(name=topic.name, error=error, message=message)
                for topic in request.topics
            )
        )

    # --- what is due ---

    def start(self, now: Now) -> None:
        """Once, after `Raft.start`: from the newest snapshot, if there is one."""
        self._raft.start(self)
        self._snapshots.start(now)

    def poll(self, now: Now) -> None:
        """Bring everything up to what the quorum has reached. Called after `Raft.poll`."""
        self._raft.poll(self, now)
        self._snapshots.poll(self.image, now)
        if self._claim is not None:
            self._answer_confirmed_reads(self._claim.epoch)

    def on_timeout(self, now: Now) -> None:
        """Append what has gathered. Only here: the shell feeds time-outs when no input is left, so
        even without linger one batch holds all that was ready."""
        if self._claim is None:
            return
        if now.mono_ns >= self._idle_deadline_ns:
            self._write(
                encode_all([NoOpRecord()], self._claim.image.metadata_version),
                self._claim,
                now.mono_ns,
            )
            self._idle_deadline_ns = now.mono_ns + self._idle_interval_ns
        if now.mono_ns >= self._accumulator.deadline_ns:
            for taken in self._accumulator.take():
                self._append(taken, now)

    def deadline_ns(self) -> int:
        return min(
            self._raft.deadline_ns(),
            self._accumulator.deadline_ns,
            self._idle_deadline_ns,
            self._snapshots.deadline_ns(),
        )

    # --- leadership ---

    def on_leadership(self, epoch: Epoch | None, now: Now) -> None:
        """Active while it leads; it is told so once everything committed is replayed."""
        if epoch is None:
            self._resign()
        else:
            self._activate(epoch, now)

    def _activate(self, epoch: Epoch, now: Now) -> None:
        self._claim = Claim(epoch=epoch, image=self.image.copy())
        self._idle_deadline_ns = now.mono_ns + self._idle_interval_ns
        self._outbox.trace("c.active", epoch=epoch, offset=self.applied)
        if self.image.feature_level(METADATA_VERSION) == 0:
            self._write(encode_all(first_records(self._bootstrap), 0), self._claim, now.mono_ns)
        self._register_self(self._claim, now)

    def _resign(self) -> None:
        """Nothing uncommitted outlives the claim."""
        assert self._claim is not None, "it was not active"
        self._outbox.trace("c.resign", epoch=self._claim.epoch)
        self._claim = None
        self._idle_deadline_ns = NEVER_NS
        self._accumulator.take()
        self._appended.clear()
        for connection, write in self._writes.all():
            self._writes.answer(connection, write.if_lost)
        for connection, read in self._reads.all():
            self._reads.answer(connection, _refuse_description(read.request))

    # --- writes ---

    def _register_self(self, claim: Claim, now: Now) -> None:
        if self._registrar.is_wanted(claim.image):
            self._write(
                encode_all([self._registrar.record], claim.image.metadata_version),
                claim,
                now.mono_ns,
            )

    def _write_for(
        self,
        connection: ConnectionId,
        write: PendingWrite,
        added: Accumulation,
        claim: Claim,
        now: Now,
    ) -> None:
        if self._writes.park(connection, write):
            added.writers.append(connection)
            self._write(added, claim, now.mono_ns)

    def _write(self, added: Accumulation, claim: Claim, mono_ns: int) -> None:
        for record in added.records:
            claim.image.replay(record)
        self._accumulator.add(added, mono_ns)

    def _append(self, taken: Accumulation, now: Now) -> None:
        last = self._raft.append(taken.values, now)
        self._appended.append(
            AppendedBatch(last=last, records=taken.records, writers=taken.writers)
        )
        self._idle_deadline_ns = now.mono_ns + self._idle_interval_ns

    # --- replay ---

    def on_committed(self, last: Offset, values: Iterable[bytes | None] | None) -> None:
        """Replay a batch: what we appended ourselves from memory, and answer who waits for it."""
        if values is None:
            self._replay_own(last)
        else:
            for value in values:
                self.image.replay(decode_metadata(value))
        self._snapshots.after_batch(self.image)

    def _replay_own(self, last: Offset) -> None:
        batch = self._appended.popleft()
        assert batch.last == last, f"appended up to {batch.last}, committed up to {last}"
        for record in batch.records:
            self.image.replay(record)
        for connection in batch.writers:
            write = self._writes.find(connection)
            if write is not None:
                self._writes.answer(connection, write.response)

    def on_snapshot(self, part: SnapshotPart) -> None:
        """In place of the image, once it is whole."""
        if part.is_first:
            self._loading = Image()
        for value in part.values:
            self._loading.replay(decode_metadata(value))
        if part.is_last:
            self.image, self._loading = self._loading, Image()
            self._outbox.trace("c.image", offset=self.applied, digest=self.image.digest)

    # --- reads ---

    def _answer_confirmed_reads(self, epoch: Epoch) -> None:
        """From the committed image: what was acknowledged before the read arrived is in it."""
        if not self._reads:
            return
        confirmed = self._raft.confirmed()
        answered: PendingRead | None = None
        for connection, read in self._reads.all():
            if read.ticket > confirmed:
                break
            results = resource_configs.describe_all(self.image, read.request.resources)
            self._reads.answer(connection, DescribeConfigsResponse(results=results))
            answered = read
        if answered is not None:
            self._trace_reads(answered, epoch)

    def _trace_reads(self, newest: PendingRead, epoch: Epoch) -> None:
        """One line for all that are answered together: what confirms the newest confirms all."""
        heard: list[dict[str, int | str]] = [
            {"id": key.id, "dir": uuid_text(key.directory), "since": followed_ns}
            for key, followed_ns in sorted(self._raft.followed_ns().items())
        ]
        self._outbox.trace(
            "c.read", epoch=epoch, ticket=newest.ticket, arrived=newest.arrived_ns, heard=heard
        )


def _refuse_alteration(
    request: AlterConfigsRequest, error: ErrorCode, message: str
) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        results=resource_configs.refuse_alteration(request.resources, error, message)
    )


def _refuse_description(request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=resource_configs.refuse_description(
            request.resources, ErrorCode.NOT_CONTROLLER, _STANDBY
        )
    )
