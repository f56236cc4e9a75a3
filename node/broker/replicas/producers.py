"""The leader's view of idempotent producers: which batches are in its log already, and which may
follow (KIP-98, `ProducerAppendInfo`).

The log knows the batches that it holds (`node.storage.producers`); what is appended in a step is in
it from the next step on, and is remembered here until then.
"""

from collections import deque

from node.broker.replicas.logs import ReplicaLogs
from node.config import BrokerRole
from node.effects import ForgetProducers
from node.errors import ErrorCode
from node.ids import MS, LogId, Now
from node.outbox import Outbox
from node.records.batch import BatchHeader
from node.storage.disk import CorruptLog
from node.storage.producers import (
    NO_PRODUCER,
    SEQUENCES,
    Known,
    KnownProducers,
    Producer,
    followed,
    last_sequence,
)

NO_PRODUCER_EPOCH = -1
# In one step; to look at one takes some 0.1 us, and at a log without any some 1 us.
PRODUCERS_AT_ONCE, LOG_AS_PRODUCERS = 50_000, 20


class Producers:
    """The producers of one log, in one step."""

    def __init__(self, logged: KnownProducers) -> None:
        self.logged = logged
        self._appended: dict[int, Producer] = {}

    def find(self, producer: int) -> Producer | None:
        return self._appended.get(producer) or self.logged.find(producer)

    def appended(self, header: BatchHeader) -> None:
        if header.producer_id == NO_PRODUCER:
            return
        known = self.find(header.producer_id)
        mine = None if known is None else known.copy()
        self._appended[header.producer_id] = followed(mine, header)

    def duplicate(self, header: BatchHeader) -> Known | None:
        """The same batch, if it is in the log already."""
        known = self.find(header.producer_id)
        if header.producer_id == NO_PRODUCER or known is None:
            return None
        if known.epoch != header.producer_epoch:
            return None
        sought = (header.base_sequence, last_sequence(header))
        return next((each for each in known.batches if (each.first, each.last) == sought), None)

    def refusal(self, header: BatchHeader) -> ErrorCode:
        """Why a new batch may not follow, if so. An unknown producer may begin at any sequence
        (KIP-360).
        """
        known = self.find(header.producer_id)
        if header.producer_id == NO_PRODUCER or known is None:
            return ErrorCode.NONE
        if header.producer_epoch < known.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if known.epoch == NO_PRODUCER_EPOCH:
            return ErrorCode.NONE  # without an epoch there is no order
        goes_on = header.producer_epoch == known.epoch and bool(known.batches)
        expected = (known.batches[-1].last + 1) % SEQUENCES if goes_on else 0
        if header.base_sequence != expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return ErrorCode.NONE


class ProducerExpiry:
    """Logs forget the producers that were silent for producer.id.expiration.ms: at the start, as
    Kafka loads none of these from snapshots, and each producer.id.expiration.check.interval.ms.
    """

    def __init__(self, logs: ReplicaLogs, role: BrokerRole, outbox: Outbox) -> None:
        self._logs = logs
        self._role = role
        self._outbox = outbox
        self._due_ns: int | None = None
        self._left: deque[LogId] = deque()  # to be checked

    def poll(self, now: Now) -> None:
        if self._due_ns is None or (now.mono_ns >= self._due_ns and not self._left):
            self._due_ns = now.mono_ns + self._role.producer_check_ms * MS
            self._left.extend(self._logs)
        found, pieces = list[LogId](), 0
        while self._left and pieces < PRODUCERS_AT_ONCE:
            log = self._left.popleft()
            count = self._count(log)
            pieces += LOG_AS_PRODUCERS + count
            if count > 0:
                found.append(log)
        if found:
            wall_ms, silent_ms = now.wall_ns // MS, self._role.producer_silent_ms
            forget = ForgetProducers(logs=tuple(found), wall_ms=wall_ms, silent_ms=silent_ms)
            self._outbox.emit(forget)

    def deadline_ns(self) -> int:
        return 0 if self._due_ns is None or self._left else self._due_ns

    def _count(self, log: LogId) -> int:
        found = self._logs.find(log)
        try:
            return 0 if found is None else len(found.producers)
        except CorruptLog:
            return 0  # it could not be read, which is reported when a producer is looked for
