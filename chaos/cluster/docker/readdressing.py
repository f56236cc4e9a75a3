"""Controllers that say at another host that they are reached, from their next start on."""

import asyncio
from collections.abc import Mapping

from docker.models.containers import Container

from chaos.cluster.docker.containers import CHANGED_FILE
from chaos.cluster.interface import Address, Advertised, FaultEvidence, NodeId
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY, Seat, Target
from chaos.cluster.topology import AGAIN, NOWHERE, Topology, host_name
from chaos.container_files import write_file
from workloads.connection import ClientEntry, TcpDriver
from workloads.leader import LeaderFinder, newest_leader
from workloads.wire.describe_quorum import LeaderClaim

TOLD_WITHIN_S = 60.0  # a voter tells the leader of itself each fetch time-out, 2 s
_PAUSE_S = 0.1
_ENDS = {Advertised.REACHABLE: AGAIN, Advertised.UNREACHABLE: NOWHERE}


def other_host(node: NodeId, advertised: Advertised) -> str:
    return f"{host_name(node)}{_ENDS[advertised]}"


def change_host(
    container: Container, target: Target, topology: Topology, node: NodeId, host: str
) -> None:
    """Let the next start of a node take a configuration in which others reach it at `host`."""
    seat = Seat(
        node=node,
        directory_id="",  # nothing of it stands in a configuration
        inner=Address(host, topology.inner_ports(node)[0]),
        outer=topology.bootstrap()[node],
    )
    properties = target.properties(seat, f"{DATA}/{LOG_DIRECTORY}")
    write_file(container, CHANGED_FILE, properties)


async def told_of(
    node: NodeId, host: str, entries: Mapping[NodeId, Address], within_s: float = TOLD_WITHIN_S
) -> FaultEvidence:
    """Whether the quorum has committed that a voter is reached at `host`. `entries`: where its
    controllers are asked."""
    driver = TcpDriver(
        {int(each): ClientEntry(host=at.host, port=at.port) for each, at in entries.items()}
    )
    finder = LeaderFinder(driver)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    written = -1  # up to where the leader had written when it first named that host
    try:
        while loop.time() < deadline:
            claims = await finder.claims()
            leader = newest_leader(claims, driver.nodes)
            if leader is None or not names(claims[leader.node], node, host):
                written = -1
            elif written < 0:
                ends = {each.node: each.log_end for each in claims[leader.node].voters}
                written = ends.get(leader.node, -1)
            elif claims[leader.node].high_watermark >= written:
                what = f"the quorum has committed that it is reached at {host}"
                return FaultEvidence(bit=True, what=what, facts={"committed": written})
            await asyncio.sleep(_PAUSE_S)
    finally:
        await finder.close()
    what = f"no leader told of it at {host} within {within_s:g} s"
    return FaultEvidence(bit=False, what=what)


def names(claim: LeaderClaim, node: NodeId, host: str) -> bool:
    """Whether a leader says that a voter is reached at `host`."""
    return any(each.node == node and each.host == host for each in claim.listeners)
