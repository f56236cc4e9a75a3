"""Fetch of the quorum, whatever the version."""

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import NO_NODE, Epoch, LogPosition, NodeId, Offset, ReplicaKey
from node.lazy_dataclass import dataclass

NO_HIGH_WATERMARK = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """A replica asks for what follows its log; its fetch offset tells what is durable there.

    `high_watermark`: 2**63-1 = not supported by the sender, -1 = unknown (Fetch v18).
    """

    cluster_id: str | None
    partition_ok: bool = True
    replica: ReplicaKey
    epoch: Epoch
    fetch_offset: int
    last_epoch: int
    max_wait_ms: int
    max_bytes: int
    high_watermark: int = NO_HIGH_WATERMARK


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse:
    """At most one of `diverging`, `snapshot` and `records` tells how to go on."""

    top_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE
    leader: NodeId = NO_NODE
    epoch: Epoch = Epoch(0)
    high_watermark: int = -1
    log_start: Offset = Offset(0)
    diverging: LogPosition | None = None
    snapshot: LogPosition | None = None  # to be fetched instead of records
    records: bytes = b""
    leader_endpoint: Endpoint | None = None
