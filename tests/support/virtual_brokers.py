"""The fake brokers on virtual time: what a time-out decides, no busy machine decides instead."""

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from chaos.cluster.interface import NodeId
from chaos.cluster.sim.loop import VirtualLoop, run
from chaos.cluster.sim.network import Network, client_address
from chaos.cluster.topology import OUTER_PORT
from tests.support.fake_logs import FakeBrokers
from workloads.connection import ClientEntry

T = TypeVar("T")
NODES = (NodeId(1), NodeId(2), NodeId(3))


class VirtualBrokers(FakeBrokers):
    """On the simulator's network; `run` what uses them."""

    def __init__(self) -> None:
        super().__init__(len(NODES))
        self._loop = VirtualLoop()
        self._network = Network(self._loop, NODES, seed=1)
        self._loop.internet = self._network
        self._up: set[int] = set()

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """As `asyncio.run`, once."""
        return run(main, self._loop)

    async def __aexit__(self, *_: object) -> None:
        for node in sorted(self._up):
            self.stop(node)
        await asyncio.sleep(0)

    @property
    def entries(self) -> Mapping[int, ClientEntry]:
        addresses = {int(node): client_address(node) for node in NODES}
        return {node: ClientEntry(host=at.host, port=at.port) for node, at in addresses.items()}

    async def start(self, node: int) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                await self._serve(node, reader, writer)
            writer.close()

        def accept() -> asyncio.Protocol:
            return asyncio.StreamReaderProtocol(asyncio.StreamReader(), serve)

        self._network.listen(NodeId(node), OUTER_PORT, accept, lambda callback: callback())
        self._up.add(node)

    def stop(self, node: int) -> None:
        """Its connections break."""
        self._network.leave(NodeId(node))
        self._up.discard(node)
