"""Brokers of an active controller with an unclean recovery manager, and its questions to them."""

from dataclasses import replace

from node.config import RecoveryStrategy
from node.controller.partitions.unclean_recovery import UncleanRecovery
from node.effects import DisconnectPeer
from node.ids import MS, Endpoint
from node.outbox import Outbox, RequestTo
from node.records.metadata import PartitionChangeRecord
from node.wire.entities import TopicPartition
from node.wire.offsets import ReplicaLogInfo, ReplicaLogsRequest, ReplicaLogsResponse
from node.wire.registration import BrokerRegistrationResponse, RegisteredListener
from tests.support.brokers import Brokers

REQUEST_MS, TIMEOUT_MS = 2000, 60_000


class Recovering(Brokers):
    """`logs`: what each broker's replica of t-0 holds: the epoch of its last record, and its end.
    `asked`: the requests that are not answered yet, by broker."""

    def __init__(
        self,
        *,
        manager: bool = True,
        strategy: RecoveryStrategy | None = None,
        unclean: bool = False,
    ) -> None:
        super().__init__()
        self.settings = replace(
            self.settings,
            recovery_manager=manager,
            recovery_strategy=strategy,
            recovery_ms=TIMEOUT_MS,
            unclean=unclean,
        )
        self.logs: dict[int, tuple[int, int]] = {}
        self.asked: dict[int, RequestTo] = {}
        self.outbox = Outbox()
        self.recovery = UncleanRecovery(REQUEST_MS, TIMEOUT_MS, self.outbox)

    def register(
        self, broker: int, *, clean: bool = False, **changes: object
    ) -> BrokerRegistrationResponse:
        at = Endpoint(name="PLAINTEXT", host=f"node-{broker}", port=9092)
        listeners = (RegisteredListener(endpoint=at),)
        return super().register(broker, clean=clean, listeners=listeners, **changes)

    def fail_over(self) -> None:
        super().fail_over()
        self.image = self.image.copy()
        self.recovery.hang_up()
        self.recovery = UncleanRecovery(REQUEST_MS, TIMEOUT_MS, self.outbox)
        self.asked.clear()

    # --- the manager ---

    def poll(self) -> list[PartitionChangeRecord]:
        """What it decides now; the questions that it asks wait in `asked`."""
        self.recovery.note()
        records = self.recovery.poll(self.context())
        self.apply(records)
        for output in self.outbox.drain():
            if isinstance(output, RequestTo):
                self.asked[self.broker_of(output.endpoint)] = output
            elif isinstance(output, DisconnectPeer):
                gone = [each for each, ask in self.asked.items() if ask.channel == output.channel]
                for each in gone:
                    del self.asked[each]
        return records

    def settle(self) -> None:
        """All that are asked answer, until none is."""
        self.poll()
        while self.asked:
            for broker in sorted(self.asked):
                self.answer(broker)
            self.poll()

    def pass_quietly(self, milliseconds: int) -> None:
        """No session ends."""
        self.now_ns += milliseconds * MS
        for each in self.image.brokers.all():
            if not each.fenced:
                self.sessions.heard(self.image, each.broker_id, self.offset, self.now_ns)

    @staticmethod
    def broker_of(endpoint: Endpoint) -> int:
        return int(endpoint.host.removeprefix("node-"))

    def answer(
        self,
        broker: int,
        *,
        ask: RequestTo | None = None,
        broker_epoch: int | None = None,
        leader_epoch: int | None = None,
    ) -> None:
        """It answers what it was asked (or `ask`), by `logs`, in its present life and as one who
        knows the present leader epoch, if no other is given."""
        sent = self.asked.pop(broker) if ask is None else ask
        assert isinstance(sent.request, ReplicaLogsRequest)
        response = ReplicaLogsResponse(
            broker_epoch=self.epoch(broker) if broker_epoch is None else broker_epoch,
            logs=tuple(self._info(broker, each, leader_epoch) for each in sent.request.partitions),
        )
        self.recovery.on_response(sent.channel, sent.correlation_id, response, self.now_ns)

    def _info(self, broker: int, at: TopicPartition, leader_epoch: int | None) -> ReplicaLogInfo:
        found = self.image.topics.partition(at.id, at.index)
        assert found is not None
        last_epoch, end = self.logs.get(broker, (-1, 0))
        known = found.leader_epoch if leader_epoch is None else leader_epoch
        return ReplicaLogInfo(partition=at, last_epoch=last_epoch, leader_epoch=known, end=end)
