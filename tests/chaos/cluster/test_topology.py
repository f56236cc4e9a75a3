"""Networks, names and links as values."""

from dataclasses import replace
from itertools import combinations

import pytest

from chaos.cluster.interface import Address, Link, NodeId
from chaos.cluster.topology import (
    POOL,
    RESERVED,
    NodeNetwork,
    ProxyEntry,
    Topology,
    reserved_subnet,
    subnet,
)

ONE, TWO, THREE = NodeId(1), NodeId(2), NodeId(3)


def topology(nodes: int = 3) -> Topology:
    ids = [NodeId(number) for number in range(1, nodes + 1)]
    return Topology(
        networks={node: NodeNetwork(node=node, subnet=subnet(node)) for node in ids},
        published={node: 25000 + node for node in ids},
    )


@pytest.mark.parametrize("nodes", [1, 3, 5])
def test_there_is_a_link_each_way_between_any_two(nodes: int) -> None:
    links = topology(nodes).links()
    assert len(links) == nodes * (nodes - 1)
    assert {Link(link.destination, link.source) for link in links} == set(links)


def test_a_name_leads_to_the_proxy_and_ones_own_to_oneself() -> None:
    made = topology()
    assert made.aliases(TWO) == {
        "node-1": made.networks[TWO].proxy,
        "node-2": made.networks[TWO].address,
        "node-3": made.networks[TWO].proxy,
    }


def test_another_name_leads_where_the_own_one_does_and_the_third_to_nobody() -> None:
    made = topology()
    others = made.other_names(TWO)
    again = {name.removesuffix("-again"): at for name, at in others.items() if "-again" in name}
    assert again == made.aliases(TWO)
    nowhere = {at for name, at in others.items() if name.endswith("-nowhere")}
    assert nowhere == {"192.0.2.1"}
    assert len(others) == 6


def test_a_link_listens_in_its_sources_network_and_leads_into_its_destinations() -> None:
    assert topology().link_proxies(Link(ONE, THREE)) == [
        ProxyEntry(name="link-1-3", listen="198.18.0.18:9103", upstream="198.18.0.51:9103")
    ]


def test_clients_enter_by_published_ports() -> None:
    made = topology()
    assert made.bootstrap()[TWO] == Address("127.0.0.1", 25002)
    assert made.client_proxy(TWO) == ProxyEntry(
        name="client-2", listen="0.0.0.0:20002", upstream="198.18.0.35:9200"
    )


def test_clients_near_the_proxy_are_spared_the_published_port() -> None:
    made = topology()
    assert made.entries() == made.bootstrap()
    near = replace(made, front="198.18.9.2")
    assert near.entries()[TWO] == Address("198.18.9.2", 20002)
    assert near.bootstrap() == made.bootstrap()


def test_no_two_proxies_share_a_name_or_a_place() -> None:
    entries = topology(5).proxies()
    assert len({entry.name for entry in entries}) == len(entries) == 5 * 4 + 5
    assert len({entry.listen for entry in entries}) == len(entries)


def test_subnets_lie_in_the_pool_and_apart() -> None:
    last = POOL.num_addresses // 16 - RESERVED - 1
    nets = [*map(subnet, (0, 1, 2, last)), *map(reserved_subnet, (0, 1, RESERVED - 1))]
    assert all(net.subnet_of(POOL) for net in nets)
    assert not any(a.overlaps(b) for a, b in combinations(nets, 2))
    assert subnet(last + 1) == subnet(0)


def test_a_link_to_a_node_with_two_inner_ports_is_two_proxies() -> None:
    made = replace(topology(), inner={THREE: (9103, 9303)})
    assert made.link_proxies(Link(ONE, THREE)) == [
        ProxyEntry(name="link-1-3", listen="198.18.0.18:9103", upstream="198.18.0.51:9103"),
        ProxyEntry(name="link-1-3-9303", listen="198.18.0.18:9303", upstream="198.18.0.51:9303"),
    ]
    assert len(made.link_proxies(Link(THREE, ONE))) == 1
    assert len({entry.listen for entry in made.proxies()}) == 4 * 1 + 2 * 2 + 3
