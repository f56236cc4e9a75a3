"""What the harness asks nodes itself: who leads, and is the whole quorum well."""

import asyncio

from chaos.cluster.interface import Cluster, NodeId
from workloads.connection import Driver, Entry, TcpDriver
from workloads.leader import Leader, LeaderFinder, newest_leader

_PAUSE_S = 0.1


class NoLeaderError(Exception):
    """Nobody led within the time."""


def driver_for(cluster: Cluster) -> TcpDriver:
    """Clients' way into a cluster."""
    return TcpDriver(
        {
            node: Entry(host=address.host, port=address.port)
            for node, address in cluster.bootstrap.items()
        }
    )


class QuorumProbe:
    """Asks every node through the clients' entries."""

    def __init__(self, driver: Driver) -> None:
        self._finder = LeaderFinder(driver)
        self._nodes = driver.nodes

    async def leader(self, within_s: float) -> NodeId:
        """The leader now. Raises NoLeaderError."""
        found = await self._finder.find(within_s)
        if found is None:
            raise NoLeaderError(f"no node led the quorum within {within_s:g} s")
        return NodeId(found.node)

    async def look(self) -> Leader | None:
        """The leader now, if there is one; asks once."""
        return newest_leader(await self._finder.claims(), self._nodes)

    async def wait_until_whole(self, within_s: float) -> bool:
        """Every node answers and one leads; whether that came true within the time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        while loop.time() < deadline:
            claims = await self._finder.claims()
            if len(claims) == len(self._nodes) and newest_leader(claims, self._nodes):
                return True
            await asyncio.sleep(_PAUSE_S)
        return False

    async def close(self) -> None:
        await self._finder.close()
