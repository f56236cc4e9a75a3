"""One internal network a node and one for the proxy's entrances, taken by trying.

The engine refuses overlapping subnets, so the first to ask has one; runs side by side never meet.
"""

import itertools
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Network

import docker
from docker.errors import APIError
from docker.models.networks import Network
from docker.types import IPAMConfig, IPAMPool

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker.labels import RunLabels
from chaos.cluster.interface import NodeId
from chaos.cluster.topology import POOL, NodeNetwork, host_name, subnet

TRIES = 200
FRONT = "front"


def create_networks(
    client: docker.DockerClient, labels: RunLabels, nodes: Sequence[NodeId]
) -> dict[NodeId, NodeNetwork]:
    """Create the networks of all nodes, and the front one; returns where each node is."""
    first = zlib.crc32(labels.run_id.encode())
    stride = len(nodes) + 1
    with ThreadPoolExecutor(max_workers=stride) as pool:
        front = pool.submit(_create, client, labels, FRONT, (first, stride))
        futures = {
            node: pool.submit(_create, client, labels, host_name(node), (first + node, stride))
            for node in nodes
        }
        front.result()
        return {
            node: NodeNetwork(node=node, subnet=future.result()) for node, future in futures.items()
        }


def _create(
    client: docker.DockerClient, labels: RunLabels, part: str, slots: tuple[int, int]
) -> IPv4Network:
    """Try one subnet after another; the parts of a run step past each other."""
    first, stride = slots
    for slot in itertools.islice(itertools.count(first, stride), TRIES):
        wanted = subnet(slot)
        pools = [IPAMPool(subnet=str(wanted), gateway=str(wanted[1]))]
        try:
            client.networks.create(
                labels.name(part),
                internal=part != FRONT,  # ports of an internal network cannot be published
                labels=labels.labels(),
                ipam=IPAMConfig(pool_configs=pools),
            )
        except APIError as error:
            if "overlap" not in str(error):
                raise
        else:
            return wanted
    raise ClusterError(
        f"no free subnet in {POOL} after {TRIES} tries\n"
        "  try: kraft-chaos doctor (some VPNs claim this range), docker network prune"
    )


def subnet_of(network: Network) -> IPv4Network:
    return IPv4Network(network.attrs["IPAM"]["Config"][0]["Subnet"])
