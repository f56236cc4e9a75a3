"""FetchSnapshot 0-1 of `__cluster_metadata` (KIP-630): a snapshot's bytes, by position.

Version 1 adds the fetching replica's directory, and the leader's address.
"""

from typing import Annotated

from node.errors import ErrorCode
from node.ids import (
    NO_NODE,
    Epoch,
    LogPosition,
    NodeId,
    Offset,
    ReplicaKey,
)
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.declared import Error, Kio, Parts
from node.wire.entities import LeaderEndpoint

_NOTHING = LogPosition(Epoch(0), Offset(0))


_REPLICA = Parts(id="replica_id", directory="replica_directory_id")
_SNAPSHOT = Parts(
    epoch=Kio("snapshot_id.epoch", absent=0), offset=Kio("snapshot_id.end_offset", absent=0)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotRequest:
    """The bytes of `snapshot` from `position` on; at most `max_bytes`."""

    cluster_id: str | None
    partition_ok: bool = True
    replica: Annotated[ReplicaKey, _REPLICA]
    epoch: Annotated[Epoch, Kio("current_leader_epoch", absent=0)]
    snapshot: Annotated[LogPosition, _SNAPSHOT]
    position: Annotated[int, Kio("position", absent=0)]
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotResponse:
    """`data` may end anywhere. `size` is that of the whole snapshot."""

    top_error: Annotated[ErrorCode, "/error_code"] = ErrorCode.NONE
    error: Error = ErrorCode.NONE
    leader: Annotated[NodeId, "current_leader.leader_id"] = NO_NODE
    epoch: Annotated[Epoch, "current_leader.leader_epoch"] = Epoch(0)
    snapshot: Annotated[LogPosition, _SNAPSHOT] = _NOTHING
    size: int = 0
    position: int = 0
    data: Annotated[bytes, "unaligned_records"] = b""
    leader_endpoint: LeaderEndpoint = None


FETCH_SNAPSHOT = Api(
    59, "FetchSnapshot", 0, 1, FetchSnapshotRequest, FetchSnapshotResponse, of_quorum=True
)
