"""Simulated clusters with brokers: stories of KIP-966 on our own node, judged as Apache Kafka's."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.cluster.interface import NodeId, Roles
from chaos.cluster.sim.loop import VirtualLoop, run
from chaos.cluster.sim.sim_cluster import SimCluster
from chaos.cluster.sim.surroundings import VirtualClock
from chaos.cluster.sim.watchdog import Watchdog
from chaos.cluster.topology import lost_disk
from chaos.errors import UsageError
from chaos.run.planning import Choices, plan_of
from checkers.evidence.faults import Kind
from checkers.history.sealed_run import read_run_info


@pytest.mark.slow
def test_the_last_replica_standing_is_told_by_both_sides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without eligible leader replicas acknowledged records are gone, and with them none is: as of
    Apache Kafka, by the same script and the same checks."""
    words = ["compare", "last-replica-standing", "--runtime", "sim", "--seed", "3"]
    code = main([*words, "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert code == 0, said
    assert "elr=off" in said
    assert "elr=on" in said
    assert said.count("1 of 1 (21-100 %) as expected") == 2
    (one, other) = sorted(tmp_path.glob("*-last-replica-standing-3*/run.json"))
    for found in (one, other):
        info = read_run_info(found.parent)
        assert info.target == "node (simulated)"
        assert info.roles == {"1": "broker", "2": "broker", "3": "broker", "4": "controller"}
        assert {Kind.PARTITION_LOGS, Kind.PARTITION_PROBES, Kind.TRACES} <= set(info.gives)


@pytest.mark.slow
@pytest.mark.parametrize("elr", ["on", pytest.param("off", marks=pytest.mark.night)])
def test_a_seed_gives_the_same_bytes_of_brokers_in_every_process(elr: str, tmp_path: Path) -> None:
    found = []
    for hash_seed in ("1", "2"):
        out = tmp_path / hash_seed
        words = ["last-replica-standing", "--set", f"elr={elr}", "--seed", "7", "--runtime", "sim"]
        subprocess.run(
            [sys.executable, "-m", "chaos.cli", "run", *words, "--out", str(out)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=elr == "on",
            capture_output=True,
        )
        run = (out / "latest").resolve()  # its name has the time of this machine
        files = [path for path in sorted(run.rglob("*")) if path.is_file()]
        found.append({str(path.relative_to(run)): path.read_bytes() for path in files})
    one, other = found
    assert any(name.endswith("disks/node-1/append-0-0/00000000000000000000.log") for name in one)
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


@pytest.mark.parametrize("quorum", ["listed", "dynamic", "static"])
def test_brokers_come_up_beside_a_quorum_of_each_form(quorum: str) -> None:
    loop = VirtualLoop()

    async def main_() -> None:
        cluster = SimCluster(
            loop=loop,
            clock=VirtualClock(loop, 1),
            nodes=2,
            seed=1,
            watchdog=Watchdog(lambda: loop.is_signalled),
            settings={"brokers": "2", "controllers": "3", "quorum": quorum},
        )
        await cluster.create()  # returns when every broker tells of the others
        assert list(cluster.nodes) == [NodeId(number) for number in range(1, 6)]
        assert [cluster.roles[node] for node in cluster.nodes] == (
            [Roles.BROKER] * 2 + [Roles.CONTROLLER] * 3
        )
        for node in cluster.nodes:
            assert await cluster.stop(node), f"node {node} had to be killed"
        files = cluster.machines[NodeId(1)].drive.log_directory()
        assert ".kafka_cleanshutdown" in files
        await cluster.destroy()

    run(main_(), loop)


def test_two_log_directories_are_on_one_disk(tmp_path: Path) -> None:
    """A power cut takes from both, a wipe makes both anew, and both are kept for the judge."""
    loop, broker = VirtualLoop(), NodeId(1)

    async def main_() -> None:
        cluster = SimCluster(
            loop=loop,
            clock=VirtualClock(loop, 1),
            nodes=1,
            seed=1,
            watchdog=Watchdog(lambda: loop.is_signalled),
            settings={"brokers": "1", "controllers": "1", "log_dirs": "2"},
        )
        await cluster.create()
        drive = cluster.machines[broker].drive
        known = directory_ids(drive.log_directory())
        assert len(set(known)) == 2
        drive.directory("kraft.second").put("unsynced", b"told to nobody")
        await cluster.power_off([broker])
        await cluster.start(broker)
        assert "kraft.second/unsynced" not in drive.log_directory()
        assert directory_ids(drive.log_directory()) == known
        assert await cluster.stop(broker)
        assert "kraft.second/.kafka_cleanshutdown" in drive.log_directory()
        await cluster.wipe(broker)
        await cluster.start(broker)
        new = directory_ids(cluster.machines[broker].drive.log_directory())
        assert len({*known, *new}) == 4
        await cluster.collect(tmp_path)
        await cluster.destroy()

    run(main_(), loop)
    for disk in ("node-1", lost_disk(broker, 1)):
        assert (tmp_path / "disks" / disk / "kraft.second" / "meta.properties").exists()


def directory_ids(files: Mapping[str, bytes]) -> list[str]:
    return [
        line
        for path in ("meta.properties", "kraft.second/meta.properties")
        for line in files[path].decode().splitlines()
        if line.startswith("directory.id=")
    ]


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        (Choices(scenario="hanging-transaction", runtime="docker"), "uses transactions"),
        (Choices(scenario="hanging-transaction", runtime="sim"), "uses transactions"),
        (Choices(scenario="transform-exactly-once", runtime="sim"), "uses transactions"),
        (
            Choices(scenario="lost-timestamps", runtime="sim"),
            "log.cleaner.backoff.ms=200: our own node has no such setting",
        ),
        (
            Choices(scenario="all-unclean", runtime="sim", client="librdkafka"),
            "librdkafka cannot reach a simulated cluster",
        ),
        (
            Choices(scenario="all-unclean", runtime="sim", settings={"brokers": "0"}),
            "and node has none",
        ),
        (
            Choices(scenario="all-unclean", runtime="sim", settings={"replication": "4"}),
            "replication=4: a number from 1 to 3",
        ),
        (
            Choices(scenario="all-unclean", runtime="docker", settings={"nodes": "3"}),
            "nodes=3: beside brokers there are controllers=1 or 3",
        ),
        (
            Choices(scenario="moved-replicas", runtime="docker"),
            "moves replicas between log directories, which our own brokers do not support",
        ),
        (Choices(scenario="power-off", runtime="sim", settings={"elr": "off"}), "elr=off: our own"),
    ],
)
def test_what_brokers_of_ours_cannot_do_is_refused(choices: Choices, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        plan_of(choices)


@pytest.mark.slow
def test_what_a_leader_alone_has_is_shown_to_nobody_with_or_without_elr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(
        ["compare", "hwm-under-min-isr", "--runtime", "sim", "--seed", "5", "--out", str(tmp_path)]
    )
    said = capsys.readouterr().out
    assert code == 0, said
    assert said.count("1 of 1 (21-100 %) as expected: what the leader alone has is shown to") == 2


@pytest.mark.slow
@pytest.mark.parametrize("story", ["heartbeat-cut", "elr-downgrade", "unclean-leader-registered"])
def test_both_sides_of_a_story_come_out_as_expected(
    story: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["compare", story, "--runtime", "sim", "--seed", "3", "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert code == 0, said
    assert said.count("1 of 1 (21-100 %) as expected") == 2
