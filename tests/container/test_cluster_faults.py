"""Faults on a cluster of stand-ins: each leaves its evidence, heals, and is not made up."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker import power_cuts
from chaos.cluster.docker.clusters import PoweredDockerCluster
from chaos.cluster.docker.toxiproxy_api import Stream
from chaos.cluster.interface import Link, NodeStatus, PowerCutMode
from chaos.cluster.powers import Cuttable, Killable, Pausable, PowerCuttable
from chaos.cluster.probe import until_it_answers
from chaos.cluster.topology import inner_port, link_name
from chaos.nemesis.fault import Hit
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.victims import OneNode
from tests.container.clusters import (
    ONE,
    PATIENCE_S,
    SILENT_S,
    THREE,
    TWO,
    answered,
    cluster_of_stand_ins,
    containers_of,
    run,
    said_in,
)

NAME = "faults"

# Syncs one file and leaves another unsynced, written page by page: the kernel writes what came in
# one call back as a whole, and a torn cut could keep all of it.
WRITE = """
import os
def write(name, content):
    descriptor = os.open("/data/" + name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(descriptor, content)
    return descriptor
os.fsync(write("synced", b"kept"))
descriptor = write("unsynced", b"")
for _ in range(100):
    os.write(descriptor, b"lost" * 1024)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[PoweredDockerCluster]:
    with cluster_of_stand_ins(NAME) as made:
        yield made


def asks(source: int, target: int, within_s: float = PATIENCE_S) -> bool:
    with containers_of(NAME) as nodes:
        asking = nodes[ONE if source == 1 else TWO]
        return answered(asking, f"node-{target}", 9100 + target, within_s)


def asks_in_vain(source: int, target: int) -> bool:
    return not asks(source, target, SILENT_S)


def test_a_clean_partition_silences_both_ways_and_heals(cluster: PoweredDockerCluster) -> None:
    links = [Link(ONE, TWO), Link(TWO, ONE)]
    assert asks(1, 2)
    run(cluster.cut(links))
    run(cluster.cut(links))
    assert asks_in_vain(1, 2)
    assert asks_in_vain(2, 1)
    assert asks(1, 3)
    evidence = run(cluster.heal(links))
    assert {link: seen.bit for link, seen in evidence.items()} == {links[0]: True, links[1]: True}
    assert asks(1, 2)
    assert asks(2, 1)
    assert run(cluster.heal(links)) == {}


def test_a_one_way_cut_lets_the_other_way_pass(cluster: PoweredDockerCluster) -> None:
    run(cluster.cut([Link(ONE, TWO)]))
    assert asks_in_vain(1, 2)  # the request is lost
    assert asks_in_vain(2, 1)  # the answer is
    evidence = run(cluster.heal([Link(ONE, TWO)]))[Link(ONE, TWO)]
    assert evidence.bit, evidence
    assert int(evidence.facts["opposite_passed_bytes"]) > 0
    assert evidence.facts["opposite_swallowed_bytes"] == 0
    assert evidence.facts["idle_but_for_the_probe"] is False
    assert asks(1, 2)


def test_an_idle_link_is_probed(cluster: PoweredDockerCluster) -> None:
    run(cluster.cut([Link(TWO, THREE)]))
    evidence = run(cluster.heal([Link(TWO, THREE)]))[Link(TWO, THREE)]
    assert evidence.bit, evidence
    assert evidence.facts["idle_but_for_the_probe"] is True


def test_a_cut_that_somebody_undid_is_no_cut(cluster: PoweredDockerCluster) -> None:
    run(cluster.cut([Link(ONE, THREE)]))
    for proxied, stream in (
        (Link(ONE, THREE), Stream.UPSTREAM),
        (Link(THREE, ONE), Stream.DOWNSTREAM),
    ):
        cluster._parts.api.pass_again(link_name(proxied), stream)
    evidence = run(cluster.heal([Link(ONE, THREE)]))[Link(ONE, THREE)]
    assert not evidence.bit, evidence


def test_a_node_that_died_of_itself_takes_no_evidence_from_the_others(
    cluster: PoweredDockerCluster,
) -> None:
    """The proxy still takes connections to it, and dials in vain."""
    fault = NetworkPartition(victim=OneNode(ONE))
    hit = Hit(fault=fault, nodes=(ONE,), links=fault.links(cluster, [ONE]))
    run(fault.inject(cluster, hit))
    with containers_of(NAME) as nodes:
        nodes[THREE].kill()
        nodes[THREE].wait()
    evidence = run(fault.cure(cluster, hit))
    assert evidence.bit, evidence
    assert "bytes swallowed on 1->2" in evidence.what
    assert evidence.what.endswith("2 links of node 3, off by then, not proved")
    run(cluster.start(THREE))
    assert asks(1, 3)


def test_clients_are_shut_out_while_nodes_hear_each_other(cluster: PoweredDockerCluster) -> None:
    ways = (cluster.bootstrap, cluster.entries)
    assert all(run(until_it_answers(way[ONE], PATIENCE_S)) for way in ways)
    run(cluster.close_entrances([ONE]))
    assert not any(run(until_it_answers(way[ONE], SILENT_S)) for way in ways)
    assert all(run(until_it_answers(way[TWO], PATIENCE_S)) for way in ways)
    assert asks(2, 1)
    evidence = run(cluster.open_entrances([ONE]))
    assert {node: seen.bit for node, seen in evidence.items()} == {ONE: True}
    assert all(run(until_it_answers(way[ONE], PATIENCE_S)) for way in ways)
    assert run(cluster.open_entrances([ONE])) == {}


def test_an_entrance_that_somebody_opened_was_not_shut(cluster: PoweredDockerCluster) -> None:
    run(cluster.close_entrances([ONE]))
    for stream in Stream:
        cluster._parts.api.pass_again("client-1", stream)
    assert not run(cluster.open_entrances([ONE]))[ONE].bit


def test_nothing_goes_around_the_proxy(cluster: PoweredDockerCluster) -> None:
    there = cluster._parts.topology.networks[TWO].address
    with containers_of(NAME) as nodes:
        assert not answered(nodes[ONE], there, inner_port(TWO), SILENT_S)


def test_a_killed_node_is_off_and_starts_again(cluster: PoweredDockerCluster) -> None:
    evidence = run(cluster.kill(TWO))
    assert evidence.bit, evidence
    assert run(cluster.status(TWO)) is NodeStatus.OFF
    assert not run(cluster.kill(TWO)).bit
    with pytest.raises(ClusterError, match="off already"):
        run(cluster.power_off([TWO]))
    run(cluster.start(TWO))
    assert run(cluster.status(TWO)) is NodeStatus.RUNNING
    assert asks(1, 2)


def test_a_paused_node_stands_still_until_it_is_resumed(cluster: PoweredDockerCluster) -> None:
    evidence = run(cluster.pause(THREE))
    assert evidence.bit, evidence
    assert run(cluster.status(THREE)) is NodeStatus.PAUSED
    assert asks_in_vain(1, 3)
    run(cluster.resume(THREE))
    assert run(cluster.status(THREE)) is NodeStatus.RUNNING
    assert asks(1, 3)


def test_a_stopped_node_ended_in_good_order(cluster: PoweredDockerCluster) -> None:
    run(cluster.stop(ONE))
    with containers_of(NAME) as nodes:
        assert nodes[ONE].attrs["State"]["ExitCode"] == 0
    run(cluster.start(ONE))


@pytest.mark.parametrize("mode", list(PowerCutMode))
def test_a_power_cut_forgets_what_was_not_synced(
    cluster: PoweredDockerCluster, mode: PowerCutMode
) -> None:
    with containers_of(NAME) as nodes:
        said_in(nodes[ONE], "python3", "-c", WRITE)
    before = run(cluster.power_off([ONE], mode))[ONE]
    assert not before.bit  # nobody has looked at the canary yet
    assert run(cluster.status(ONE)) is NodeStatus.OFF
    run(cluster.start(ONE))
    evidence = run(cluster.power_evidence(ONE))
    assert evidence.bit, evidence
    with containers_of(NAME) as nodes:
        assert said_in(nodes[ONE], "cat", "/data/synced") == b"kept"
        remembered = nodes[ONE].exec_run(["cat", "/data/unsynced"]).output
    assert remembered != b"lost" * 102400
    assert asks(2, 1)


def test_all_nodes_lose_power_at_once(cluster: PoweredDockerCluster) -> None:
    run(cluster.power_off(cluster.nodes))
    for node in cluster.nodes:
        run(cluster.start(node))
    evidence = {node: run(cluster.power_evidence(node)) for node in cluster.nodes}
    assert all(seen.bit for seen in evidence.values()), evidence


def test_a_shutdown_that_flushes_is_no_power_cut(
    cluster: PoweredDockerCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(power_cuts.FLAGS, PowerCutMode.LOSE_ALL, 0)
    run(cluster.power_off([TWO]))
    run(cluster.start(TWO))
    evidence = run(cluster.power_evidence(TWO))
    assert not evidence.bit
    assert "survived" in evidence.what


def test_what_nodes_leave_is_collected(cluster: PoweredDockerCluster, tmp_path: Path) -> None:
    run(cluster.stop(ONE))
    run(cluster.start(ONE))
    run(cluster.kill(THREE))
    run(cluster.collect(tmp_path))
    for node in cluster.nodes:
        assert (tmp_path / f"disks/node-{node}/meta.properties").read_text() == f"node.id={node}\n"
        lines = (tmp_path / f"logs/node-{node}.log").read_text().splitlines()
        assert {json.loads(line)["event"] for line in lines} == {"up"}
        assert "prose" in (tmp_path / f"logs/node-{node}.err").read_text()
    lines = (tmp_path / "logs/node-1.log").read_text().splitlines()
    assert len(lines) > 1  # of all its incarnations
    assert run(cluster.status(ONE)) is NodeStatus.RUNNING
    run(cluster.start(THREE))


def test_it_has_every_power_that_scenarios_ask_for(cluster: PoweredDockerCluster) -> None:
    for power_of in (Killable, Pausable, Cuttable, PowerCuttable):
        assert isinstance(cluster, power_of)


def test_nodes_have_no_privileges(cluster: PoweredDockerCluster) -> None:
    with containers_of(NAME) as nodes:
        status = said_in(nodes[ONE], "cat", "/proc/1/status").decode()
        ports = cluster._parts.proxy.attrs["HostConfig"]["PortBindings"]
    words = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert words["Uid"].split() == ["10001"] * 4
    assert int(words["CapBnd"], 16) == 0
    assert words["NoNewPrivs"].strip() == "1"
    assert {binding["HostIp"] for bindings in ports.values() for binding in bindings} == {
        "127.0.0.1"
    }
