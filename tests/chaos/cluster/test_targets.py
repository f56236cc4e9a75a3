"""How our own node is configured: what it reads is tested where it reads it, too."""

import pytest

from chaos.cluster.interface import Address, NodeId, Roles
from chaos.cluster.targets.kafka_settings import SettingError
from chaos.cluster.targets.named import layout, target_named
from chaos.cluster.targets.node import DYNAMIC, OwnNode
from chaos.cluster.targets.target import Seat
from node.server.properties import parse_settings

SEATS = [
    Seat(
        node=NodeId(number),
        directory_id="abcdefghijklmnopqrstu" + str(number),
        inner=Address(f"node-{number}", 9100 + number),
        outer=Address("127.0.0.1", 25000 + number),
    )
    for number in (1, 2)
]


def test_the_configuration_is_kafkas() -> None:
    settings = dict(
        line.split("=", 1) for line in OwnNode().properties(SEATS[1], "/data/kraft").splitlines()
    )
    assert settings == {
        "process.roles": "controller",
        "node.id": "2",
        "controller.listener.names": "CONTROLLER,EXTERNAL",
        "listeners": "CONTROLLER://0.0.0.0:9102,EXTERNAL://0.0.0.0:9200",
        "advertised.listeners": "CONTROLLER://node-2:9102,EXTERNAL://127.0.0.1:25002",
        "log.dirs": "/data/kraft",
        "controller.quorum.voters": "1@node-1:9101,2@node-2:9102,3@node-3:9103",
        "controller.quorum.append.linger.ms": "0",
    }


def test_format_of_a_dynamic_quorum_names_every_voter_with_its_directory() -> None:
    command = OwnNode(form=DYNAMIC).format_command("cluster", SEATS[0], SEATS, "file")
    assert command[-1] == (
        "1@node-1:9101:abcdefghijklmnopqrstu1,2@node-2:9102:abcdefghijklmnopqrstu2"
    )
    assert command[:6] == ("python3", "-m", "node.server", "format", "-t", "cluster")


def test_our_node_reads_it() -> None:
    parse_settings(OwnNode().properties(SEATS[1], "/data/kraft"))


def test_a_new_disk_is_formatted_without_voters_and_its_node_asks_who_votes() -> None:
    """Of a dynamic quorum."""
    target = target_named("node", {"quorum": "dynamic", "bootstrap": "3"})
    assert isinstance(target, OwnNode)
    assert target == target_named("node", target.settings)
    assert target.reformat_command("cluster", NodeId(2), "file")[-1] == "--no-initial-controllers"
    read = parse_settings(target.properties(SEATS[1], "/data/kraft")).config
    assert [(each.host, each.port) for each in read.bootstrap_servers] == [
        ("node-1", 9101),
        ("node-2", 9102),
        ("node-3", 9103),
    ]
    assert read.quorum_voters == {}
    with pytest.raises(SettingError, match="bootstrap=8: our own node has"):
        target_named("node", {"bootstrap": "8"})
    with pytest.raises(SettingError, match=r"quorum=off: .* \(listed dynamic static\)"):
        target_named("node", {"quorum": "off"})


def test_listed_voters_stand_in_the_configuration_and_on_no_disk() -> None:
    target = target_named("node", {})
    assert isinstance(target, OwnNode)
    assert target == target_named("node", target.settings)
    commands = (
        target.format_command("cluster", SEATS[0], SEATS, "file"),
        target.reformat_command("cluster", NodeId(2), "file"),
    )
    for command in commands:
        assert command[3:] == ("format", "-t", "cluster", "-c", "file")
    listed = parse_settings(target.properties(SEATS[1], "/data/kraft")).config.quorum_voters
    at = [(node, each.host, each.port) for node, (each,) in listed.items()]
    assert at == [(1, "node-1", 9101), (2, "node-2", 9102), (3, "node-3", 9103)]


@pytest.mark.parametrize("nodes", [1, 3, 5])
def test_all_nodes_are_listed(nodes: int) -> None:
    target, count = layout("node", nodes, {})
    listed = parse_settings(target.properties(SEATS[0], "/data/kraft")).config.quorum_voters
    assert list(listed) == list(range(1, count + 1)) == list(range(1, nodes + 1))
    with pytest.raises(SettingError, match=f"nodes=2: the cluster has {nodes} nodes"):
        layout("node", nodes, {"nodes": "2"})


def test_brokers_come_first_and_are_configured_as_kafkas() -> None:
    target, count = layout("node", 2, {"brokers": "2", "elr": "off", "min_isr": "1"})
    assert isinstance(target, OwnNode)
    assert count == 3
    assert target == target_named("node", target.settings)
    assert not target.brokers.elr
    assert [target.roles(seat.node) for seat in SEATS] == [Roles.BROKER] * 2
    assert target.roles(NodeId(3)) is Roles.CONTROLLER
    read = parse_settings(target.properties(SEATS[1], "/data/kraft"))
    assert read.unknown == ()
    assert read.config.role is not None
    assert read.config.role.controller_listener == "CONTROLLER"
    assert [(each.name, each.port) for each in read.config.role.advertised] == [
        ("INT", 9102),
        ("EXT", 25002),
    ]
    assert list(read.config.quorum_voters) == [3]
    assert (read.config.brokers.replication, read.config.brokers.min_isr) == (2, 1)


def test_a_broker_of_a_dynamic_quorum_knows_every_controller_by_address() -> None:
    target = target_named("node", {"brokers": "2", "controllers": "3", "quorum": "dynamic"})
    read = parse_settings(target.properties(SEATS[0], "/data/kraft")).config
    assert [each.host for each in read.bootstrap_servers] == ["node-3", "node-4", "node-5"]
    assert read.quorum_voters == {}
