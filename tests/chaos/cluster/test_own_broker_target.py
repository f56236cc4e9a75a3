"""Clusters with brokers of our node: the commands that make their disks are typed as they are."""

from dataclasses import replace
from pathlib import Path

import pytest

from chaos.cluster.docker.labels import labels_of, target_of
from chaos.cluster.interface import Address, NodeId
from chaos.cluster.targets.named import layout
from chaos.cluster.targets.node import PROGRAM, OwnNode
from chaos.cluster.targets.target import Seat
from chaos.cluster.topology import host_name, inner_port
from chaos.setup.images import node_recipe
from node.ids import parse_uuid
from node.records.metadata import ELR_VERSION
from node.server.real_disk import RealDisk
from node.storage.disk import VOTERS_CHECKPOINT
from node.storage.format import is_static, read_bootstrap, read_voters
from node.storage.meta import load_meta
from tests.support.quorum_processes import run_kraft_node

CLUSTER = "WmCeIv0zQw2p9rTbIk1ERQ"
BROKER, CONTROLLER = 1, 2


def seat(number: int) -> Seat:
    return Seat(
        node=NodeId(number),
        directory_id="abcdefghijklmnopqrstu" + "AQgw"[number],
        inner=Address(host_name(NodeId(number)), inner_port(NodeId(number))),
        outer=Address("127.0.0.1", 25000 + number),
    )


SEATS = [seat(number) for number in (BROKER, CONTROLLER)]


def made(settings: dict[str, str]) -> OwnNode:
    target, count = layout("node", 1, {"brokers": "1", **settings})
    assert isinstance(target, OwnNode)
    assert count == len(SEATS)
    return target


def formatted(target: OwnNode, number: int, directory: Path) -> RealDisk:
    """A disk that the target's command has formatted for that node."""
    log_directory, file = directory / f"node-{number}", directory / f"{number}.properties"
    where = seat(number)
    file.write_text(target.properties(where, str(log_directory)))
    command = target.format_command(CLUSTER, where, SEATS, str(file))
    assert command[: len(PROGRAM)] == PROGRAM
    done = run_kraft_node(*command[len(PROGRAM) :])
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # every setting is known
    return RealDisk(log_directory)


@pytest.mark.parametrize("quorum", ["listed", "dynamic", "static"])
def test_only_controllers_are_formatted_as_voters(quorum: str, tmp_path: Path) -> None:
    target = made({"quorum": quorum})
    broker, controller = (formatted(target, number, tmp_path) for number in (BROKER, CONTROLLER))
    is_dynamic, is_of_ids = quorum == "dynamic", quorum == "static"
    assert [is_static(disk) for disk in (broker, controller)] == [is_of_ids] * 2
    assert [disk.exists(VOTERS_CHECKPOINT) for disk in (broker, controller)] == (
        [quorum != "listed"] * 2
    )
    assert load_meta(broker).node_id == BROKER
    if is_dynamic:
        assert read_voters(broker) == ()
        directory = parse_uuid(SEATS[1].directory_id)
        voters = [(key.id, key.directory) for key, _ in read_voters(controller)]
        assert voters == [(CONTROLLER, directory)]
        assert load_meta(controller).directory_id == directory


@pytest.mark.parametrize("elr", ["on", "off"])
def test_a_cluster_begins_with_the_eligible_leader_replicas_it_was_asked_for(
    elr: str, tmp_path: Path
) -> None:
    target = made({"elr": elr, "quorum": "static"})
    levels = read_bootstrap(formatted(target, CONTROLLER, tmp_path))
    assert [level.name for level in levels if hasattr(level, "name")] == (
        ["metadata.version", ELR_VERSION] if elr == "on" else ["metadata.version"]
    )
    again = target.reformat_command(CLUSTER, NodeId(CONTROLLER), "file")
    assert any(ELR_VERSION in word for word in again) is (elr == "on")


@pytest.mark.parametrize("more", [{}, {"broker_min_isr": "1"}])
def test_a_cluster_that_is_up_is_known_again_by_its_labels(more: dict[str, str]) -> None:
    target = made({"elr": "off", "quorum": "static", "min_isr": "1", "replication": "1", **more})
    assert target_of(labels_of(target, CLUSTER)) == target


def test_the_files_of_brokers_may_have_another_min_isr() -> None:
    target, _ = layout("node", 3, {"brokers": "3", "broker_min_isr": "1"})
    found = [target.properties(replace(seat(1), node=NodeId(node)), "/data") for node in (1, 4)]
    assert "min.insync.replicas=1\n" in found[0]
    assert "min.insync.replicas=2\n" in found[1]


def test_brokers_have_disks_that_a_load_does_not_fill() -> None:
    assert made({}).bounds.disk_mebibytes > OwnNode().bounds.disk_mebibytes


def test_the_image_has_a_place_for_the_disk_of_every_node(tmp_path: Path) -> None:
    """Where a plain volume is formatted, which takes its owner over from there."""
    _, most = layout("node", 5, {"brokers": "5", "controllers": "3"})
    dockerfile = node_recipe("base", tmp_path).files["Dockerfile"].decode()
    assert all(f" /disks/{number} " in dockerfile for number in range(1, most + 1))
