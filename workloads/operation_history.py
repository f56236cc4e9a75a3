"""Where a workload writes down what happens, the moment it happens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from checkers.history.events import EventType


class HistoryError(Exception):
    """The history cannot be written any more; no client is to blame for that."""


READ = "read"
WRITE = "write"
DELETE = "delete"
SEND = "send"
POLL = "poll"
ASSIGN = "assign"  # the consumer takes up these partitions anew: what it polls next need not go on
CREATE_TOPIC = "create-topic"
DELETE_TOPIC = "delete-topic"
INIT_TRANSACTIONS = "init-transactions"  # of a transactional id: what it had open is over
COMMIT = "commit"  # the transaction that a transactional id has open
# Whether its coordinator calls the last transaction of a transactional id committed: 1 or 0.
IS_COMMITTED = "is-committed"
COMMITTED_END = "committed-end"  # the offset up to which committed transactions may be read
DELETE_RECORDS = "delete-records"  # of a log, those whose offset is smaller than the value
LOG_START = "log-start"  # the offset at which a log begins
PUT = "put"  # a record, in a log of its own
LOOK_UP = "look-up"  # the offset of the first record in it that is younger than 1970; -1: of none
SET_CONFIG = "set-config"  # of a topic
COMMIT_OFFSET = "commit-offset"  # the value, of a group
COMMITTED_OFFSET = "committed-offset"  # what of that is committed, as the coordinator tells it
GROUP_HEARTBEAT = "group-heartbeat"  # of a member of the group, in the generation that is the value
EPOCH_END = "epoch-end"  # where an epoch of a log ends, by its leader; -1: of one yet to come
SET_MIN_ISR = "set-min-isr"  # the cluster's min.insync.replicas
ADD_VOTER = "add-voter"  # a replica, as "node:directory id", is to vote
REMOVE_VOTER = "remove-voter"  # or no more
ALTER_CONFIGS = "alter-configs"  # by the operation of IncrementalAlterConfigs that the value is
DESCRIBE_QUORUM = "describe-quorum"  # who votes, and in which epoch the node that says so leads
QUORUM_EPOCH = "quorum-epoch"  # in which the leader of the quorum says that it leads
DESCRIBE_TOPIC = "describe-topic"  # whether one broker knows a topic: 1 or 0
MAIN = "main"
FINAL = "final"


class History(Protocol):
    """One order for all processes of a run: the order of these calls is that of real time."""

    def new_process(self) -> int:
        """An id that no process of this run has had."""

    def new_request(self) -> int:
        """A number that no request of this run has had, for one that is several operations."""

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
        """Before the first byte is sent. `node` is -1 where none could be found to send it to.

        `request` is that of several operations that are sent together.
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

        `voters`, each as "node:directory id", are what an OK of `DESCRIBE_QUORUM` told.
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
    """A history whose operations send to logs and poll them."""

    def invoke_send(
        self, process: int, span: Span, *, acks: int, idempotent: bool, node: int, phase: str
    ) -> None:
        """As `invoke`, of `SEND`. `acks`: -1 (all), 0 or 1."""

    def complete_spans(
        self, process: int, outcome: EventType, spans: Sequence[Span], error: str | None
    ) -> None:
        """As `complete`; `spans` is what was sent, with its offset, or polled, in its order."""
