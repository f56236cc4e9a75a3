"""What is saved of high watermarks never speaks of records that another leader's log does not have.

A broker that lost its power takes what is saved for committed, as far as its log reaches.
"""

from collections.abc import Callable, Iterator, Mapping

from node.effects import Effect, RestartLog, SaveHighWatermarks, TruncateLog
from node.ids import ChannelId, Epoch, LogId, LogPosition, NodeId, Now, Offset
from node.records.metadata import MetadataRecord, TopicRecord
from node.storage.checkpoints import HIGH_WATERMARKS, load_offsets
from node.wire.entities import TopicPartition
from node.wire.partition_fetch import FetchedRecords, PartitionsFetchResponse
from tests.support.batches import batch
from tests.support.stepped_broker import FIRST_TOPIC, ME, SteppedBroker, partition_of, registered

LEADER = NodeId(5)
AT = TopicPartition(id=FIRST_TOPIC, index=0)
LOG = LogId("t-0")


def followed() -> Iterator[MetadataRecord]:
    for broker in (ME, LEADER):
        yield registered(broker)
    yield TopicRecord(name="t", topic_id=FIRST_TOPIC)
    yield partition_of(FIRST_TOPIC, 0, (LEADER, ME))


class Follower:
    def __init__(self) -> None:
        self.broker = SteppedBroker(told=followed())

    def told(self, records: FetchedRecords) -> list[Effect]:
        """By its leader, as the answer to the Fetch that is out. What it does then, and did."""
        core = self.broker.node.core
        fetcher = core.role._fetchers._fetchers[LEADER]
        self._until(lambda: fetcher.is_out)
        now = Now(self.broker.now_ns, self.broker.now_ns)
        response = PartitionsFetchResponse(partitions=(records,))
        channel = ChannelId(-1000 - LEADER)
        effects = self.broker.node.encode(
            core.on_response(channel, fetcher.correlation_id, response, now)
        )
        self.broker._perform(effects)
        return effects

    def fetched(self, base: int, end: int, *, start: int = 0) -> None:
        """Records, all of which are committed; the leader's log begins at `start`."""
        records = b"".join(batch(offset, 0) for offset in range(base, end))
        told = FetchedRecords(partition=AT, high_watermark=end, log_start=start, records=records)
        self.told(told)

    def until_saved(self) -> None:
        self.broker.effects.clear()
        self._until(
            lambda: any(isinstance(each, SaveHighWatermarks) for each in self.broker.effects)
        )

    def _until(self, condition: Callable[[], bool]) -> None:
        for _ in range(100):
            if condition():
                return
            self.broker.elapse()
        raise AssertionError("it never comes to that")

    @property
    def saved(self) -> Mapping[LogId, Offset]:
        return load_offsets(self.broker.disk, HIGH_WATERMARKS)


def test_it_goes_down_before_a_log_is_cut_below_it() -> None:
    """By a leader that was elected uncleanly."""
    follower = Follower()
    follower.fetched(0, 5)
    follower.until_saved()
    assert follower.saved == {LOG: 5}
    parted = LogPosition(Epoch(0), Offset(2))
    effects = follower.told(FetchedRecords(partition=AT, diverging=parted))
    done = [each for each in effects if isinstance(each, SaveHighWatermarks | TruncateLog)]
    cut = TruncateLog(log=LOG, end=Offset(2))
    assert done == [SaveHighWatermarks(offsets={LOG: Offset(2)}), cut]
    assert follower.saved == {LOG: 2}


def test_a_cut_above_it_writes_nothing() -> None:
    follower = Follower()
    follower.fetched(0, 2)
    follower.until_saved()
    follower.fetched(2, 5)
    parted = LogPosition(Epoch(0), Offset(3))
    effects = follower.told(FetchedRecords(partition=AT, diverging=parted))
    assert any(isinstance(each, TruncateLog) for each in effects)
    assert not any(isinstance(each, SaveHighWatermarks) for each in effects)
    assert follower.saved == {LOG: 2}


def test_it_is_saved_again_of_a_log_that_began_anew() -> None:
    """Also where that has come as far as the one before."""
    follower = Follower()
    follower.fetched(0, 5, start=3)
    follower.until_saved()
    assert follower.saved == {LOG: 5}
    parted = LogPosition(Epoch(0), Offset(1))
    effects = follower.told(FetchedRecords(partition=AT, diverging=parted))
    assert RestartLog(log=LOG, start=Offset(1)) in effects
    assert follower.saved == {LOG: 1}
    follower.fetched(1, 5)
    follower.until_saved()
    assert follower.saved == {LOG: 5}
