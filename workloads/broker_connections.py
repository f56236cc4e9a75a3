"""One client's connections: one to a broker, opened when needed, opened anew when lost."""

from collections.abc import Callable

from workloads.connection import Connection, Driver, NotSentError, Response
from workloads.wire.header import Api

_CONNECT_TIMEOUT_S = 1.0


class Brokers:
    def __init__(self, driver: Driver, timeout_s: float) -> None:
        self._driver = driver
        self._timeout_s = timeout_s
        self._connections: dict[int, Connection] = {}

    async def send(
        self, node: int | None, api: Api, body: bytes, read: Callable[[bytes], Response]
    ) -> Response:
        """As `Connection.ask`; without a `node` nothing is sent."""
        connection = await self._connection(node)
        return await connection.send(api, body, self._timeout_s, read)

    async def tell(self, node: int | None, api: Api, body: bytes) -> None:
        """Send a request that gets no answer. Raises NotSentError or LostError."""
        connection = await self._connection(node)
        await connection.tell(api, body, self._timeout_s)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    async def _connection(self, node: int | None) -> Connection:
        if node is None:
            raise NotSentError("no leader found")
        connection = self._connections.get(node)
        if connection is None or connection.closed:
            connection = await self._driver.connect(node, _CONNECT_TIMEOUT_S)
            self._connections[node] = connection
        return connection
