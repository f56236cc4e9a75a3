"""The coordinator of a group: any broker is asked for it, another one after an error."""

from collections.abc import Callable

from workloads.broker_connections import Brokers
from workloads.connection import Driver, LostError, NotSentError, Response
from workloads.wire.coordinator import KeyType, find_coordinator, read_coordinator
from workloads.wire.header import Api


class GroupCoordinator:
    """The view of one client. `node` is None until a broker has answered."""

    def __init__(self, driver: Driver, group: str, timeout_s: float) -> None:
        self.node: int | None = None
        self._driver = driver
        self._group = group
        self._brokers = Brokers(driver, timeout_s)
        self._turn = 0

    async def find(self) -> None:
        """Look it up unless it is known; without an answer it stays unknown."""
        if self.node is not None:
            return
        nodes = self._driver.nodes
        node = nodes[self._turn % len(nodes)]
        self._turn += 1
        body = find_coordinator(self._group, KeyType.GROUP)
        try:
            found = await self._brokers.send(node, Api.FIND_COORDINATOR, body, read_coordinator)
        except (NotSentError, LostError):
            return
        if found.error == 0:
            self.node = found.node

    async def send(self, api: Api, body: bytes, read: Callable[[bytes], Response]) -> Response:
        """Ask it. Raises NotSentError or LostError."""
        return await self._brokers.send(self.node, api, body, read)

    def close(self) -> None:
        self._brokers.close()
