"""The controller on top of a quorum, as far as the stories (tests/stories) do not tell of it."""

from node import limits
from node.config import BrokerSettings
from node.controller.controller import Accumulator, encode_all
from node.effects import AppendBatches, FlushLog
from node.errors import ErrorCode
from node.ids import ConnectionId, Epoch, Offset
from node.records.batch import encode_batch, split_batches
from node.records.metadata import (
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    decode_metadata,
    encode_metadata,
)
from node.wire.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigChange,
    ResourceChange,
)
from node.wire.fetch import FetchResponse
from node.wire.topic_changes import CreateTopicsRequest, CreateTopicsResponse, NewTopic
from node.wire.topic_metadata import DescribeClusterRequest, DescribeClusterResponse
from tests.support.memory_log import BOOTSTRAP, MemoryLog
from tests.support.registers import write_request
from tests.support.rig import QUIET, Rig, batch, fetch

VOTER_CONNECTION = 20


def catch_up(rig: Rig, connection: int = VOTER_CONNECTION) -> None:
    """Node 2 fetches with all that the leader has."""
    end = rig.log.end()
    epoch = rig.role.epoch
    rig.request(fetch(epoch=epoch, offset=end.offset, last_epoch=end.epoch), connection)


def active() -> Rig:
    """A leader whose bootstrap records are committed."""
    rig = Rig()
    rig.become_leader()
    catch_up(rig)
    assert rig.core.role.controller.is_active
    catch_up(rig, VOTER_CONNECTION + 1)
    return rig


def records(rig: Rig) -> list[object]:
    return [
        decode_metadata(record.value)
        for batch in split_batches(rig.log.read(rig.log.start(), 10**6))
        if not batch.header.is_control
        for record in batch.records()
    ]


def written(rig: Rig, connection: int) -> AlterConfigsResponse:
    (answer,) = rig.answered(connection)
    assert isinstance(answer, AlterConfigsResponse)
    return answer


def test_bootstrap_records_are_written_once_in_the_life_of_a_log() -> None:
    rig = active()
    again = Rig(log=rig.log, election=rig.election)
    again.become_leader()
    catch_up(again)
    assert again.core.role.controller.is_active
    assert sum(isinstance(record, FeatureLevelRecord) for record in records(again)) == 1


ELR_ON = FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1)


def minimum(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=4, resource_name=broker, name="min.insync.replicas", value=value
    )


def test_eligible_replicas_by_format_have_one_minimum_for_all_brokers() -> None:
    """KAFKA-16540, as where an operator turns them on: leaders would go by their own files."""
    rig = Rig(bootstrap=(*BOOTSTRAP, ELR_ON), brokers=BrokerSettings(min_isr=2))
    rig.become_leader()
    catch_up(rig)
    catch_up(rig, VOTER_CONNECTION + 1)
    assert [each for each in records(rig) if isinstance(each, ConfigRecord)] == [minimum("", "2")]
    assert rig.core.role.image.config((4, "")) == {"min.insync.replicas": "2"}


def test_a_log_with_eligible_replicas_and_minimums_of_brokers_is_mended_by_its_next_leader() -> (
    None
):
    log = MemoryLog()
    written_before: tuple[MetadataRecord, ...] = (*BOOTSTRAP, ELR_ON, minimum("7", "3"))
    for base, each in enumerate(written_before):
        log.append(batch(base, 1, text=encode_metadata(each)))
    log.flush()
    rig = Rig(log=log, brokers=BrokerSettings(min_isr=2))
    rig.become_leader()
    catch_up(rig)
    told = [each for each in records(rig) if isinstance(each, ConfigRecord)]
    assert told == [minimum("7", "3"), minimum("", "2"), minimum("7", None)]


def test_writes_that_are_ready_together_share_a_batch_and_a_flush() -> None:
    rig = active()  # without linger
    for client in range(5):
        request, on = write_request("a", 1000 + client), ConnectionId(100 + client)
        assert rig.core.on_request(on, "EXTERNAL", request, rig.now()) == []
    assert rig.core.next_deadline_ns() <= rig.now_ns
    rig.pass_ms(0)
    assert sum(isinstance(output, AppendBatches) for output in rig.outputs) == 1
    assert sum(isinstance(output, FlushLog) for output in rig.outputs) == 1
    catch_up(rig, 30)
    assert all(len(rig.answered(100 + client)) == 1 for client in range(5))


def test_validation_writes_nothing() -> None:
    rig = active()
    end = rig.log.end()
    request = write_request("a", 1000)
    dry = AlterConfigsRequest(resources=request.resources, validate_only=True)
    assert isinstance(rig.request(dry, 2), AlterConfigsResponse)
    bad = rig.request(write_request("a", 5), 3)
    assert isinstance(bad, AlterConfigsResponse)
    assert bad.results[0].error == ErrorCode.INVALID_CONFIG
    rig.pass_ms(0)
    assert rig.log.end() == end


def test_one_bad_resource_does_not_keep_the_others_from_succeeding() -> None:
    rig = active()
    both = (*write_request("a", 5).resources, *write_request("b", 1000).resources)
    rig.request(AlterConfigsRequest(resources=(*both, both[1]), validate_only=False), 2)
    catch_up(rig, 30)
    results = written(rig, 2).results
    assert [result.error for result in results] == [
        ErrorCode.INVALID_CONFIG,
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    ]


def test_topics_cannot_be_created_without_brokers() -> None:
    rig = active()
    answer = rig.request(CreateTopicsRequest(topics=(NewTopic(name="t"), NewTopic(name="u"))), 2)
    assert isinstance(answer, CreateTopicsResponse)
    assert [result.error for result in answer.results] == [ErrorCode.INVALID_REPLICATION_FACTOR] * 2
    standby = Rig()
    standby.follow(leader=2)
    refused = standby.request(CreateTopicsRequest(topics=(NewTopic(name="t"),)), 2)
    assert isinstance(refused, CreateTopicsResponse)
    assert refused.results[0].error == ErrorCode.NOT_CONTROLLER


def test_describe_cluster_names_the_controllers() -> None:
    rig = active()
    answer = rig.request(DescribeClusterRequest(endpoint_type=2), 2)
    assert isinstance(answer, DescribeClusterResponse)
    assert [(m.id, m.host, m.port) for m in answer.members] == [
        (1, "node-1", 9101),
        (2, "node-2", 9102),
        (3, "node-3", 9103),
    ]
    assert answer.controller == 1
    brokers = rig.request(DescribeClusterRequest(endpoint_type=1), 3)
    assert isinstance(brokers, DescribeClusterResponse)
    assert brokers.members == ()
    nonsense = rig.request(DescribeClusterRequest(endpoint_type=7), 4)
    assert isinstance(nonsense, DescribeClusterResponse)
    assert nonsense.error == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE


def test_a_restarted_node_replays_what_is_committed_and_no_more() -> None:
    rig = active()
    rig.request(write_request("a", 1000), 2)
    catch_up(rig, 30)
    rig.request(write_request("a", 2000), 3)
    again = Rig(log=rig.log, election=rig.election, timeouts=QUIET)
    assert again.core.role.controller.image.config((16, "a")) == {}
    again.become_leader()
    catch_up(again)
    assert again.core.role.controller.image.config((16, "a")) == {"interval.ms": "2000"}


# --- batches are bounded in bytes ---


def large_write(name: str, megabytes: int) -> AlterConfigsRequest:
    """As many resources with a value of 32,767 bytes as make up so much."""
    value = "x" * limits.MAX_STRING_BYTES
    return AlterConfigsRequest(
        resources=tuple(
            ResourceChange(
                type=16,
                name=f"{name}-{n}",
                changes=(ConfigChange(name="metrics", operation=0, value=value),),
            )
            for n in range(megabytes * 32)
        ),
        validate_only=False,
    )


def test_writes_of_a_moment_share_batches_that_every_follower_can_fetch() -> None:
    rig = active()
    end = rig.log.end()
    rig.flushes = False
    for connection in range(30, 34):
        rig.request(large_write(f"c{connection}", 3), connection)
    rig.flushes = True
    rig.flush()
    batches = list(split_batches(rig.log.read(end.offset, 10**9)))
    assert sum(batch.header.record_count for batch in batches) == 4 * 96
    assert all(len(batch.data) <= limits.MAX_BATCH_BYTES for batch in batches)
    answer = rig.request(
        fetch(epoch=1, offset=end.offset, last_epoch=1, max_bytes=2**31 - 1), VOTER_CONNECTION + 2
    )
    assert isinstance(answer, FetchResponse)
    assert 0 < len(answer.records) <= limits.MAX_FETCH_BYTES
    catch_up(rig, VOTER_CONNECTION + 3)
    assert all(written(rig, connection).results[0].error == 0 for connection in range(30, 34))


def test_what_gathers_in_the_linger_is_cut_into_batches() -> None:
    linger = Accumulator(linger_ns=10**9)
    for _ in range(5):
        linger.add(encode_all([config("x" * limits.MAX_STRING_BYTES)] * 100, 30), mono_ns=7)
    assert linger.deadline_ns == 7
    taken = linger.take()
    assert [len(each.records) for each in taken] == [200, 200, 100]
    assert linger.take() == []


def test_the_size_of_a_batch_is_never_underrated() -> None:
    for value, count in (("", 1), ("x" * 100, 9000), ("x" * limits.MAX_STRING_BYTES, 3)):
        encoded = encode_all([config(value)] * count, 30)
        data = encode_batch(
            [(None, each) for each in encoded.values],
            base_offset=Offset(2**62),
            leader_epoch=Epoch(1),
            timestamp_ms=1,
        )
        assert len(data) <= encoded.size


def test_a_request_that_fits_no_batch_is_refused_and_leaves_nothing() -> None:
    rig = active()
    end = rig.log.end()
    # Many short records: the values are small, what they are wrapped in is not.
    name = "n" * 2000
    changes = tuple(
        ResourceChange(
            type=16,
            name=f"{name}{n}",
            changes=(ConfigChange(name="interval.ms", operation=0, value="1000"),),
        )
        for n in range(4500)
    )
    for validate_only in (True, False):
        request = AlterConfigsRequest(resources=changes, validate_only=validate_only)
        answer = rig.request(request, 40)
        assert isinstance(answer, AlterConfigsResponse)
        assert {result.error for result in answer.results} == {ErrorCode.MESSAGE_TOO_LARGE}
    assert rig.log.end() == end
    assert rig.core.role.controller.image.config((16, f"{name}0")) == {}


def config(value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=16, resource_name="r", name="metrics", value=value)
