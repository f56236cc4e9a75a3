"""The hand-written frames are Kafka's, by kio's reading."""

import io
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.describe_configs.v4 import request as describe_request
from kio.schema.describe_configs.v4 import response as describe_response
from kio.schema.describe_quorum.v0 import request as quorum_request
from kio.schema.describe_quorum.v0 import response as quorum_response
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1 import request as alter_request
from kio.schema.incremental_alter_configs.v1 import response as alter_response
from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.types import BrokerId, TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i8, i32, i32Timedelta, i64

from workloads import frames
from workloads.wire import fields, header

NOW = i32Timedelta.parse(timedelta(milliseconds=7))


def read(schema: Any, data: bytes) -> Any:
    value, size = entity_reader(schema)(data, 0)
    assert size == len(data)
    return value


def write(value: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(value))(buffer, value)
    return buffer.getvalue()


def test_a_frame_starts_with_its_size_and_a_version_2_header() -> None:
    frame = header.request_frame(header.Api.DESCRIBE_CONFIGS, 77, b"body")
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    head, size = entity_reader(RequestHeader)(frame, 4)
    assert (head.request_api_key, head.request_api_version) == (32, 4)
    assert (head.correlation_id, head.client_id) == (77, "kraft-chaos")
    assert frame[4 + size :] == b"body"


def test_a_write_sets_interval_ms_of_a_client_metrics_resource() -> None:
    request = read(alter_request.IncrementalAlterConfigsRequest, frames.set_interval("r-12", 345))
    (resource,) = request.resources
    assert (resource.resource_type, resource.resource_name) == (16, "r-12")
    (config,) = resource.configs
    assert (config.name, config.config_operation, config.value) == ("interval.ms", 0, "345")
    assert request.validate_only is False


def test_a_read_asks_for_one_entry_without_synonyms() -> None:
    request = read(describe_request.DescribeConfigsRequest, frames.get_interval("r-12"))
    (resource,) = request.resources
    assert (resource.resource_type, resource.resource_name) == (16, "r-12")
    assert resource.configuration_keys == ("interval.ms",)
    assert not request.include_synonyms
    assert not request.include_documentation


def test_describe_quorum_names_the_metadata_partition() -> None:
    request = read(quorum_request.DescribeQuorumRequest, frames.describe_quorum())
    (topic,) = request.topics
    assert topic.topic_name == "__cluster_metadata"
    assert [partition.partition_index for partition in topic.partitions] == [0]


@pytest.mark.parametrize("error", [ErrorCode.none, ErrorCode.not_controller])
def test_a_write_is_answered_by_an_error_code(error: ErrorCode) -> None:
    answer = alter_response.IncrementalAlterConfigsResponse(
        throttle_time=NOW,
        responses=(
            alter_response.AlterConfigsResourceResponse(
                error_code=error, error_message="why", resource_type=i8(16), resource_name="r-1"
            ),
        ),
    )
    assert frames.read_alter_answer(write(answer)) == error.value


def entry(
    name: str, value: str | None, source: int
) -> describe_response.DescribeConfigsResourceResult:
    synonym = describe_response.DescribeConfigsSynonym(name=name, value=value, source=i8(source))
    return describe_response.DescribeConfigsResourceResult(
        name=name,
        value=value,
        read_only=False,
        config_source=i8(source),
        is_sensitive=False,
        synonyms=(synonym, synonym),
        config_type=i8(3),
        documentation="in words",
    )


@pytest.mark.parametrize(
    ("entries", "value"),
    [
        ((entry("interval.ms", "345", 7),), 345),
        ((entry("interval.ms", "300000", 5),), None),
        ((), None),
        ((entry("metrics", "x", 7), entry("interval.ms", "100", 7)), 100),
    ],
)
def test_a_read_finds_the_value_that_somebody_set(
    entries: tuple[describe_response.DescribeConfigsResourceResult, ...], value: int | None
) -> None:
    answer = describe_response.DescribeConfigsResponse(
        throttle_time=NOW,
        results=(
            describe_response.DescribeConfigsResult(
                error_code=ErrorCode.none,
                error_message=None,
                resource_type=i8(16),
                resource_name="r-1",
                configs=entries,
            ),
        ),
    )
    assert frames.read_describe_answer(write(answer)) == (0, value)


@pytest.mark.parametrize(
    ("error", "leader", "claimed"),
    [
        (ErrorCode.none, 2, 2),
        (ErrorCode.not_leader_or_follower, 2, None),
        (ErrorCode.none, -1, None),
    ],
)
def test_only_the_leader_itself_says_who_leads(
    error: ErrorCode, leader: int, claimed: int | None
) -> None:
    voter = quorum_response.ReplicaState(replica_id=BrokerId(1), log_end_offset=i64(9))
    partition = quorum_response.PartitionData(
        partition_index=i32(0),
        error_code=error,
        leader_id=BrokerId(leader),
        leader_epoch=i32(5),
        high_watermark=i64(8),
        current_voters=(voter,),
        observers=(),
    )
    answer = quorum_response.DescribeQuorumResponse(
        error_code=ErrorCode.none,
        topics=(
            quorum_response.TopicData(
                topic_name=TopicName("__cluster_metadata"), partitions=(partition,)
            ),
        ),
    )
    claim = frames.read_quorum_answer(write(answer))
    assert (claim.leader, claim.epoch, claim.high_watermark) == (claimed, 5, 8)


def test_unknown_tags_are_skipped() -> None:
    whole = (
        b"\x00\x00\x00\x00\x02" + b"\x00\x00\x00\x10\x04r-1" + b"\x01\x09\x02hi" + b"\x01\x05\x01x"
    )
    assert frames.read_alter_answer(whole) == 0


@pytest.mark.parametrize("size", range(15))
def test_an_answer_cut_anywhere_is_malformed(size: int) -> None:
    whole = b"\x00\x00\x00\x00\x02" + b"\x00\x00\x00\x10\x04r-1" + b"\x00\x00"
    assert frames.read_alter_answer(whole) == 0
    with pytest.raises(fields.MalformedAnswerError):
        frames.read_alter_answer(whole[:size])
    with pytest.raises(fields.MalformedAnswerError):
        frames.read_alter_answer(whole + b"\x00")


def test_a_value_that_is_no_number_is_malformed() -> None:
    answer = describe_response.DescribeConfigsResponse(
        throttle_time=NOW,
        results=(
            describe_response.DescribeConfigsResult(
                error_code=ErrorCode.none,
                error_message=None,
                resource_type=i8(16),
                resource_name="r-1",
                configs=(entry("interval.ms", "soon", 7),),
            ),
        ),
    )
    with pytest.raises(fields.MalformedAnswerError, match="soon"):
        frames.read_describe_answer(write(answer))
