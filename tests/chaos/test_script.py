"""Scripts go on when what they wait for has come about, and say so where it never does."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from chaos.cluster.interface import NodeId
from chaos.nemesis.aim import NoVictimError
from chaos.nemesis.awaited import (
    Acknowledged,
    Condition,
    ElrIs,
    IsrIs,
    Leaderless,
    Led,
    PreferredLead,
    Sight,
    TransactionsCommitted,
    Whole,
    lacking,
    unled,
)
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.processes import Kill, Pause
from chaos.nemesis.kinds.upkeep import MoveReplicas
from chaos.nemesis.nemesis import ConditionTimeoutError, Nemesis
from chaos.nemesis.script import (
    Begin,
    End,
    Rest,
    Script,
    StartAll,
    Until,
    UntilLed,
    UntilNoVoter,
)
from chaos.nemesis.victims import ControllerLeader, OneNode
from chaos.probes import QuorumProbe, driver_for
from chaos.recorder import Recorder
from chaos.run.seal import faults_table
from chaos.scenario import Side
from chaos.scenarios import BROKER_SCENARIOS
from tests.chaos.test_recorder import HandClock, lines_of
from tests.support.fake_cluster import FakeCluster
from tests.support.virtual_time import in_virtual_time
from workloads.wire.topic_partitions import PartitionClaim

TWO, THREE = OneNode(NodeId(2)), OneNode(NodeId(3))


def claim(isr: tuple[int, ...], leader: int = 1, key: str = "t-0") -> PartitionClaim:
    return PartitionClaim(
        topic="t",
        key=key,
        leader=leader,
        epoch=0,
        replicas=(1, 2, 3),
        isr=isr,
        elr=(),
        last_known_elr=(),
        offline=(),
    )


def sight(*claims: PartitionClaim, acknowledged: int = 0, committed: int = 0) -> Sight:
    """What each broker says of the only partition."""
    told = {node: (each,) for node, each in enumerate(claims, start=1)}
    return Sight(claims=told, acknowledged=acknowledged, committed=committed)


ALL = claim((1, 2, 3))
LED_BY_NOBODY = claim((2,), leader=-1)


@pytest.mark.parametrize(
    ("seen", "lacks"),
    [
        (sight(ALL, ALL), "broker 3 does not answer"),
        (
            sight(ALL, claim((1, 3)), ALL),
            "broker 2 says that t-0 is led by 1, with ISR [1, 3], without 2",
        ),
        (
            sight(LED_BY_NOBODY, LED_BY_NOBODY, ALL),
            "broker 1 says that t-0 has no leader, with ISR [2], without 1, 3 (and 1 more)",
        ),
        (Sight(claims={1: (), 2: (), 3: ()}, acknowledged=0), "broker 1 knows no topic (and 2"),
        (sight(ALL, claim((1, 2, 3), leader=2), ALL), "brokers name different leaders"),
    ],
)
def test_what_lacks_is_told_by_broker_and_partition(seen: Sight, lacks: str) -> None:
    assert lacking(seen, (1, 2, 3)).startswith(lacks)


@pytest.mark.parametrize(
    ("seen", "running", "is_unled"),
    [
        (sight(LED_BY_NOBODY, LED_BY_NOBODY), (1, 2), True),
        (sight(LED_BY_NOBODY, LED_BY_NOBODY), (1, 3), False),  # nobody of its ISR runs
        (sight(LED_BY_NOBODY, claim((2,), leader=2)), (1, 2), False),  # one knows better
        (sight(replace(LED_BY_NOBODY, isr=(), elr=(3,))), (3,), True),
        (sight(replace(LED_BY_NOBODY, isr=(2,), elr=(3,))), (3,), False),  # the ELR comes later
        (sight(ALL), (1, 2, 3), False),
        (sight(), (1, 2, 3), False),
    ],
)
def test_a_partition_that_could_be_led_and_is_not(
    seen: Sight, running: tuple[int, ...], is_unled: bool
) -> None:
    told = unled(seen, running)
    assert bool(told) is is_unled
    if is_unled:
        assert "though nothing is done to broker " in told


@pytest.mark.parametrize(
    ("condition", "so", "not_so"),
    [
        (IsrIs((1,)), sight(ALL, claim((1,)), ALL), sight(ALL, claim((1, 2)), ALL)),
        (IsrIs((1, 2)), sight(claim((2, 1))), sight()),
        (ElrIs((2,)), sight(ALL, replace(ALL, elr=(2,))), sight(ALL, replace(ALL, elr=(2, 3)))),
        (Leaderless(), sight(ALL, claim((), leader=-1)), sight(ALL)),
        (Led((2, 3)), sight(ALL, claim((2,), leader=2)), sight(ALL, ALL)),
        (Led(), sight(ALL), sight(claim((1,), leader=-1))),
        (PreferredLead(), sight(claim((2,), leader=2), ALL), sight(claim((1, 2), leader=2))),
        (Whole(3), sight(ALL, ALL, ALL), sight(ALL, ALL)),
        (Whole(2), sight(ALL, ALL), sight(ALL, claim((1, 2)))),
        (Whole(2), sight(ALL, ALL), sight(ALL, claim((1, 2, 3), leader=2))),
        (Acknowledged(5), sight(acknowledged=5), sight(ALL, acknowledged=4)),
        (TransactionsCommitted(2), sight(committed=2), sight(ALL, acknowledged=4, committed=1)),
    ],
)
def test_what_is_so(condition: Condition, so: Sight, not_so: Sight) -> None:
    assert condition.holds(so)
    assert not condition.holds(not_so)


def test_every_partition_counts() -> None:
    both = Sight(claims={1: (claim((1,)), claim((1, 2), key="t-1"))}, acknowledged=0)
    assert not IsrIs((1,)).holds(both)


class Hand:
    """A lookout that sees what it is told to, one sight after another."""

    def __init__(self, sights: Sequence[Sight]) -> None:
        self._sights = sights

    async def look(self) -> Sight:
        return self._sights[-1]

    async def wait_for(self, condition: Condition, within_s: float) -> bool:
        del within_s
        return any(condition.holds(each) for each in self._sights)


def told(
    directory: Path, cluster: FakeCluster, script: Script, *sights: Sight
) -> list[dict[str, object]]:
    """The rows of the faults table."""

    async def main() -> None:
        await cluster.prepare()
        if StartAll() not in script.steps:
            await cluster.start_all()
        probe = QuorumProbe(driver_for(cluster))
        try:
            with Recorder(directory, HandClock()) as recorder:
                nemesis = Nemesis(
                    cluster=cluster,
                    probe=probe,
                    recorder=recorder,
                    seed=1,
                    directory=directory,
                    tell=lambda _: None,
                    lookout=Hand(sights),
                )
                await nemesis.follow(script)
        finally:
            await probe.close()
            await cluster.destroy()

    in_virtual_time(main())
    rows: list[dict[str, object]] = faults_table(
        list(lines_of(directory / "events-nemesis.jsonl.zst"))
    ).to_pylist()
    return rows


SCRIPT = Script(
    steps=(
        Begin(name="third", fault=NetworkPartition(victim=THREE)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=Kill(victim=TWO)),
        Rest(seconds=0.01),
        End(name="third"),
        End(name="second"),
    )
)


def test_steps_follow_each_other(tmp_path: Path) -> None:
    cluster = FakeCluster()
    rows = told(tmp_path, cluster, SCRIPT, sight(ALL), sight(claim((1, 2))))
    acts = [call.split()[0] for call in cluster.calls]
    assert [act for act in acts if act in ("cut", "kill", "heal", "start")] == [
        "cut",
        "kill",
        "heal",
        "start",
    ]
    assert [(row["kind"], row["nodes"], row["bit"]) for row in rows] == [
        ("partition", [3], True),
        ("kill", [2], True),
    ]
    kept = json.loads((tmp_path / "schedule.json").read_text())
    assert kept["script"][:2] == [
        "third begins: partition of 3",
        "until the ISR is [1, 2], within 30 s",
    ]
    assert [done["t_healed"] is not None for done in kept["done"]] == [True, True]


def test_a_link_that_two_cut_is_healed_by_the_last(tmp_path: Path) -> None:
    script = Script(
        steps=(
            Begin(name="third", fault=NetworkPartition(victim=THREE)),
            Begin(name="second", fault=NetworkPartition(victim=TWO)),
            End(name="third"),
            End(name="second"),
        )
    )
    cluster = FakeCluster()
    rows = told(tmp_path, cluster, script)
    cuts_and_heals = [call for call in cluster.calls if call.startswith(("cut", "heal"))]
    assert cuts_and_heals == [
        "cut 3->1 3->2 1->3 2->3",
        "cut 2->1 1->2",
        "heal 3->1 1->3",
        "heal 2->1 1->2 3->2 2->3",
    ]
    assert [row["bit"] for row in rows] == [True, True]


def test_a_node_that_is_named_is_hit_whatever_else_is_wrong_with_it(tmp_path: Path) -> None:
    cut = Begin(name="cut", fault=NetworkPartition(victim=THREE))
    ends = (End(name="other"), End(name="cut"))
    move = Begin(name="other", fault=MoveReplicas(victim=THREE))
    cluster = FakeCluster()
    (tmp_path / "once").mkdir()
    rows = told(tmp_path / "once", cluster, Script(steps=(cut, move, *ends)))
    assert [(row["kind"], row["nodes"]) for row in rows] == [
        ("partition", [3]),
        ("move-replicas", [3]),
    ]
    assert "move_replicas 3" in cluster.calls
    (tmp_path / "twice").mkdir()
    paused = Begin(name="cut", fault=Pause(victim=THREE))
    with pytest.raises(NoVictimError, match="no node could be hit as 3"):
        told(tmp_path / "twice", FakeCluster(), Script(steps=(paused, move, *ends)))


COMING_UP = Script(
    steps=(
        Begin(name="cut", fault=NetworkPartition(victim=THREE)),
        StartAll(),
        UntilLed(),
        Begin(name="leader", fault=Kill(victim=ControllerLeader())),
        UntilLed(anew=True),
        End(name="leader"),
        End(name="cut"),
    )
)


def test_links_are_cut_before_any_process_runs_and_another_leader_is_waited_for(
    tmp_path: Path,
) -> None:
    cluster = FakeCluster()
    rows = told(tmp_path, cluster, COMING_UP)
    cuts = "3->1 3->2 1->3 2->3"
    killed = cluster.calls[3]
    assert killed.startswith("kill ")
    assert cluster.calls == [
        *("prepare", f"cut {cuts}", "start_all", killed, killed.replace("kill", "start")),
        *(f"heal {cuts}", "destroy"),
    ]
    assert [row["bit"] for row in rows] == [True, True]
    kept = json.loads((tmp_path / "schedule.json").read_text())
    assert kept["script"][1:3] == [
        "all processes are started",
        "until the quorum is led, within 30 s",
    ]


def test_a_leader_that_stays_is_no_other_one(tmp_path: Path) -> None:
    stays = Script(steps=(UntilLed(), UntilLed(anew=True, within_s=0.3)))
    with pytest.raises(
        ConditionTimeoutError, match=r"no node led .* in an epoch after 1 within 0\.3 s"
    ):
        told(tmp_path, FakeCluster(), stays)


GONE = UntilNoVoter(name="a", where=("auto.join", "true"), within_s=0.3)
JOINS = Script(steps=(Begin(name="a", fault=Pause(victim=TWO)), End(name="a"), GONE))


def test_it_goes_on_when_the_old_entry_is_gone_and_no_new_one_is_there(tmp_path: Path) -> None:
    cluster = FakeCluster()
    (old,) = (voter for voter in cluster.registers.voters if voter[0] == 2)
    cluster.registers.voters.remove(old)
    told(tmp_path, cluster, JOINS)
    kept = json.loads((tmp_path / "schedule.json").read_text())
    assert kept["script"][-1] == "until what a hit is no voter, within 0.3 s"


def test_who_votes_by_another_disk_is_a_voter(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.registers.voters = {(node, uuid4()) for node in (1, 2, 3)}
    with pytest.raises(ConditionTimeoutError, match=r"node 2 is still a voter after 0\.3 s"):
        told(tmp_path, cluster, JOINS)


def test_elsewhere_nobody_waits_for_it() -> None:
    assert JOINS.with_settings({"auto.join": "true"}) == JOINS
    assert JOINS.with_settings({"auto.join": "false"}).steps == JOINS.steps[:2]


@pytest.mark.parametrize("side", BROKER_SCENARIOS["auto-join"].sides, ids=lambda side: side.name)
def test_the_cut_of_auto_join_falls_between_removal_and_addition(side: Side) -> None:
    """Where the new disk adds itself; elsewhere it never would."""
    script = BROKER_SCENARIOS["auto-join"].script_with(side.settings)
    assert script is not None
    (cut,) = (n for n, it in enumerate(script.steps) if isinstance(it, Begin) and it.name == "cut")
    adds_itself = side.name.endswith("=true")
    assert isinstance(script.steps[cut - 1], UntilNoVoter) is adds_itself


def test_the_last_look_is_told_in_a_line_however_many_partitions_there_are() -> None:
    says = [ALL] * 1_000 + [claim((2,), leader=2), claim((), leader=-1)]
    says += [replace(claim((), leader=-1), elr=(3, 1)), claim((3, 2), leader=3)]
    assert str(Sight(claims={2: says, 3: ()}, acknowledged=1)) == (
        "1 acknowledged write; node 2 says: 1,000 partitions led with ISR [1, 2, 3], "
        "1 partition led with ISR [2], 1 partition without a leader with ISR [], "
        "2 in other states; node 3 says: no partitions"
    )
    assert str(sight(acknowledged=7)) == "7 acknowledged writes; no broker answers"
    assert str(sight(committed=1)).startswith("0 acknowledged writes; 1 committed transaction;")


def test_what_never_comes_true_ends_the_scenario(tmp_path: Path) -> None:
    with pytest.raises(ConditionTimeoutError, match=r"after 30 s .* the ISR is \[1, 2\]"):
        told(tmp_path, FakeCluster(), SCRIPT, sight(ALL), sight(ALL, acknowledged=7))
    kept = json.loads((tmp_path / "schedule.json").read_text())
    assert [done["kind"] for done in kept["done"]] == ["partition"]


@pytest.mark.parametrize(
    "steps",
    [
        (Begin(name="a", fault=Pause(victim=TWO)),),
        (End(name="a"),),
        (Begin(name="a", fault=Pause(victim=TWO)), Begin(name="a", fault=Pause(victim=THREE))),
    ],
)
def test_what_begins_must_end(steps: tuple[Begin | End, ...]) -> None:
    with pytest.raises((AssertionError, ValueError)):
        Script(steps=steps)


@pytest.mark.parametrize(
    "name", [name for name, each in BROKER_SCENARIOS.items() if each.trial is None]
)
def test_a_story_of_brokers_hurts_them_as_it_says(name: str) -> None:
    scenario = BROKER_SCENARIOS[name]
    assert scenario.is_of_brokers
    plan = scenario.schedule(seed=1, nodes=3, duration_s=scenario.default_duration_s)
    planned = scenario.script.faults if scenario.script else [each.fault for each in plan.windows]
    planned = [*planned, *(scenario.coming_up.faults if scenario.coming_up else ())]
    assert bool(planned) == bool(scenario.faults)
    assert set(planned) <= set(scenario.faults)
    assert len({side.name for side in scenario.sides}) == len(scenario.sides)
