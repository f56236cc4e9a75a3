"""Where a workload records each event as it happens, the names of operations, and clients' own
counts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from checkers.history.events import EventType

# Counts that clients keep of their own operations, apart from the recorded history.


@dataclass(slots=True)
class Tally:
    """Counted where an operation is carried out; the judge compares it with the sealed history."""

    invoked: int = 0
    ok: int = 0
    fail: int = 0
    info: int = 0

    def invoke(self) -> None:
        self.invoked += 1

    def complete(self, outcome: EventType) -> None:
        setattr(self, outcome, getattr(self, outcome) + 1)

    def as_json(self) -> dict[str, int]:
        return asdict(self)


class HistoryError(Exception):
    """The history can no longer be written; no client is to blame for that."""


READ = "read"
WRITE = "write"
DELETE = "delete"
SEND = "send"
POLL = "poll"
ASSIGN = "assign"  # new positions of a consumer: its next polls need not continue the last
CREATE_TOPIC = "create-topic"
DELETE_TOPIC = "delete-topic"
INIT_TRANSACTIONS = "init-transactions"  # of a transactional id: ends what it had open
COMMIT = "commit"  # the transaction that a transactional id has open
# Whether the coordinator reports the last transaction of a transactional id as committed: 1 or 0.
IS_COMMITTED = "is-committed"
COMMITTED_END = "committed-end"  # the last stable offset
DELETE_RECORDS = "delete-records"  # of a log, those with an offset smaller than the value
LOG_START = "log-start"  # the offset at which a log begins
PUT = "put"  # a record, in a log of its own
LOOK_UP = "look-up"  # the offset of the first record in it that is younger than 1970; -1: of none
SET_CONFIG = "set-config"  # of a topic
COMMIT_OFFSET = "commit-offset"  # the value, of a group
COMMITTED_OFFSET = "committed-offset"  # the committed one, from the coordinator
GROUP_HEARTBEAT = "group-heartbeat"  # of a member of the group, in the generation that is the value
EPOCH_END = "epoch-end"  # where an epoch of a log ends, by its leader; -1: of one yet to come
# A record of a log, by its offset, is processed in the transaction that is the request: its output
# and the group's committed offset stand or fall together.
TRANSFORM = "transform"
PROCESSED = "processed"  # so says the committed output, as it is read at the end
PROCESSED_END = "processed-end"  # of the output, up to which that was read: all of it
PROCESSED_UP_TO = "processed-up-to"  # in a log: what the group has committed at the end
SET_MIN_ISR = "set-min-isr"  # the cluster's min.insync.replicas
ADD_VOTER = "add-voter"  # makes a replica, "node:directory id", a voter
REMOVE_VOTER = "remove-voter"  # or no longer
ALTER_CONFIGS = "alter-configs"  # by the operation of IncrementalAlterConfigs that the value is
DESCRIBE_QUORUM = "describe-quorum"  # the voters, and the epoch of the leader that answers
QUORUM_EPOCH = "quorum-epoch"  # the epoch in the answer of the quorum's leader
DESCRIBE_TOPIC = "describe-topic"  # whether one broker knows a topic: 1 or 0
MAIN = "main"
FINAL = "final"


class History(Protocol):
    """One history for all processes of a run; its order is that of these calls in real time."""

    def new_process(self) -> int:
        """An id that no process of this run has had."""

    def new_request(self) -> int:
        """A number that no request of this run has had, for a request of several operations."""

    def invoke(
        self,
        process: int,
        f: str,
        key: str,
        value: int | None,
        node: int,
        phase: str,
        request: int | None = None,
    ) -> None:
        """Called before the first byte is sent. `node` is -1 where none was found to send it to.

        `request` is the number that several operations of one request share.
        """

    def complete(
        self,
        process: int,
        outcome: EventType,
        value: int | None,
        error: str | None,
        voters: Sequence[str] | None = None,
    ) -> None:
        """Ends the open operation of `process`: OK, FAIL (surely did not happen) or INFO.

        `voters`, each as "node:directory id", are those in the answer of an OK `DESCRIBE_QUORUM`.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Consecutive records of one partition: offset and value rise by one (`tables.SPANS`)."""

    key: str
    value: int
    records: int = 1
    offset: int | None = None
    epoch: int | None = None
    high_watermark: int | None = None


class LogHistory(History, Protocol):
    """A history of operations that send to logs and poll them."""

    def invoke_send(
        self, process: int, span: Span, *, acks: int, idempotent: bool, node: int, phase: str
    ) -> None:
        """As `invoke`, of `SEND`. `acks`: -1 (all), 0 or 1."""

    def complete_spans(
        self, process: int, outcome: EventType, spans: Sequence[Span], error: str | None
    ) -> None:
        """As `complete`; `spans` is what was sent, with its offset, or polled, in its order."""
