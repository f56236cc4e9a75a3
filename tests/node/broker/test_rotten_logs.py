"""A batch of a partition's log rots while its broker runs: who is told what, and what goes on."""

from uuid import UUID

import pytest

from node.effects import SaveCleanShutdown, SendResponse, Trace
from node.errors import ErrorCode
from node.ids import LogId, Offset
from node.storage.disk import CorruptLog
from node.wire.apis import Request, Response
from node.wire.broker_frames import decode_response, encode_request
from node.wire.entities import TopicPartition
from node.wire.offsets import ListOffsetsRequest, ListOffsetsResponse, SoughtOffset
from node.wire.partition_fetch import (
    FetchedPartition,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.produce import ProducedPartition, ProduceRequest, ProduceResponse
from tests.support.batches import timed_batch
from tests.support.stepped_broker import FIRST_TOPIC, SteppedBroker

ROTTEN, SOUND = (
    TopicPartition(name=f"topic-{number}", id=UUID(int=FIRST_TOPIC.int + number), index=0)
    for number in range(2)
)
LOG = LogId("topic-0-0")
PATH = f"{LOG}/00000000000000000000.log"
BATCHES, ROT_AT = 300, 100  # in the middle of what the index has entries of
_VERSION = 12  # the last one that names topics


class Client:
    def __init__(self) -> None:
        self.broker = SteppedBroker(partitions=1)
        self.told: list[str] = []
        for time_ms in range(BATCHES):
            assert self.produced(ROTTEN, time_ms) is ErrorCode.NONE
        assert self.produced(SOUND) is ErrorCode.NONE
        self.size = len(self.broker.replicas[LOG].read(Offset(0), 1))

    def rot(self) -> None:
        """The header of a batch, in the file that the broker has open."""
        disk, (segment,) = self.broker.disk, self.broker.replicas[LOG].segments
        data, at = disk.read_all(PATH), ROT_AT * self.size
        disk.replace(PATH, data[:at] + bytes(self.size) + data[at + self.size :])
        segment.file = disk.open(PATH)

    def ask(self, request: Request, version: int | None = None) -> Response:
        header, frame = encode_request(request, correlation_id=1, client_id="c", version=version)
        done = self.broker.serve(frame)
        assert isinstance(done, SendResponse)
        traces = (each for each in self.broker.effects if isinstance(each, Trace))
        self.told += [str(each.fields["reason"]) for each in traces if each.event == "n.rotten"]
        return decode_response(header, done.frame)

    def produced(self, at: TopicPartition, time_ms: int = 0) -> ErrorCode:
        batch = timed_batch(time_ms)
        request = ProduceRequest(
            acks=1, timeout_ms=1000, partitions=(ProducedPartition(partition=at, records=batch),)
        )
        answer = self.ask(request)
        assert isinstance(answer, ProduceResponse)
        return answer.results[0].error

    def fetched(self, offset: int) -> list[tuple[ErrorCode, int]]:
        """Of the one from there, and of the other from its beginning: what is told, and how many
        batches."""
        request = PartitionsFetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=1 << 20,
            partitions=(
                FetchedPartition(partition=ROTTEN, offset=offset, max_bytes=self.size),
                FetchedPartition(partition=SOUND, offset=0, max_bytes=self.size),
            ),
        )
        answer = self.ask(request, _VERSION)
        assert isinstance(answer, PartitionsFetchResponse)
        return [(each.error, len(each.records) // self.size) for each in answer.partitions]

    def at_time(self, time_ms: int) -> ErrorCode:
        sought = (SoughtOffset(partition=ROTTEN, timestamp_ms=time_ms),)
        answer = self.ask(ListOffsetsRequest(partitions=sought))
        assert isinstance(answer, ListOffsetsResponse)
        return answer.partitions[0].error


@pytest.fixture
def client() -> Client:
    return Client()


def test_a_fetch_of_what_is_damaged_is_refused_and_the_rest_is_served(client: Client) -> None:
    """As by `ReplicaManager.readFromLog`, for whatever a read throws."""
    client.rot()
    whole, refused = (ErrorCode.NONE, 1), (ErrorCode.CORRUPT_MESSAGE, 0)
    assert client.fetched(0) == [whole, whole]
    assert client.told == []
    for offset in (ROT_AT, ROT_AT + 1, ROT_AT):
        assert client.fetched(offset) == [refused, whole]
    assert client.fetched(BATCHES - 1) == [whole, whole]
    (told,) = client.told
    assert PATH in told
    assert "start it again" in told


def test_a_time_that_is_looked_for_there_is_refused(client: Client) -> None:
    client.rot()
    assert client.at_time(0) is ErrorCode.NONE
    assert client.at_time(ROT_AT + 1) is ErrorCode.CORRUPT_MESSAGE
    assert len(client.told) == 1


def test_nobody_appends_where_it_is_not_known_what_is_in_the_log(client: Client) -> None:
    """As where it had rotted, and was cut, before it began to lead."""
    client.rot()
    states = client.broker.replicas[LOG].states
    states.known, states.damage = None, CorruptLog(f"{PATH} is damaged")
    assert client.produced(ROTTEN) is ErrorCode.KAFKA_STORAGE_ERROR
    assert client.produced(SOUND) is ErrorCode.NONE


@pytest.mark.parametrize("is_rotten", [True, False])
def test_a_clean_shutdown_does_not_vouch_for_it(client: Client, is_rotten: bool) -> None:
    """So its next start looks, and cuts it."""
    if is_rotten:
        client.rot()
    client.fetched(ROT_AT)
    effects = client.broker.shut_down()
    assert any(isinstance(each, SaveCleanShutdown) for each in effects) is not is_rotten
