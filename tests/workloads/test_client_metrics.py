"""The hand-written frames are Kafka's, by kio's reading."""

import io
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from kio.schema.describe_configs.v4 import request as describe_request
from kio.schema.describe_configs.v4 import response as describe_response
from kio.schema.describe_quorum.v2 import request as quorum_request
from kio.schema.describe_quorum.v2 import response as quorum_response
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1 import request as alter_request
from kio.schema.incremental_alter_configs.v1 import response as alter_response
from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.types import BrokerId, TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i8, i32, i32Timedelta, i64, u16

from workloads.wire import flexible, header
from workloads.wire.client_metrics import (
    Action,
    Alteration,
    ConfigChange,
    ResourceResult,
    alter,
    describe,
    read_altered,
    read_described,
)
from workloads.wire.describe_quorum import describe_quorum, read_quorum_response

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


def set_interval(resource: str, value: str | None) -> Alteration:
    return Alteration(resource=resource, changes=(ConfigChange(value=value),))


def test_an_alteration_names_resources_and_what_becomes_of_their_configs() -> None:
    deleted = Alteration(resource="r-13", changes=(ConfigChange(action=Action.DELETE),))
    body = alter([set_interval("r-12", "345"), deleted])
    request = read(alter_request.IncrementalAlterConfigsRequest, body)
    assert [(each.resource_type, each.resource_name) for each in request.resources] == [
        (16, "r-12"),
        (16, "r-13"),
    ]
    told = [each.configs for each in request.resources]
    assert [(each.name, each.config_operation, each.value) for (each,) in told] == [
        ("interval.ms", 0, "345"),
        ("interval.ms", 1, None),
    ]
    assert request.validate_only is False


def test_what_must_be_refused_is_said_as_it_is() -> None:
    changes = (ConfigChange(name="no.such", action=9, value="1"), ConfigChange(value=None))
    body = alter([Alteration(resource="r-1", changes=changes, type=3)], validate_only=True)
    request = read(alter_request.IncrementalAlterConfigsRequest, body)
    (resource,) = request.resources
    assert resource.resource_type == 3
    assert [(each.name, each.config_operation, each.value) for each in resource.configs] == [
        ("no.such", 9, "1"),
        ("interval.ms", 0, None),
    ]
    assert request.validate_only is True


def test_a_read_asks_for_one_entry_of_each_resource_without_synonyms() -> None:
    request = read(describe_request.DescribeConfigsRequest, describe(["r-12", "r-13"]))
    assert [(each.resource_type, each.resource_name) for each in request.resources] == [
        (16, "r-12"),
        (16, "r-13"),
    ]
    assert {each.configuration_keys for each in request.resources} == {("interval.ms",)}
    assert not request.include_synonyms
    assert not request.include_documentation


def test_describe_quorum_names_the_metadata_partition() -> None:
    request = read(quorum_request.DescribeQuorumRequest, describe_quorum())
    (topic,) = request.topics
    assert topic.topic_name == "__cluster_metadata"
    assert [partition.partition_index for partition in topic.partitions] == [0]


def altered(*results: tuple[str, ErrorCode]) -> bytes:
    responses = tuple(
        alter_response.AlterConfigsResourceResponse(
            error_code=error, error_message="why", resource_type=i8(16), resource_name=name
        )
        for name, error in results
    )
    return write(
        alter_response.IncrementalAlterConfigsResponse(throttle_time=NOW, responses=responses)
    )


def test_an_alteration_is_answered_by_an_error_code_a_resource_in_any_order() -> None:
    answer = altered(("r-2", ErrorCode.invalid_config), ("r-1", ErrorCode.none))
    assert read_altered(answer, ["r-1", "r-2"]) == [0, 40]


@pytest.mark.parametrize(
    "results",
    [
        (),
        (("r-1", ErrorCode.none),),
        (("r-1", ErrorCode.none), ("r-3", ErrorCode.none)),
        (("r-1", ErrorCode.none), ("r-1", ErrorCode.none), ("r-2", ErrorCode.none)),
        (("r-1", ErrorCode.none), ("r-2", ErrorCode.none), ("r-3", ErrorCode.none)),
    ],
)
def test_a_resource_without_its_one_result_is_malformed(
    results: tuple[tuple[str, ErrorCode], ...],
) -> None:
    with pytest.raises(flexible.MalformedResponseError, match=r"result|asked"):
        read_altered(altered(*results), ["r-1", "r-2"])


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
        ((entry("interval.ms", f"345{' ' * 10_000}", 7),), 345),
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
    assert read_described(write(answer), ["r-1"]) == [ResourceResult(0, value)]


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
    partition = quorum_response.PartitionData(
        partition_index=i32(0),
        error_code=error,
        error_message="in words",
        leader_id=BrokerId(leader),
        leader_epoch=i32(5),
        high_watermark=i64(8),
        current_voters=(replica(1, 9), replica(2, -1)),
        observers=(replica(3, 7),),
    )
    listeners = tuple(
        quorum_response.Listener(name=name, host=host, port=u16(port))
        for name, host, port in (("CONTROLLER", "node-1", 9101), ("EXTERNAL", "127.0.0.1", 40001))
    )
    answer = quorum_response.DescribeQuorumResponse(
        error_code=ErrorCode.none,
        error_message=None,
        nodes=(quorum_response.Node(node_id=BrokerId(1), listeners=listeners),),
        topics=(
            quorum_response.TopicData(
                topic_name=TopicName("__cluster_metadata"), partitions=(partition,)
            ),
        ),
    )
    claim = read_quorum_response(write(answer))
    assert (claim.leader, claim.epoch, claim.high_watermark) == (claimed, 5, 8)
    told = [(each.node, each.directory_id, each.log_end) for each in claim.voters]
    assert told == [(1, "AAAAAAAAAAAAAAAAAAAAAQ", 9), (2, "AAAAAAAAAAAAAAAAAAAAAg", -1)]
    assert [(each.node, each.log_end) for each in claim.observers] == [(3, 7)]
    assert [(each.node, each.name, each.host, each.port) for each in claim.listeners] == [
        (1, "CONTROLLER", "node-1", 9101),
        (1, "EXTERNAL", "127.0.0.1", 40001),
    ]


def replica(node: int, log_end: int) -> quorum_response.ReplicaState:
    """With its id for a directory id."""
    return quorum_response.ReplicaState(
        replica_id=BrokerId(node),
        replica_directory_id=UUID(int=node),
        log_end_offset=i64(log_end),
        last_fetch_timestamp=i64(5),
        last_caught_up_timestamp=i64(-1),
    )


def test_unknown_tags_are_skipped() -> None:
    whole = (
        b"\x00\x00\x00\x00\x02" + b"\x00\x00\x00\x10\x04r-1" + b"\x01\x09\x02hi" + b"\x01\x05\x01x"
    )
    assert read_altered(whole, ["r-1"]) == [0]


@pytest.mark.parametrize("size", range(15))
def test_an_answer_cut_anywhere_is_malformed(size: int) -> None:
    whole = b"\x00\x00\x00\x00\x02" + b"\x00\x00\x00\x10\x04r-1" + b"\x00\x00"
    assert read_altered(whole, ["r-1"]) == [0]
    with pytest.raises(flexible.MalformedResponseError):
        read_altered(whole[:size], ["r-1"])
    with pytest.raises(flexible.MalformedResponseError):
        read_altered(whole + b"\x00", ["r-1"])


@pytest.mark.parametrize("text", ["soon", "1_0", "٣", "", "99999999999999999999"])
def test_a_value_that_is_no_number_is_malformed(text: str) -> None:
    answer = describe_response.DescribeConfigsResponse(
        throttle_time=NOW,
        results=(
            describe_response.DescribeConfigsResult(
                error_code=ErrorCode.none,
                error_message=None,
                resource_type=i8(16),
                resource_name="r-1",
                configs=(entry("interval.ms", text, 7),),
            ),
        ),
    )
    with pytest.raises(flexible.MalformedResponseError, match="not a number"):
        read_described(write(answer), ["r-1"])
