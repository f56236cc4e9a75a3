"""The compose file and toxiproxy's configuration, made from the same topology as a run's cluster.

`python -m chaos.cluster.compose_file` writes them; a test holds them equal to what this makes.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence

from chaos.cluster.docker.containers import PROPERTIES_FILE
from chaos.cluster.interface import Address, NodeId
from chaos.cluster.targets.node import OwnNode
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY, Seat
from chaos.cluster.topology import (
    API_PORT,
    NodeNetwork,
    Topology,
    client_port,
    host_name,
    inner_port,
    reserved_subnet,
)
from chaos.setup.images import NODE_LATEST, TOXIPROXY
from chaos.setup.shell import repository

NODES = tuple(NodeId(number) for number in (1, 2, 3))
CLUSTER_ID = "a3JhZnQtY2hhb3MtcGxheQ"  # fixed: this cluster is to play with by hand
FRONT = "front"
HEAD = """\
# Three controllers behind toxiproxy, to play with by hand:
#
#   kraft-chaos setup                                    makes the images
#   docker-compose -f compose/docker-compose.yml up -d
#   kraft-node quorum --bootstrap 127.0.0.1:20001,127.0.0.1:20002,127.0.0.1:20003 describe
#
# The same networks, names and links as in a run of the harness, made from the same topology by
# `python -m chaos.cluster.compose_file`. A compose file cannot make loop disks: here the volumes
# are plain ones, so a killed node keeps what it never synced, and no power can be cut.
"""

Tree = Mapping[str, object] | Sequence[object] | str | bool


def compose_topology() -> Topology:
    """Fixed subnets and ports, which no run takes."""
    return Topology(
        networks={
            node: NodeNetwork(node=node, subnet=reserved_subnet(place))
            for place, node in enumerate(NODES)
        },
        published={node: client_port(node) for node in NODES},
    )


def compose_text() -> str:
    """The file's text, readable by docker-compose 1.29 and by `docker compose`."""
    topology = compose_topology()
    tree = {
        "version": "2.4",
        "services": {
            "toxiproxy": _proxy(topology),
            **{host_name(node): _node(topology, node) for node in NODES},
        },
        "networks": {
            FRONT: _network(str(reserved_subnet(len(NODES))), internal=False),
            **{
                host_name(node): _network(str(topology.networks[node].subnet), internal=True)
                for node in NODES
            },
        },
        "volumes": {f"data-{node}": {} for node in NODES},
    }
    return HEAD + "\n".join(_yaml(tree, 0)) + "\n"


def toxiproxy_text() -> str:
    """What toxiproxy reads at its start: every link, and every entrance."""
    entries = [
        {"name": entry.name, "listen": entry.listen, "upstream": entry.upstream, "enabled": True}
        for entry in compose_topology().proxies()
    ]
    return json.dumps(entries, indent=2) + "\n"


def _proxy(topology: Topology) -> Tree:
    ports = [API_PORT, *topology.published.values()]
    return {
        "image": TOXIPROXY,
        "command": ["-config=/toxiproxy.json"],
        "volumes": ["./toxiproxy.json:/toxiproxy.json:ro"],
        "ports": [f"127.0.0.1:{port}:{port}" for port in ports],
        "networks": {
            FRONT: {},
            **{host_name(node): {"ipv4_address": topology.networks[node].proxy} for node in NODES},
        },
        **_unprivileged(),
    }


def _node(topology: Topology, node: NodeId) -> Tree:
    seats = [
        Seat(
            node=other,
            directory_id="",  # the format draws one
            inner=Address(host_name(other), inner_port(other)),
            outer=Address("127.0.0.1", topology.published[other]),
        )
        for other in NODES
    ]
    seat = next(seat for seat in seats if seat.node == node)
    directory = f"{DATA}/{LOG_DIRECTORY}"
    target = OwnNode(nodes=len(NODES))
    new = shlex.join(target.format_command(CLUSTER_ID, seat, seats, PROPERTIES_FILE))
    begin = shlex.join(target.start_command(node, PROPERTIES_FILE))
    script = f"test -e {directory}/meta.properties || {new} && exec {begin}"
    aliases = topology.aliases(node)
    return {
        "image": NODE_LATEST,
        "hostname": host_name(node),
        "command": ["sh", "-c", script],
        "environment": {"SERVER_PROPERTIES": target.properties(seat, directory)},
        "volumes": [f"data-{node}:{DATA}"],
        "extra_hosts": [f"{name}:{address}" for name, address in aliases.items()],
        "networks": {host_name(node): {"ipv4_address": topology.networks[node].address}},
        "depends_on": ["toxiproxy"],
        **_unprivileged(),
    }


def _unprivileged() -> Mapping[str, object]:
    return {"cap_drop": ["ALL"], "security_opt": ["no-new-privileges"]}


def _network(subnet: str, *, internal: bool) -> Tree:
    return {"internal": internal, "ipam": {"config": [{"subnet": subnet}]}}


def _yaml(tree: object, depth: int) -> Iterator[str]:
    """Block style; scalars as in JSON, which YAML reads."""
    indent = "  " * depth
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if isinstance(value, Mapping | list) and value:
                yield f"{indent}{key}:"
                yield from _yaml(value, depth + 1)
            else:
                yield f"{indent}{key}: {json.dumps(value)}"
    elif isinstance(tree, list):
        for value in tree:
            yield f"{indent}- {json.dumps(value)}"


def main() -> None:
    directory = repository() / "compose"
    (directory / "docker-compose.yml").write_text(compose_text())
    (directory / "toxiproxy.json").write_text(toxiproxy_text())


if __name__ == "__main__":
    main()
