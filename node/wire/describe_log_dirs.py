"""DescribeLogDirs 1-4 (KIP-113, KIP-827): the content of a broker's log directories."""

from typing import Annotated

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.declared import Error
from node.wire.entities import PartitionFields, TopicPartition, in_topics, of_topics


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeLogDirsRequest:
    """`partitions`: None for all."""

    partitions: Annotated[tuple[TopicPartition, ...] | None, of_topics("topics", "partitions")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedLog:
    """`lag`: how many records below the high watermark it lacks."""

    partition: PartitionFields
    size: Annotated[int, "partition_size"]
    lag: Annotated[int, "offset_lag"] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedLogDir:
    """The size of its volume is not known to a node."""

    path: Annotated[str, "log_dir"]
    error: Error = ErrorCode.NONE
    logs: Annotated[tuple[DescribedLog, ...], in_topics("topics", "partitions")] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeLogDirsResponse:
    results: tuple[DescribedLogDir, ...]


DESCRIBE_LOG_DIRS = Api(
    35, "DescribeLogDirs", 1, 4, DescribeLogDirsRequest, DescribeLogDirsResponse
)
