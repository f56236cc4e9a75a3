"""A replica of a partition that leads, and a controller at hand."""

from dataclasses import replace
from uuid import UUID

from node.broker.replicas.isr import Proposal
from node.broker.replicas.replica import Replica
from node.controller.image import Partition
from node.errors import ErrorCode
from node.ids import ZERO_UUID, Epoch, NodeId, Offset
from node.storage.checkpoints import LeaderEpochs
from node.wire.alter_partition import PartitionResult

LAG = 30_000
ME, ONE, TWO = NodeId(0), NodeId(1), NodeId(2)


class LedPartition:
    """The leader 0 of a partition, and a controller that does what the test tells it."""

    def __init__(
        self, isr: tuple[int, ...] = (0, 1, 2), min_isr: int = 2, replicas: int = 3, end: int = 0
    ) -> None:
        self.now = 1_000_000
        self.inactive: set[int] = set()
        self.epochs = {broker: 100 + broker for broker in range(replicas)}
        self.min_isr = min_isr
        self.replica = Replica(
            ME,
            end=Offset(end),
            epochs=LeaderEpochs([Epoch(1)], [Offset(0)]) if end else LeaderEpochs(),
            high_watermark=Offset(0),
            may_join=self.may_join,
            lag_ns=LAG,
        )
        self.state = Partition(
            replicas=tuple(range(replicas)),
            isr=isr,
            leader=0,
            leader_epoch=5,
            partition_epoch=10,
            directories=(ZERO_UUID,) * replicas,
        )
        self.update()

    def may_join(self, broker: int, epoch: int) -> bool:
        return broker not in self.inactive and epoch in (-1, self.epochs[broker])

    def update(self, **changes: object) -> None:
        if changes:
            changes = {"partition_epoch": self.state.partition_epoch + 1, **changes}
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]
        self.replica.update(self.state, self.min_isr, self.now)

    def append(self, count: int = 1) -> None:
        end = self.replica.end
        self.replica.appended(Epoch(5), end, Offset(end + count), self.now)

    def fetch(self, broker: int, offset: int) -> Proposal | None:
        self.now += 1
        epoch = self.epochs[broker]
        return self.replica.fetched_by(NodeId(broker), Offset(offset), epoch, self.now)

    def answer(self, proposal: Proposal, error: ErrorCode = ErrorCode.NONE) -> bool:
        done = error is ErrorCode.NONE
        result = PartitionResult(
            topic=UUID(int=9),
            index=0,
            error=error,
            leader=ME,
            leader_epoch=proposal.leader_epoch,
            partition_epoch=proposal.partition_epoch + 1 if done else 0,
            isr=proposal.brokers if done else (),
        )
        return self.replica.on_response(proposal, result, self.now)

    @property
    def hwm(self) -> int:
        return self.replica.high_watermark

    @property
    def maximal(self) -> frozenset[int]:
        assert self.replica.leading is not None
        return self.replica.leading.isr.maximal
