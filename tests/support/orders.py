"""A topic of one partition on three brokers, in one process and in virtual time."""

from collections.abc import Sequence

from node.broker.lifecycle import LifeState
from node.config import BrokerRole, BrokerSettings, SnapshotSettings
from node.controller.image import Partition
from node.errors import ErrorCode
from node.ids import Epoch, LogId, NodeId, Offset
from node.records.batch import encode_batch, split_batches
from node.storage.partition_log import PartitionLog
from node.wire.api_versions import FeatureUpdate, UpdateFeaturesRequest
from node.wire.entities import TopicPartition
from node.wire.partition_fetch import (
    FetchedPartition,
    FetchedRecords,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.produce import ProducedPartition, ProduceRequest, ProduceResponse, ProduceResult
from node.wire.topic_changes import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    NewTopic,
    TopicSetting,
)
from node.wire.topic_metadata import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    PartitionDescription,
)
from tests.support.broker_world import BROKER_ROLE, CONTROLLER, BrokerWorld

IDS = (4, 5, 6)
ELR_ON = FeatureUpdate(name="eligible.leader.replicas.version", level=1)


class Orders:
    """A topic of one partition, its three replicas, and its clients."""

    def __init__(
        self,
        *,
        elr: bool = True,
        min_isr: int = 2,
        seed: int = 0,
        role: BrokerRole = BROKER_ROLE,
        snapshots: SnapshotSettings | None = None,
        spares: tuple[int, ...] = (),
        second: tuple[int, ...] = (),
        settings: BrokerSettings | None = None,
    ) -> None:
        self.world = BrokerWorld(
            IDS,
            seed,
            role=role,
            snapshots=snapshots,
            spares=spares,
            second=second,
            settings=settings,
        )
        self.sent = 0
        self.acknowledged: list[int] = []
        self.world.until(lambda: all(map(self._is_active, IDS)), "all brokers are active")
        if elr:
            self._make(UpdateFeaturesRequest(updates=(ELR_ON,)))
        made = self._make(
            CreateTopicsRequest(
                topics=(
                    NewTopic(
                        name="orders",
                        partitions=1,
                        replication=3,
                        configs=(TopicSetting(name="min.insync.replicas", value=str(min_isr)),),
                    ),
                )
            )
        )
        assert isinstance(made, CreateTopicsResponse)
        assert made.results[0].error is ErrorCode.NONE
        self.at = TopicPartition(name="orders", id=made.results[0].id, index=0)
        self.world.until(lambda: set(self.state.isr) == set(IDS), "all are in the ISR")

    def _is_active(self, broker: int) -> bool:
        life = self.world.machines[CONTROLLER].life
        assert life is not None
        return life.node.core.role.controller.image.brokers.is_active(broker)  # type: ignore[union-attr]

    def _make(self, request: CreateTopicsRequest | UpdateFeaturesRequest) -> object:
        answer = self.world.ask(CONTROLLER, request)
        assert answer is not None
        return answer

    @property
    def state(self) -> Partition:
        life = self.world.machines[CONTROLLER].life
        assert life is not None
        image = life.node.core.role.controller.image  # type: ignore[union-attr]
        found = image.topics.partition(self.at.id, 0)
        assert found is not None
        return found

    def produce(
        self, acks: int = -1, timeout_ms: int = 2000, records: int = 1
    ) -> ProduceResult | None:
        """One batch, of the leader as the controller knows it."""
        number, self.sent = self.sent, self.sent + records
        batch = encode_batch(
            [(None, str(number + position).encode()) for position in range(records)],
            base_offset=Offset(0),
            leader_epoch=Epoch(-1),
            timestamp_ms=number,
        )
        result = self.send(batch, acks, timeout_ms)
        if result is not None and result.error is ErrorCode.NONE and acks == -1:
            self.acknowledged += range(number, self.sent)
        return result

    def send(self, batch: bytes, acks: int = -1, timeout_ms: int = 2000) -> ProduceResult | None:
        """To the leader as the controller knows it."""
        request = ProduceRequest(
            acks=acks,
            timeout_ms=timeout_ms,
            partitions=(ProducedPartition(partition=self.at, records=batch),),
        )
        if self.state.leader < 0:
            return None
        answer = self.world.ask(self.state.leader, request, timeout_ms + 1000)
        return answer.results[0] if isinstance(answer, ProduceResponse) else None

    def produced(self, count: int) -> None:
        for _ in range(count):
            result = self.produce()
            assert result is not None
            assert result.error is ErrorCode.NONE

    def fetch(self, offset: int = 0) -> FetchedRecords:
        answer = self.world.ask(self.state.leader, self.fetching(offset))
        assert isinstance(answer, PartitionsFetchResponse)
        return answer.partitions[0]

    def fetching(self, offset: int = 0, *, wait_ms: int = 0) -> PartitionsFetchRequest:
        """As a consumer does."""
        asked = FetchedPartition(partition=self.at, offset=offset, max_bytes=1 << 20)
        return PartitionsFetchRequest(
            max_wait_ms=wait_ms, min_bytes=min(wait_ms, 1), max_bytes=1 << 20, partitions=(asked,)
        )

    def read(self, offset: int = 0) -> list[int]:
        batches = split_batches(self.fetch(offset).records)
        return [int(value) for batch in batches for value in batch.values() if value]

    def described(self, broker: int) -> PartitionDescription:
        """As that broker tells it."""
        answer = self.world.ask(broker, DescribeTopicPartitionsRequest(limit=1))
        assert isinstance(answer, DescribeTopicPartitionsResponse)
        assert [each.name for each in answer.topics] == [self.at.name]
        return answer.topics[0].partitions[0]

    def whole(self) -> None:
        self.world.until(lambda: set(self.state.isr) == set(IDS), "all are in the ISR again")

    def until_led_by_another(self, broker: int) -> None:
        self.world.until(lambda: self.state.leader not in (-1, broker), "another leads")

    def restart(self, broker: int) -> None:
        """Until the controller knows that it is another life."""
        self.world.start(broker)
        lifecycle = self.world.machines[NodeId(broker)].broker.lifecycle
        self.world.until(lambda: lifecycle.state is LifeState.RUNNING, f"{broker} runs")

    def isolate(self, broker: int) -> None:
        others = {each for each in (CONTROLLER, *IDS) if each != broker}
        self.world.cut |= {(broker, other) for other in others}
        self.world.cut |= {(other, broker) for other in others}

    def others(self, *ids: int) -> list[int]:
        return [broker for broker in IDS if broker not in ids]

    def log(self, broker: int) -> PartitionLog:
        replicas = self.world.machines[NodeId(broker)].life.replicas  # type: ignore[union-attr]
        assert replicas is not None
        return replicas[LogId("orders-0")]

    def logs(self) -> Sequence[bytes]:
        """From where they begin."""
        return [log.read(log.start, 1 << 30) for log in map(self.log, IDS)]
