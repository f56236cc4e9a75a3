"""Simulated clusters whose brokers are controllers as well: they come up, and are judged."""

from pathlib import Path

import pytest

from chaos.cli import main
from chaos.cluster.interface import Roles
from chaos.cluster.sim.loop import VirtualLoop, run
from chaos.cluster.sim.sim_cluster import SimCluster
from chaos.cluster.sim.surroundings import VirtualClock
from chaos.cluster.sim.watchdog import Watchdog
from chaos.errors import UsageError
from chaos.run.planning import Choices, plan_of
from checkers.evidence.faults import Kind
from checkers.history.sealed_run import read_run_info

COMBINED = {"roles": "combined"}


@pytest.mark.parametrize("quorum", ["listed", "dynamic", "static"])
def test_they_come_up_as_a_quorum_of_each_form(quorum: str) -> None:
    loop = VirtualLoop()

    async def main_() -> None:
        cluster = SimCluster(
            loop=loop,
            clock=VirtualClock(loop, 1),
            nodes=3,
            seed=1,
            watchdog=Watchdog(lambda: loop.is_signalled),
            settings={**COMBINED, "brokers": "3", "quorum": quorum},
        )
        await cluster.create()  # returns when every broker tells of the others
        assert list(cluster.roles.values()) == [Roles.BOTH] * 3
        for node in cluster.nodes:
            assert await cluster.stop(node), f"node {node} had to be killed"
            assert ".kafka_cleanshutdown" in cluster.machines[node].drive.log_directory()
        await cluster.destroy()

    run(main_(), loop)


def test_the_last_replica_standing_needs_controllers_beside_the_brokers() -> None:
    settings = {**COMBINED, "controllers": "5"}
    plan = plan_of(Choices(scenario="last-replica-standing", runtime="sim", settings=settings))
    assert plan.target_settings["controllers"] == "5"


@pytest.mark.parametrize(
    ("scenario", "settings", "why"),
    [
        ("heartbeat-cut", {}, "both are the same nodes"),
        ("heartbeat-cut", {"controllers": "5"}, "both are the same nodes"),
        ("last-replica-standing", {}, "while 2 of 3 of them are .*\n.*controllers=5"),
        ("hwm-under-min-isr", {"controllers": "4"}, "while 2 of 4 of them are .*\n.*controllers=5"),
    ],
)
@pytest.mark.parametrize("target", ["node", "kafka"])
def test_what_makes_no_sense_of_them_is_refused(
    target: str, scenario: str, settings: dict[str, str], why: str
) -> None:
    settings = {**COMBINED, **settings}
    with pytest.raises(UsageError, match=why):
        plan_of(Choices(scenario=scenario, target=target, runtime="docker", settings=settings))


@pytest.mark.slow
def test_a_power_cut_of_the_last_replica_is_told_by_both_sides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without eligible leader replicas acknowledged records are gone, and with them none is: it
    was a voter as well that lost its page cache, and no less of the metadata log is there."""
    words = ["compare", "last-replica-standing", "--runtime", "sim", "--seed", "1"]
    chosen = ["--set", "roles=combined", "--set", "controllers=5"]
    code = main([*words, *chosen, "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert code == 0, said
    assert said.count("1 of 1 (21-100 %) as expected") == 2
    for found in tmp_path.glob("*-last-replica-standing-1*/run.json"):
        info = read_run_info(found.parent)
        both = {str(node): "broker,controller" for node in (1, 2, 3)}
        assert info.roles == {**both, "4": "controller", "5": "controller"}
        assert {Kind.PARTITION_LOGS, Kind.PARTITION_PROBES, Kind.TRACES} <= set(info.gives)


@pytest.mark.slow
def test_power_cuts_of_brokers_that_vote_lose_nothing_that_was_promised(tmp_path: Path) -> None:
    words = ["run", "power-off-brokers", "--runtime", "sim", "--seed", "1", "--duration", "10"]
    assert main([*words, "--set", "roles=combined", "--out", str(tmp_path)]) == 0
