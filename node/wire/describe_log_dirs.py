"""DescribeLogDirs 1-4 (KIP-113, KIP-827): the content of a broker's log directories."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, TopicPartition, by_topic, our_error, read_partition


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeLogDirsRequest:
    """`partitions`: None for all."""

    partitions: tuple[TopicPartition, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedLog:
    """`lag`: how many records below the high watermark it lacks."""

    partition: TopicPartition
    size: int
    lag: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedLogDir:
    """The size of its volume is not known to a node."""

    path: str
    error: ErrorCode = ErrorCode.NONE
    logs: tuple[DescribedLog, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeLogDirsResponse:
    results: tuple[DescribedLogDir, ...]


def _read_request(entity: Any) -> DescribeLogDirsRequest:
    if entity.topics is None:
        return DescribeLogDirsRequest()
    return DescribeLogDirsRequest(
        partitions=tuple(
            read_partition(topic, index) for topic in entity.topics for index in topic.partitions
        )
    )


def _write_request(message: DescribeLogDirsRequest, kio: SimpleNamespace) -> Any:
    topics = None
    if message.partitions is not None:
        topics = tuple(
            kio.DescribableLogDirTopic(
                topic=at.name, partitions=tuple(each.index for each in partitions)
            )
            for at, partitions in by_topic(message.partitions, lambda each: each)
        )
    return kio.DescribeLogDirsRequest(topics=topics)


def _read_response(entity: Any) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(
        results=tuple(
            DescribedLogDir(
                path=each.log_dir,
                error=our_error(each.error_code),
                logs=tuple(
                    DescribedLog(
                        partition=read_partition(topic, found.partition_index),
                        size=found.partition_size,
                        lag=found.offset_lag,
                    )
                    for topic in each.topics
                    for found in topic.partitions
                ),
            )
            for each in entity.results
        )
    )


def _write_response(message: DescribeLogDirsResponse, kio: SimpleNamespace) -> Any:
    return kio.DescribeLogDirsResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.NONE,
        results=tuple(
            kio.DescribeLogDirsResult(
                error_code=each.error,
                log_dir=each.path,
                topics=tuple(
                    kio.DescribeLogDirsTopic(
                        name=at.name,
                        partitions=tuple(
                            kio.DescribeLogDirsPartition(
                                partition_index=log.partition.index,
                                partition_size=log.size,
                                offset_lag=log.lag,
                                is_future_key=False,
                            )
                            for log in logs
                        ),
                    )
                    for at, logs in by_topic(each.logs, lambda log: log.partition)
                ),
            )
            for each in message.results
        ),
    )


DESCRIBE_LOG_DIRS = Api(
    key=35,
    name="DescribeLogDirs",
    package="describe_log_dirs",
    min_version=1,
    max_version=4,
    request=DescribeLogDirsRequest,
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
)
