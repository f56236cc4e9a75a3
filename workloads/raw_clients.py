"""The raw driver as a client library, which a workload uses by default."""

from workloads.connection import Driver
from workloads.log_driver import Sending
from workloads.partition_leaders import PartitionLeaders
from workloads.raw_consumer import RawConsumer
from workloads.raw_producer import Patience, RawProducer


class RawClients:
    """Implements `LogClients`."""

    most_records = 1 << 16

    def __init__(
        self, driver: Driver, leaders: PartitionLeaders, patience: Patience, *, most_bytes: int
    ) -> None:
        self._driver = driver
        self._leaders = leaders
        self._patience = patience
        self._most_bytes = most_bytes

    def producer(self, sending: Sending) -> RawProducer:
        return RawProducer(self._driver, self._leaders, sending, self._patience)

    def consumer(self) -> RawConsumer:
        return RawConsumer(
            self._driver,
            self._leaders,
            timeout_s=self._patience.request_s,
            most_bytes=self._most_bytes,
        )

    async def close(self) -> None:
        """The caller that made `leaders` closes them."""
