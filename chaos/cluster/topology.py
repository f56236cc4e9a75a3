"""The nodes of a cluster with their roles and links, as values; the harness and the compose file
are both made from them.

Every node has a network of its own that holds only the node and the proxy. In node i the name
`node-j` resolves to the proxy's address in i's network, and every node has its own inner port, so
`node-j:port` is the directed link i->j with a proxy of its own, and nothing can go around it. A
node with two inner ports (a broker that is a controller as well) makes each link to it two proxies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network

from chaos.cluster.interface import Address, Cluster, Described, Link, NodeId, Roles

# The roles of a cluster's nodes. Without a setting, all are controllers.


def brokers_of(cluster: Cluster) -> tuple[NodeId, ...]:
    roles = cluster.roles if isinstance(cluster, Described) else {}
    return tuple(node for node in cluster.nodes if node in roles and roles[node].is_broker)


def controllers_of(cluster: Cluster) -> tuple[NodeId, ...]:
    roles = cluster.roles if isinstance(cluster, Described) else {}
    return tuple(node for node in cluster.nodes if node not in roles or roles[node].is_controller)


POOL = IPv4Network("198.18.0.0/15")  # for benchmarks (RFC 2544): not a real network
PREFIX = 28  # gateway, proxy, node, and room
RESERVED = 16  # subnets at the pool's end, for the compose file: those are fixed
API_PORT = 8474
OUTER_PORT = 9200
PROXY_HOST, NODE_HOST = 2, 3  # within a subnet; 1 is the engine's gateway
AGAIN, NOWHERE = "-again", "-nowhere"  # ends of a node's other names
NO_NODE = "192.0.2.1"  # of a network for documentation (RFC 5737), to which nodes have no way


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNetwork:
    """The network of one node."""

    node: NodeId
    subnet: IPv4Network

    @property
    def proxy(self) -> str:
        return str(self.subnet[PROXY_HOST])

    @property
    def address(self) -> str:
        return str(self.subnet[NODE_HOST])


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyEntry:
    """One proxy of the toxiproxy server, in the words of its API."""

    name: str
    listen: str
    upstream: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Networks by node, and the ports of 127.0.0.1 by which clients enter.

    `inner`: the ports by which others reach a node, where they are not its one inner port.
    `front`: the proxy's own address, where this machine can reach it.
    """

    networks: Mapping[NodeId, NodeNetwork]
    published: Mapping[NodeId, int]
    inner: Mapping[NodeId, Sequence[int]] = field(default_factory=dict)
    front: str = ""

    @property
    def nodes(self) -> Sequence[NodeId]:
        return sorted(self.networks)

    def links(self) -> Sequence[Link]:
        return [Link(i, j) for i in self.nodes for j in self.nodes if i != j]

    def aliases(self, node: NodeId) -> Mapping[str, str]:
        """What names resolve to inside a node: the others to the proxy, its own to itself."""
        here = self.networks[node]
        return {
            host_name(other): here.address if other == node else here.proxy for other in self.nodes
        }

    def other_names(self, node: NodeId) -> Mapping[str, str]:
        """Those under which a node may say that it is reached: as its own name, and not at all."""
        names = {other: f"{other}{AGAIN}" for other in self.aliases(node)}
        return {
            **{names[other]: address for other, address in self.aliases(node).items()},
            **{f"{other}{NOWHERE}": NO_NODE for other in self.aliases(node)},
        }

    def proxies(self) -> Sequence[ProxyEntry]:
        """Every link and every entrance for clients."""
        return [proxy for link in self.links() for proxy in self.link_proxies(link)] + [
            self.client_proxy(node) for node in self.nodes
        ]

    def inner_ports(self, node: NodeId) -> Sequence[int]:
        return self.inner.get(node, (inner_port(node),))

    def link_proxies(self, link: Link) -> Sequence[ProxyEntry]:
        """One for every inner port of the target."""
        return [
            ProxyEntry(
                name=link_name(link) if number == 0 else f"{link_name(link)}-{port}",
                listen=f"{self.networks[link.source].proxy}:{port}",
                upstream=f"{self.networks[link.destination].address}:{port}",
            )
            for number, port in enumerate(self.inner_ports(link.destination))
        ]

    def client_proxy(self, node: NodeId) -> ProxyEntry:
        return ProxyEntry(
            name=f"client-{node}",
            listen=f"0.0.0.0:{client_port(node)}",
            upstream=f"{self.networks[node].address}:{OUTER_PORT}",
        )

    def bootstrap(self) -> Mapping[NodeId, Address]:
        """By published ports, which nodes advertise."""
        return {node: Address("127.0.0.1", self.published[node]) for node in self.nodes}

    def entries(self) -> Mapping[NodeId, Address]:
        """By the proxy's own address, which spares the engine's forwarding; else `bootstrap`."""
        if not self.front:
            return self.bootstrap()
        return {node: Address(self.front, client_port(node)) for node in self.nodes}


def host_name(node: NodeId) -> str:
    return f"node-{node}"


def lost_disk(node: NodeId, number: int) -> str:
    """Below a run's disks: the disk that a node lost as its first, second ..."""
    return f"lost/{host_name(node)}-{number}"


def link_name(link: Link) -> str:
    """Of its proxy, the first if it has several."""
    return f"link-{link.source}-{link.destination}"


def inner_port(node: NodeId) -> int:
    return 9100 + node


def second_port(node: NodeId) -> int:
    """Of a node that listens to other nodes in two roles."""
    return 9300 + node


def controller_port(cluster: Cluster, node: NodeId) -> int:
    """At which other nodes reach a controller."""
    roles = cluster.roles if isinstance(cluster, Described) else {}
    return second_port(node) if roles.get(node) is Roles.BOTH else inner_port(node)


def client_port(node: NodeId) -> int:
    """Where the proxy's container listens for clients of a node; published under another port."""
    return 20000 + node


def subnet(slot: int) -> IPv4Network:
    """The slot-th subnet of the pool, wrapping around before the reserved ones."""
    return _subnet(slot % (_slots() - RESERVED))


def reserved_subnet(number: int) -> IPv4Network:
    """One of those that no run takes."""
    return _subnet(_slots() - RESERVED + number % RESERVED)


def _slots() -> int:
    return 1 << (PREFIX - POOL.prefixlen)


def _subnet(slot: int) -> IPv4Network:
    return IPv4Network((int(POOL.network_address) + (slot << (32 - PREFIX)), PREFIX))
