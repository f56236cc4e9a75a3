"""The hand-written frames of logs' clients are Kafka's, by kio's reading."""

import datetime
import io
import uuid
from typing import Any

import pytest
from kio.schema.create_topics.v7 import request as create_request
from kio.schema.create_topics.v7 import response as create_response
from kio.schema.delete_records.v2 import request as records_request
from kio.schema.delete_records.v2 import response as records_response
from kio.schema.delete_topics.v6 import request as delete_request
from kio.schema.delete_topics.v6 import response as delete_response
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12 import request as fetch_request
from kio.schema.fetch.v12 import response as fetch_response
from kio.schema.find_coordinator.v4 import request as coordinator_request
from kio.schema.find_coordinator.v4 import response as coordinator_response
from kio.schema.init_producer_id.v4 import request as init_request
from kio.schema.init_producer_id.v4 import response as init_response
from kio.schema.list_offsets.v7 import request as list_request
from kio.schema.list_offsets.v7 import response as list_response
from kio.schema.metadata.v12 import request as metadata_request
from kio.schema.metadata.v12 import response as metadata_response
from kio.schema.produce.v12 import request as produce_request
from kio.schema.produce.v12 import response as produce_response
from kio.schema.types import BrokerId, ProducerId, TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import Records, i8, i16, i32, i32Timedelta, i64

from workloads.wire import fetch, group_members, produce, topic_requests
from workloads.wire.flexible import MalformedResponseError, MessageReader, varint
from workloads.wire.header import Api

NOW = i32Timedelta.parse(datetime.timedelta(milliseconds=7))
TOPIC = TopicName("append-0")


def read(schema: Any, data: bytes) -> Any:
    value, size = entity_reader(schema)(data, 0)
    assert size == len(data)
    return value


def write(value: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(value))(buffer, value)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("api", "schema"),
    [
        (Api.PRODUCE, produce_request.ProduceRequest),
        (Api.FETCH, fetch_request.FetchRequest),
        (Api.LIST_OFFSETS, list_request.ListOffsetsRequest),
        (Api.METADATA, metadata_request.MetadataRequest),
        (Api.CREATE_TOPICS, create_request.CreateTopicsRequest),
        (Api.DELETE_TOPICS, delete_request.DeleteTopicsRequest),
        (Api.INIT_PRODUCER_ID, init_request.InitProducerIdRequest),
        (Api.DELETE_RECORDS, records_request.DeleteRecordsRequest),
        (Api.FIND_COORDINATOR, coordinator_request.FindCoordinatorRequest),
    ],
)
def test_requests_are_sent_in_the_versions_that_are_written(api: Api, schema: Any) -> None:
    assert (schema.__api_key__, schema.__version__) == (api, api.version)
    assert schema.__flexible__


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 16_383, 16_384, 1 << 20])
def test_a_varint_is_read_back(value: int) -> None:
    reader = MessageReader(varint(value))
    assert reader.varint() == value
    assert reader.position == len(reader.data)


@pytest.mark.parametrize("size", [1, 126, 127, 5_000])
def test_a_produce_carries_one_batch_to_one_partition(size: int) -> None:
    body = produce.produce("append-0", 2, bytes(size), acks=-1, timeout_ms=900)
    request = read(produce_request.ProduceRequest, body)
    assert (request.transactional_id, request.acks) == (None, -1)
    assert request.timeout == datetime.timedelta(milliseconds=900)
    (topic,) = request.topic_data
    (partition,) = topic.partition_data
    assert (topic.name, partition.index, partition.records) == ("append-0", 2, bytes(size))


def produced(error: ErrorCode, base_offset: int) -> bytes:
    partition = produce_response.PartitionProduceResponse(
        index=i32(2),
        error_code=error,
        base_offset=i64(base_offset),
        log_append_time=None,
        log_start_offset=i64(0),
        record_errors=(
            produce_response.BatchIndexAndErrorMessage(
                batch_index=i32(0), batch_index_error_message="why"
            ),
        ),
        error_message="in words",
        current_leader=produce_response.LeaderIdAndEpoch(
            leader_id=BrokerId(3), leader_epoch=i32(9)
        ),
    )
    return write(
        produce_response.ProduceResponse(
            responses=(
                produce_response.TopicProduceResponse(name=TOPIC, partition_responses=(partition,)),
            ),
            throttle_time=NOW,
            node_endpoints=(
                produce_response.NodeEndpoint(
                    node_id=BrokerId(3), host="node-3", port=i32(9092), rack=None
                ),
            ),
        )
    )


@pytest.mark.parametrize(
    ("error", "offset"), [(ErrorCode.none, 345), (ErrorCode.not_leader_or_follower, -1)]
)
def test_a_produce_is_answered_by_an_error_and_an_offset(error: ErrorCode, offset: int) -> None:
    answer = produce.read_produce(produced(error, offset), "append-0", 2)
    assert (answer.error, answer.base_offset) == (error.value, offset)


def test_an_answer_for_another_partition_is_malformed() -> None:
    body = produced(ErrorCode.none, 7)
    with pytest.raises(MalformedResponseError, match="append-0-2"):
        produce.read_produce(body, "append-0", 1)
    for size in range(len(body)):
        with pytest.raises(MalformedResponseError):
            produce.read_produce(body[:size], "append-0", 2)


def test_a_producer_id_is_asked_for_without_a_transaction() -> None:
    request = read(init_request.InitProducerIdRequest, produce.init_producer_id())
    assert (request.transactional_id, request.producer_id, request.producer_epoch) == (None, -1, -1)
    answer = init_response.InitProducerIdResponse(
        throttle_time=NOW,
        error_code=ErrorCode.none,
        producer_id=ProducerId(4000),
        producer_epoch=i16(1),
    )
    found = produce.read_producer_id(write(answer))
    assert (found.error, found.producer_id, found.epoch) == (0, 4000, 1)


def test_a_transactional_producer_names_itself() -> None:
    request = read(init_request.InitProducerIdRequest, produce.init_producer_id("mine"))
    assert (request.transactional_id, request.producer_id) == ("mine", -1)
    assert request.transaction_timeout == datetime.timedelta(seconds=60)
    body = produce.produce("t", 0, b"batch", acks=-1, timeout_ms=900, transactional_id="mine")
    assert read(produce_request.ProduceRequest, body).transactional_id == "mine"


def test_a_coordinator_is_asked_for_by_transactional_id() -> None:
    request = read(
        coordinator_request.FindCoordinatorRequest, group_members.find_coordinator("mine")
    )
    assert (request.key_type, request.coordinator_keys) == (1, ("mine",))
    told = coordinator_response.Coordinator(
        key="mine",
        node_id=BrokerId(3),
        host="node-3",
        port=i32(9200),
        error_code=ErrorCode.coordinator_not_available,
        error_message="in words",
    )
    body = write(
        coordinator_response.FindCoordinatorResponse(throttle_time=NOW, coordinators=(told,))
    )
    found = group_members.read_coordinator(body)
    assert (found.error, found.node) == (15, 3)
    for size in range(len(body)):
        with pytest.raises(MalformedResponseError):
            group_members.read_coordinator(body[:size])


def test_records_are_deleted_before_an_offset() -> None:
    body = fetch.delete_records("append-0", 2, 345, timeout_ms=900)
    request = read(records_request.DeleteRecordsRequest, body)
    assert request.timeout == datetime.timedelta(milliseconds=900)
    (topic,) = request.topics
    (partition,) = topic.partitions
    assert (topic.name, partition.partition_index, partition.offset) == ("append-0", 2, 345)
    result = records_response.DeleteRecordsPartitionResult(
        partition_index=i32(2),
        low_watermark=i64(345),
        error_code=ErrorCode.not_leader_or_follower,
    )
    told = records_response.DeleteRecordsTopicResult(name=TOPIC, partitions=(result,))
    answer = write(records_response.DeleteRecordsResponse(throttle_time=NOW, topics=(told,)))
    assert fetch.read_deleted_records(answer, "append-0", 2) == 6
    with pytest.raises(MalformedResponseError, match="append-0-2"):
        fetch.read_deleted_records(answer, "append-0", 1)
    for size in range(len(answer)):
        with pytest.raises(MalformedResponseError):
            fetch.read_deleted_records(answer[:size], "append-0", 2)


def test_a_fetch_reads_one_partition_uncommitted_and_without_a_session() -> None:
    body = fetch.fetch("append-0", 2, 345, most_bytes=1000, wait_ms=100)
    request = read(fetch_request.FetchRequest, body)
    assert (request.replica_id, request.isolation_level, request.min_bytes) == (-1, 0, 1)
    assert (request.session_id, request.session_epoch, request.rack_id) == (0, -1, "")
    assert request.max_wait == datetime.timedelta(milliseconds=100)
    assert request.forgotten_topics_data == ()
    (topic,) = request.topics
    (partition,) = topic.partitions
    assert (topic.topic, partition.partition, partition.fetch_offset) == ("append-0", 2, 345)
    assert (request.max_bytes, partition.partition_max_bytes) == (1000, 1000)
    assert (partition.current_leader_epoch, partition.last_fetched_epoch) == (-1, -1)


@pytest.mark.parametrize("records", [None, b"", b"batches"])
def test_a_fetch_is_answered_by_batches_and_a_high_watermark(records: bytes | None) -> None:
    partition = fetch_response.PartitionData(
        partition_index=i32(2),
        error_code=ErrorCode.none,
        high_watermark=i64(400),
        last_stable_offset=i64(390),
        log_start_offset=i64(10),
        aborted_transactions=(
            fetch_response.AbortedTransaction(producer_id=ProducerId(1), first_offset=i64(5)),
        ),
        preferred_read_replica=BrokerId(-1),
        records=Records(records) if records is not None else None,
    )
    answer = fetch_response.FetchResponse(
        throttle_time=NOW,
        error_code=ErrorCode.none,
        session_id=i32(0),
        responses=(fetch_response.FetchableTopicResponse(topic=TOPIC, partitions=(partition,)),),
    )
    found = fetch.read_fetch(write(answer), "append-0", 2)
    assert (found.error, found.high_watermark, found.log_start) == (0, 400, 10)
    assert found.data == (records or b"")


def test_a_fetch_that_failed_as_a_whole_names_no_partition() -> None:
    answer = fetch_response.FetchResponse(
        throttle_time=NOW,
        error_code=ErrorCode.fetch_session_id_not_found,
        session_id=i32(0),
        responses=(),
    )
    assert fetch.read_fetch(write(answer), "append-0", 2).error == 70


def test_the_ends_of_a_log_are_asked_for_by_timestamps() -> None:
    request = read(
        list_request.ListOffsetsRequest, fetch.list_offset("append-0", 2, fetch.EARLIEST)
    )
    (topic,) = request.topics
    (partition,) = topic.partitions
    assert (request.replica_id, request.isolation_level) == (-1, 0)
    assert (topic.name, partition.partition_index, partition.timestamp) == ("append-0", 2, -2)
    committed = fetch.list_offset("append-0", 2, fetch.LATEST, committed=True)
    assert read(list_request.ListOffsetsRequest, committed).isolation_level == 1
    answer = list_response.ListOffsetsResponse(
        throttle_time=NOW,
        topics=(
            list_response.ListOffsetsTopicResponse(
                name=TOPIC,
                partitions=(
                    list_response.ListOffsetsPartitionResponse(
                        partition_index=i32(2),
                        error_code=ErrorCode.none,
                        timestamp=i64(-1),
                        offset=i64(12),
                        leader_epoch=i32(3),
                    ),
                ),
            ),
        ),
    )
    found = fetch.read_listed(write(answer), "append-0", 2)
    assert (found.error, found.offset) == (0, 12)


def test_metadata_is_asked_of_some_topics_and_creates_none() -> None:
    request = read(
        metadata_request.MetadataRequest, topic_requests.metadata(("append-0", "append-1"))
    )
    assert [topic.name for topic in request.topics] == ["append-0", "append-1"]
    assert not request.allow_auto_topic_creation
    assert not request.include_topic_authorized_operations


def test_metadata_names_leaders_and_skips_what_is_unknown() -> None:
    def partition(index: int, leader: int) -> metadata_response.MetadataResponsePartition:
        error = ErrorCode.none if leader >= 0 else ErrorCode.leader_not_available
        return metadata_response.MetadataResponsePartition(
            error_code=error,
            partition_index=i32(index),
            leader_id=BrokerId(leader),
            leader_epoch=i32(7 + index),
            replica_nodes=(BrokerId(1), BrokerId(2)),
            isr_nodes=(BrokerId(1),),
            offline_replicas=(),
        )

    def topic(name: str, error: ErrorCode, *leaders: int) -> Any:
        return metadata_response.MetadataResponseTopic(
            error_code=error,
            name=TopicName(name),
            topic_id=uuid.UUID(int=5),
            is_internal=False,
            partitions=tuple(partition(index, leader) for index, leader in enumerate(leaders)),
            topic_authorized_operations=i32(-2147483648),
        )

    answer = metadata_response.MetadataResponse(
        throttle_time=NOW,
        brokers=(
            metadata_response.MetadataResponseBroker(
                node_id=BrokerId(1), host="node-1", port=i32(9092), rack=None
            ),
        ),
        cluster_id="c",
        controller_id=BrokerId(1),
        topics=(
            topic("append-0", ErrorCode.none, 1, -1),
            topic("append-1", ErrorCode.unknown_topic_or_partition),
        ),
    )
    found = topic_requests.read_metadata(write(answer))
    assert [(each.topic, each.partition, each.leader, each.epoch) for each in found] == [
        ("append-0", 0, 1, 7),
        ("append-0", 1, -1, 8),
    ]


def test_a_topic_is_created_with_its_configuration() -> None:
    body = topic_requests.create_topic(
        "append-0", partitions=6, replication=3, configs={"min.insync.replicas": "2"}, timeout_ms=5
    )
    request = read(create_request.CreateTopicsRequest, body)
    (topic,) = request.topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("append-0", 6, 3)
    assert [(config.name, config.value) for config in topic.configs] == [
        ("min.insync.replicas", "2")
    ]
    assert topic.assignments == ()
    assert request.timeout == datetime.timedelta(milliseconds=5)
    assert not request.validate_only


@pytest.mark.parametrize("error", [ErrorCode.none, ErrorCode.topic_already_exists])
def test_a_creation_is_answered_by_an_error_code(error: ErrorCode) -> None:
    config = create_response.CreatableTopicConfigs(
        name="a", value="b", read_only=False, config_source=i8(1), is_sensitive=False
    )
    answer = create_response.CreateTopicsResponse(
        throttle_time=NOW,
        topics=(
            create_response.CreatableTopicResult(
                name=TOPIC,
                topic_id=uuid.UUID(int=5),
                error_code=error,
                error_message="why",
                topic_config_error_code=i16(29),
                num_partitions=i32(6),
                replication_factor=i16(3),
                configs=(config, config),
            ),
        ),
    )
    assert topic_requests.read_created(write(answer), "append-0") == error.value
    with pytest.raises(MalformedResponseError, match="append-1"):
        topic_requests.read_created(write(answer), "append-1")


@pytest.mark.parametrize("error", [ErrorCode.none, ErrorCode.unknown_topic_or_partition])
def test_a_topic_is_deleted_by_name(error: ErrorCode) -> None:
    request = read(
        delete_request.DeleteTopicsRequest, topic_requests.delete_topic("append-0", timeout_ms=5)
    )
    (topic,) = request.topics
    assert (topic.name, topic.topic_id) == ("append-0", None)
    answer = delete_response.DeleteTopicsResponse(
        throttle_time=NOW,
        responses=(
            delete_response.DeletableTopicResult(
                name=TOPIC, topic_id=uuid.UUID(int=5), error_code=error, error_message=None
            ),
        ),
    )
    assert topic_requests.read_deleted(write(answer), "append-0") == error.value
