"""Requests of the harness itself: which node leads, and is the quorum healthy?"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence

from chaos.cluster.interface import Address, Cluster, NodeId
from workloads.connection import ClientEntry, Driver, MalformedResponse, TcpDriver, ignore
from workloads.leader import Leader, LeaderFinder, newest_leader

_PAUSE_S = 0.1
_SAMPLE_S = 0.5


class NoLeaderError(Exception):
    """No node led within the time."""


def driver_for(
    cluster: Cluster,
    nodes: Sequence[NodeId] = (),
    malformed: Callable[[MalformedResponse], None] = ignore,
) -> TcpDriver:
    """The raw driver's way into a cluster, or to some of its nodes."""
    return TcpDriver(_entries(cluster.entries, nodes or cluster.nodes), malformed)


def advertised(cluster: Cluster, nodes: Sequence[NodeId]) -> dict[int, ClientEntry]:
    """The addresses by which a client library reaches these nodes: those that they advertise."""
    return _entries(cluster.bootstrap, nodes)


def _entries(where: Mapping[NodeId, Address], nodes: Sequence[NodeId]) -> dict[int, ClientEntry]:
    return {int(node): ClientEntry(host=where[node].host, port=where[node].port) for node in nodes}


async def committed_end(driver: Driver, within_s: float) -> int:
    """The high watermark of the metadata log, from the leader, once it knows it.

    Raises NoLeaderError.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    finder = LeaderFinder(driver)
    try:
        while loop.time() < deadline:
            claims = await finder.claims()
            leader = newest_leader(claims, driver.nodes)
            if leader is not None and claims[leader.node].high_watermark >= 0:
                return claims[leader.node].high_watermark
            await asyncio.sleep(_PAUSE_S)
    finally:
        await finder.close()
    raise NoLeaderError(f"no leader knew the high watermark within {within_s:g} s")


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

    async def voters(self, within_s: float) -> tuple[NodeId, ...]:
        """The nodes of all voters, from the leader; one that is a voter with two disks is there
        twice. Raises NoLeaderError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        while loop.time() < deadline:
            claims = await self._finder.claims()
            if leader := newest_leader(claims, self._nodes):
                return tuple(NodeId(voter.node) for voter in claims[leader.node].voters)
            await asyncio.sleep(_PAUSE_S)
        raise NoLeaderError(f"no node led the quorum within {within_s:g} s")

    async def without(self, nodes: Collection[NodeId], within_s: float) -> None:
        """Wait until the leader lists none of them as a voter, with any disk. Raises NoLeaderError,
        also where a leader still lists them."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        while (left := deadline - loop.time()) > 0:
            if not set(nodes) & set(await self.voters(left)):
                return
            await asyncio.sleep(_PAUSE_S)
        told = ", ".join(f"node {node}" for node in nodes)
        raise NoLeaderError(f"{told} is still a voter after {within_s:g} s")

    async def leader_after(self, epoch: int, within_s: float) -> Leader:
        """The leader in a later epoch than this one. Raises NoLeaderError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        while (left := deadline - loop.time()) > 0:
            found = await self._finder.find(left)
            if found is not None and found.epoch > epoch:
                return found
            await asyncio.sleep(_PAUSE_S)
        after = f" in an epoch after {epoch}" if epoch >= 0 else ""
        raise NoLeaderError(f"no node led the quorum{after} within {within_s:g} s")

    async def look(self) -> Leader | None:
        """The leader now, if there is one; asks once."""
        return newest_leader(await self._finder.claims(), self._nodes)

    async def wait_until_whole(self, within_s: float) -> bool:
        """Whether every node answered and one led within the time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        while loop.time() < deadline:
            claims = await self._finder.claims()
            if len(claims) == len(self._nodes) and newest_leader(claims, self._nodes):
                return True
            await asyncio.sleep(_PAUSE_S)
        return False

    async def lacking(self) -> str:
        """What the quorum lacks, by another request."""
        claims = await self._finder.claims()
        silent = [f"node {node}" for node in self._nodes if node not in claims]
        if silent:
            return f"{' and '.join(silent)} did not answer"
        leader = newest_leader(claims, self._nodes)
        return "no node led" if leader is None else f"node {leader.node} led by then"

    async def close(self) -> None:
        await self._finder.close()
