"""The hand-written frames about log directories are Kafka's, by kio's reading."""

from typing import Any

import pytest
from kio.schema.alter_replica_log_dirs.v2 import request as alter_request
from kio.schema.alter_replica_log_dirs.v2 import response as alter_response
from kio.schema.describe_log_dirs.v2 import request as describe_request
from kio.schema.describe_log_dirs.v2 import response as describe_response
from kio.schema.errors import ErrorCode
from kio.schema.types import TopicName
from kio.static.primitive import i32, i64

from chaos.cluster.docker.docker_cluster import lie_in, next_places
from tests.workloads.test_wire import NOW, read, write
from workloads.wire.header import Api
from workloads.wire.topic_partitions import (
    HostedReplica,
    LogDirectory,
    alter_replica_log_dirs,
    describe_log_dirs,
    read_altered,
    read_log_dirs,
)

FIRST, SECOND = "/data/kraft", "/data/kraft.second"
A0, A1, B0 = HostedReplica("a", 0), HostedReplica("a", 1), HostedReplica("b", 0)


def directory(
    path: str, *replicas: HostedReplica, coming: tuple[HostedReplica, ...] = ()
) -> LogDirectory:
    return LogDirectory(path=path, error=0, replicas=frozenset(replicas), coming=frozenset(coming))


@pytest.mark.parametrize(
    ("api", "schema"),
    [
        (Api.DESCRIBE_LOG_DIRS, describe_request.DescribeLogDirsRequest),
        (Api.ALTER_REPLICA_LOG_DIRS, alter_request.AlterReplicaLogDirsRequest),
    ],
)
def test_requests_are_sent_in_the_versions_that_are_written(api: Api, schema: Any) -> None:
    assert (schema.__api_key__, schema.__version__) == (api, api.version)
    assert schema.__flexible__


def test_all_topics_are_asked_for() -> None:
    assert read(describe_request.DescribeLogDirsRequest, describe_log_dirs()).topics is None


def test_replicas_are_told_from_those_on_their_way() -> None:
    def partition(index: int, future: bool) -> describe_response.DescribeLogDirsPartition:
        return describe_response.DescribeLogDirsPartition(
            partition_index=i32(index),
            partition_size=i64(100),
            offset_lag=i64(0),
            is_future_key=future,
        )

    topic = describe_response.DescribeLogDirsTopic(
        name=TopicName("a"), partitions=(partition(0, False), partition(1, True))
    )
    results = tuple(
        describe_response.DescribeLogDirsResult(
            error_code=ErrorCode.none, log_dir=path, topics=topics
        )
        for path, topics in ((FIRST, (topic,)), (SECOND, ()))
    )
    answer = describe_response.DescribeLogDirsResponse(throttle_time=NOW, results=results)
    assert read_log_dirs(write(answer)) == (directory(FIRST, A0, coming=(A1,)), directory(SECOND))


def test_each_replica_is_sent_to_its_path() -> None:
    body = alter_replica_log_dirs({B0: FIRST, A1: SECOND, A0: SECOND})
    request = read(alter_request.AlterReplicaLogDirsRequest, body)
    found = {
        (each.path, topic.name, index)
        for each in request.dirs
        for topic in each.topics
        for index in topic.partitions
    }
    assert found == {(FIRST, "b", 0), (SECOND, "a", 0), (SECOND, "a", 1)}


def test_a_refusal_is_told_of_its_replica() -> None:
    partitions = tuple(
        alter_response.AlterReplicaLogDirPartitionResult(
            partition_index=i32(index), error_code=code
        )
        for index, code in enumerate((ErrorCode.none, ErrorCode.log_dir_not_found))
    )
    topic = alter_response.AlterReplicaLogDirTopicResult(
        topic_name=TopicName("a"), partitions=partitions
    )
    answer = alter_response.AlterReplicaLogDirsResponse(throttle_time=NOW, results=(topic,))
    assert read_altered(write(answer)) == {A0: 0, A1: 57}


def test_a_replica_goes_to_the_other_directory_and_back_and_internal_topics_stay() -> None:
    internal = HostedReplica("__consumer_offsets", 0)
    here = [directory(FIRST, A0, internal), directory(SECOND, B0)]
    assert next_places(here) == {A0: SECOND, B0: FIRST}
    assert next_places(here[:1]) == {}, "there is nowhere to go"


def test_a_move_is_done_when_all_lie_where_they_were_sent_and_none_is_on_its_way() -> None:
    places = {A0: SECOND, A1: SECOND}
    begun = directory(FIRST, A0, A1), directory(SECOND, coming=(A0, A1))
    half = directory(FIRST, A1), directory(SECOND, A0, coming=(A1,))
    done = directory(FIRST), directory(SECOND, A0, A1)
    assert [lie_in(places, each) for each in (begun, half, done)] == [False, False, True]
