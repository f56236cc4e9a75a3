"""Records that wait to be appended together: one batch, one flush, for all writes of a moment."""

from dataclasses import dataclass, field

from node.ids import ConnectionId, Offset
from node.messages import AlterConfigsRequest, AlterConfigsResponse
from node.raft.timers import NEVER_NS
from node.records.metadata import MetadataRecord

_MAX_RECORDS = 10_000  # about half a MiB; a batch may have 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingWrite:
    """A client that waits for its records to be committed."""

    connection: ConnectionId
    request: AlterConfigsRequest
    response: AlterConfigsResponse


@dataclass(slots=True)
class Accumulation:
    """Records in the order they were decided, and the clients that wait for them."""

    records: list[MetadataRecord] = field(default_factory=list)
    writes: list[PendingWrite] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedBatch:
    """What was appended in one batch; committed when the high watermark is above `last`."""

    base: Offset
    last: Offset
    records: list[MetadataRecord]
    writes: list[PendingWrite]


class Accumulator:
    def __init__(self, linger_ns: int) -> None:
        self._linger_ns = linger_ns
        self._open = Accumulation()
        self.deadline_ns = NEVER_NS  # when the open batch is to be appended

    def add(self, records: list[MetadataRecord], write: PendingWrite | None, mono_ns: int) -> None:
        """The first record starts the clock."""
        if not self._open.records:
            self.deadline_ns = mono_ns + self._linger_ns
        self._open.records.extend(records)
        if write is not None:
            self._open.writes.append(write)
        if len(self._open.records) >= _MAX_RECORDS:
            self.deadline_ns = mono_ns

    def take(self) -> Accumulation:
        taken, self._open = self._open, Accumulation()
        self.deadline_ns = NEVER_NS
        return taken
