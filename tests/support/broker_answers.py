"""What fake brokers answer, as values of kio: to each API that clients of logs ask."""

import uuid
from collections.abc import Callable
from typing import Any

from kio.schema.alter_partition_reassignments.v0 import request as reassign_request
from kio.schema.alter_partition_reassignments.v0 import response as reassign_response
from kio.schema.create_partitions.v3 import request as partitions_request
from kio.schema.create_partitions.v3 import response as partitions_response
from kio.schema.create_topics.v7 import request as create_request
from kio.schema.create_topics.v7 import response as create_response
from kio.schema.delete_records.v2 import request as records_request
from kio.schema.delete_records.v2 import response as records_response
from kio.schema.delete_topics.v6 import request as delete_request
from kio.schema.delete_topics.v6 import response as delete_response
from kio.schema.describe_quorum.v2 import request as quorum_request
from kio.schema.describe_quorum.v2 import response as quorum_response
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12 import request as fetch_request
from kio.schema.fetch.v12 import response as fetch_response
from kio.schema.incremental_alter_configs.v1 import request as alter_request
from kio.schema.incremental_alter_configs.v1 import response as alter_response
from kio.schema.list_offsets.v7 import request as list_request
from kio.schema.list_offsets.v7 import response as list_response
from kio.schema.list_partition_reassignments.v0 import request as ongoing_request
from kio.schema.list_partition_reassignments.v0 import response as ongoing_response
from kio.schema.metadata.v12 import request as metadata_request
from kio.schema.metadata.v12 import response as metadata_response
from kio.schema.offset_commit.v8 import request as commit_request
from kio.schema.offset_fetch.v8 import request as offset_request
from kio.schema.offset_for_leader_epoch.v4 import request as epoch_request
from kio.schema.offset_for_leader_epoch.v4 import response as epoch_response
from kio.schema.produce.v12 import request as produce_request
from kio.schema.produce.v12 import response as produce_response
from kio.schema.types import BrokerId, ProducerId, TopicName
from kio.static.primitive import Records, i32, i64

from tests.support.fake_log import FINE, Ending, FakeLog, Fate
from tests.support.joining_members import JoiningMembers
from tests.support.transaction_answers import ZERO, TransactionAnswers, read

Decides = Callable[[int], Fate]  # what becomes of a Produce, by its acks


class BrokerAnswers(TransactionAnswers):
    """What all brokers of a cluster know, and their answers from that: no sockets, no frames."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.logs: dict[tuple[str, int], FakeLog] = {}
        self.topics: dict[str, int] = {}
        self.on_produce: Decides = lambda _: FINE
        self.on_create: ErrorCode | None = None
        self.refuses_fetch: set[tuple[str, int]] = set()
        self.produced: list[bytes] = []
        self.altered: list[tuple[str, str, str | None]] = []
        self.ghosts: dict[int, set[str]] = {}  # topics that a broker knows although they are gone
        self.deaf: set[int] = set()  # brokers that know of no topic any more
        self.members = JoiningMembers()
        self.still_moving = 0  # questions until a move has come to its end
        self.moves: list[tuple[str, tuple[int, ...]]] = []  # of which partition, and where to
        self.epoch = 1  # of the quorum
        self.falls = False  # the active controller, over an operation that there is not
        self._count = count

    def move_leaders(self, to: int) -> None:
        for log in self.logs.values():
            log.leader, log.epoch = to, log.epoch + 1

    def add_topic(self, name: str, partitions: int) -> None:
        self.topics[name] = partitions
        for index in range(partitions):
            self.logs[name, index] = FakeLog(leader=1 + len(self.logs) % self._count)

    def answer(self, node: int, api: int, body: bytes) -> Any:
        """A response; or how the connection goes on without one."""
        match api:
            case 0:
                return self._produce(node, read(produce_request.ProduceRequest, body))
            case 1:
                return self._fetch(node, read(fetch_request.FetchRequest, body))
            case 2:
                return self._list(read(list_request.ListOffsetsRequest, body))
            case 3:
                return self._metadata(node, read(metadata_request.MetadataRequest, body))
            case 8:
                return self.groups.commit(read(commit_request.OffsetCommitRequest, body))
            case 9:
                return self.groups.fetch(read(offset_request.OffsetFetchRequest, body))
            case 19:
                return self._create(read(create_request.CreateTopicsRequest, body))
            case 20:
                return self._delete(read(delete_request.DeleteTopicsRequest, body))
            case 11 | 12 | 13 | 14:
                return self.members.answer(api, body)
            case 23:
                return self._end_epoch(read(epoch_request.OffsetForLeaderEpochRequest, body))
            case 37:
                return self._grow(read(partitions_request.CreatePartitionsRequest, body))
            case 45:
                return self._reassign(
                    read(reassign_request.AlterPartitionReassignmentsRequest, body)
                )
            case 46:
                return self._moving(read(ongoing_request.ListPartitionReassignmentsRequest, body))
            case 10 | 22 | 26 | 28 | 65:
                return self.answer_of_transactions(node, api, body)
            case 21:
                return self._delete_records(read(records_request.DeleteRecordsRequest, body))
            case 55:
                read(quorum_request.DescribeQuorumRequest, body)
                return _led_in(self.epoch)
            case 44:
                return self._alter(read(alter_request.IncrementalAlterConfigsRequest, body))
        raise AssertionError(f"nobody should ask for API {api}")

    def _produce(self, node: int, request: produce_request.ProduceRequest) -> Any:
        (topic,) = request.topic_data
        (partition,) = topic.partition_data
        log = self.logs[topic.name, int(partition.index)]
        assert partition.records is not None, "sends a batch"
        self.produced.append(partition.records)
        fate = self.on_produce(int(request.acks))
        if node != log.leader:
            fate = Fate(appends=False, error=ErrorCode.not_leader_or_follower)
        offset = log.append(partition.records) if fate.appends else -1
        if fate.appends and request.transactional_id is not None:
            assert partition.records[22] & 0x10, "a batch of a transaction"
            producer = int.from_bytes(partition.records[43:51], "big")
            self.begin_transaction(request.transactional_id, log, producer, offset)
        if int(request.acks) == 0:
            return Ending.SILENCE
        if fate.ending is not Ending.ANSWER:
            return fate.ending
        result = produce_response.PartitionProduceResponse(
            index=partition.index,
            error_code=fate.error,
            base_offset=i64(offset if fate.tells_offset else -1),
            log_append_time=None,
            log_start_offset=i64(log.start),
            record_errors=(),
            error_message=None,
        )
        return produce_response.ProduceResponse(
            responses=(
                produce_response.TopicProduceResponse(
                    name=topic.name, partition_responses=(result,)
                ),
            ),
            throttle_time=ZERO,
        )

    def _fetch(self, node: int, request: fetch_request.FetchRequest) -> Any:
        (topic,) = request.topics
        (partition,) = topic.partitions
        place = (str(topic.topic), int(partition.partition))
        log, offset = self.logs[place], int(partition.fetch_offset)
        error = ErrorCode.none
        if node != log.leader or place in self.refuses_fetch:
            error = ErrorCode.not_leader_or_follower
        elif not log.start <= offset <= log.end:
            error = ErrorCode.offset_out_of_range
        most = int(partition.partition_max_bytes)
        result = fetch_response.PartitionData(
            partition_index=partition.partition,
            error_code=error,
            high_watermark=i64(-1 if error else log.end),
            last_stable_offset=i64(-1 if error else log.end),
            log_start_offset=i64(log.start),
            aborted_transactions=self._aborted(log) if int(request.isolation_level) else (),
            preferred_read_replica=BrokerId(-1),
            records=Records(b"" if error else log.read(offset, most)),
        )
        return fetch_response.FetchResponse(
            throttle_time=ZERO,
            error_code=ErrorCode.none,
            session_id=i32(0),
            responses=(
                fetch_response.FetchableTopicResponse(topic=topic.topic, partitions=(result,)),
            ),
        )

    def _aborted(self, log: FakeLog) -> tuple[fetch_response.AbortedTransaction, ...]:
        return tuple(
            fetch_response.AbortedTransaction(
                producer_id=ProducerId(producer), first_offset=i64(first)
            )
            for of, producer, first in self.aborted
            if of is log
        )

    def _list(self, request: list_request.ListOffsetsRequest) -> Any:
        (topic,) = request.topics
        (partition,) = topic.partitions
        log = self.logs[topic.name, int(partition.partition_index)]
        result = list_response.ListOffsetsPartitionResponse(
            partition_index=partition.partition_index,
            error_code=ErrorCode.none,
            timestamp=i64(-1),
            offset=i64(
                log.start
                if int(partition.timestamp) == -2
                else min([log.end, *self.open_transactions.values()])
                if int(request.isolation_level)
                else log.end
            ),
            leader_epoch=i32(log.epoch),
        )
        return list_response.ListOffsetsResponse(
            throttle_time=ZERO,
            topics=(list_response.ListOffsetsTopicResponse(name=topic.name, partitions=(result,)),),
        )

    def _delete_records(self, request: records_request.DeleteRecordsRequest) -> Any:
        (topic,) = request.topics
        (partition,) = topic.partitions
        log = self.logs[topic.name, int(partition.partition_index)]
        log.start = max(log.start, int(partition.offset))
        result = records_response.DeleteRecordsPartitionResult(
            partition_index=partition.partition_index,
            low_watermark=i64(log.start),
            error_code=ErrorCode.none,
        )
        return records_response.DeleteRecordsResponse(
            throttle_time=ZERO,
            topics=(
                records_response.DeleteRecordsTopicResult(name=topic.name, partitions=(result,)),
            ),
        )

    def _end_epoch(self, request: epoch_request.OffsetForLeaderEpochRequest) -> Any:
        (topic,) = request.topics
        (partition,) = topic.partitions
        log, sought = self.logs[str(topic.topic), int(partition.partition)], partition.leader_epoch
        is_known = int(sought) <= log.epoch
        result = epoch_response.EpochEndOffset(
            error_code=ErrorCode.none,
            partition=partition.partition,
            leader_epoch=i32(log.epoch if is_known else -1),
            end_offset=i64(log.end if is_known else -1),
        )
        told = epoch_response.OffsetForLeaderTopicResult(topic=topic.topic, partitions=(result,))
        return epoch_response.OffsetForLeaderEpochResponse(throttle_time=ZERO, topics=(told,))

    def _grow(self, request: partitions_request.CreatePartitionsRequest) -> Any:
        (topic,) = request.topics
        for index in range(self.topics[str(topic.name)], int(topic.count)):
            self.logs[str(topic.name), index] = FakeLog(leader=1 + len(self.logs) % self._count)
        self.topics[str(topic.name)] = int(topic.count)
        result = partitions_response.CreatePartitionsTopicResult(
            name=topic.name, error_code=ErrorCode.none, error_message=None
        )
        return partitions_response.CreatePartitionsResponse(throttle_time=ZERO, results=(result,))

    def _reassign(self, request: reassign_request.AlterPartitionReassignmentsRequest) -> Any:
        (topic,) = request.topics
        (partition,) = topic.partitions
        moved = f"{topic.name}-{int(partition.partition_index)}"
        self.moves.append((moved, tuple(map(int, partition.replicas or ()))))
        result = reassign_response.ReassignablePartitionResponse(
            partition_index=partition.partition_index,
            error_code=ErrorCode.none,
            error_message=None,
        )
        told = reassign_response.ReassignableTopicResponse(name=topic.name, partitions=(result,))
        return reassign_response.AlterPartitionReassignmentsResponse(
            throttle_time=ZERO,
            error_code=ErrorCode.none,
            error_message=None,
            responses=(told,),
        )

    def _moving(self, request: ongoing_request.ListPartitionReassignmentsRequest) -> Any:
        (topic,) = request.topics or ()
        (index,) = topic.partition_indexes
        self.still_moving -= 1
        ongoing = ongoing_response.OngoingPartitionReassignment(
            partition_index=index,
            replicas=(BrokerId(1), BrokerId(2)),
            adding_replicas=(BrokerId(2),),
            removing_replicas=(),
        )
        told = ongoing_response.OngoingTopicReassignment(name=topic.name, partitions=(ongoing,))
        return ongoing_response.ListPartitionReassignmentsResponse(
            throttle_time=ZERO,
            error_code=ErrorCode.none,
            error_message=None,
            topics=(told,) if self.still_moving >= 0 else (),
        )

    def _alter(self, request: alter_request.IncrementalAlterConfigsRequest) -> Any:
        (resource,) = request.resources
        (change,) = resource.configs
        self.altered.append((resource.resource_name, change.name, change.value))
        error = ErrorCode.none
        if int(change.config_operation) > 3:
            error = ErrorCode.unknown_server_error if self.falls else ErrorCode.invalid_request
            self.epoch += self.falls
        result = alter_response.AlterConfigsResourceResponse(
            error_code=error,
            error_message=None,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        return alter_response.IncrementalAlterConfigsResponse(
            throttle_time=ZERO, responses=(result,)
        )

    def _metadata(self, node: int, request: metadata_request.MetadataRequest) -> Any:
        topics = tuple(self._topic(node, str(topic.name)) for topic in request.topics or ())
        return metadata_response.MetadataResponse(
            throttle_time=ZERO,
            brokers=(),
            cluster_id="fake",
            controller_id=BrokerId(1),
            topics=topics,
        )

    def _topic(self, node: int, name: str) -> metadata_response.MetadataResponseTopic:
        known = (
            0
            if node in self.deaf
            else self.topics.get(name, 1 if name in self.ghosts.get(node, ()) else 0)
        )
        partitions = tuple(
            metadata_response.MetadataResponsePartition(
                error_code=ErrorCode.none,
                partition_index=i32(index),
                leader_id=BrokerId(self.logs[name, index].leader),
                leader_epoch=i32(self.logs[name, index].epoch),
                replica_nodes=(),
                isr_nodes=(),
                offline_replicas=(),
            )
            for index in range(known)
        )
        error = ErrorCode.none if partitions else ErrorCode.unknown_topic_or_partition
        return metadata_response.MetadataResponseTopic(
            error_code=error,
            name=TopicName(name),
            topic_id=uuid.UUID(int=5),
            is_internal=False,
            partitions=partitions,
            topic_authorized_operations=i32(0),
        )

    def _create(self, request: create_request.CreateTopicsRequest) -> Any:
        (topic,) = request.topics
        error = self.on_create or ErrorCode.none
        if self.on_create is None and topic.name in self.topics:
            error = ErrorCode.topic_already_exists
        elif error is ErrorCode.none:
            self.add_topic(str(topic.name), int(topic.num_partitions))
        result = create_response.CreatableTopicResult(
            name=topic.name,
            topic_id=None,
            error_code=error,
            error_message=None,
            configs=(),
        )
        return create_response.CreateTopicsResponse(throttle_time=ZERO, topics=(result,))

    def _delete(self, request: delete_request.DeleteTopicsRequest) -> Any:
        (topic,) = request.topics
        there = self.topics.pop(str(topic.name), None) is not None
        error = ErrorCode.none if there else ErrorCode.unknown_topic_or_partition
        result = delete_response.DeletableTopicResult(
            name=topic.name, topic_id=None, error_code=error, error_message=None
        )
        return delete_response.DeleteTopicsResponse(throttle_time=ZERO, responses=(result,))


def _led_in(epoch: int) -> quorum_response.DescribeQuorumResponse:
    """By node 1, without its voters."""
    partition = quorum_response.PartitionData(
        partition_index=i32(0),
        error_code=ErrorCode.none,
        error_message=None,
        leader_id=BrokerId(1),
        leader_epoch=i32(epoch),
        high_watermark=i64(0),
        current_voters=(),
        observers=(),
    )
    topic = quorum_response.TopicData(
        topic_name=TopicName("__cluster_metadata"), partitions=(partition,)
    )
    return quorum_response.DescribeQuorumResponse(
        error_code=ErrorCode.none, error_message=None, topics=(topic,), nodes=()
    )
