"""What was recorded is done again, to the byte; what cannot be is refused with a word."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.campaign.recorded_run import differences, plan_of_run
from chaos.cli import main
from chaos.nemesis.fault import parameters_of
from chaos.nemesis.kinds.cuts import NetworkPartition, Ways
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.script import Schedule, Window
from chaos.nemesis.victims import ControllerLeader, RandomFollower
from chaos.progress import ConsoleProgress
from chaos.run.launch import launch
from chaos.run.plan import RunPlan
from chaos.run.plan_files import plan_as_json
from chaos.run.planning import Choices, plan_of
from chaos.run.runtimes import RUNTIMES
from chaos.scenarios.swarm import SWARM, trial
from checkers.history.sealed_run import RunInfo, read_run_info, write_run_info
from checkers.history.store import read_run
from tests.chaos.campaign.test_campaign import choices
from tests.support.fake_harness import FakeRuntime
from workloads.workload_kinds import with_options


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three quarters of a minute of a swarm's seed."""
    out = tmp_path_factory.mktemp("recorded")
    wanted = Choices(scenario="swarm", seed=SEED, runtime="sim")
    return launch(plan_of(wanted), out, ConsoleProgress(quiet=True)).directory


# One of the short ones, with few nodes.
SEED = min(range(40), key=lambda seed: (trial(seed).nodes, trial(seed).schedule.duration_s))


def test_a_replay_is_byte_for_byte_what_was_recorded(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(recorded / "schedule.json"), "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "byte for byte as recorded" in err
    (again,) = tmp_path.iterdir()
    assert f"page: {again}/report.html" in out
    assert differences(recorded, again) == []
    (again / "run.json").write_text("{}")
    (again / "more").write_text("")
    assert differences(recorded, again) == ["more", "run.json"]


def test_what_was_shrunk_is_done_in_containers_as_its_schedule_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows = (
        Window(at_s=0.4, hold_s=0.3, fault=Kill(victim=ControllerLeader())),
        Window(at_s=1.2, hold_s=0.4, fault=NetworkPartition(victim=RandomFollower(), ways=Ways.IN)),
    )
    wanted = choices(duration_s=2.0, mutation="Q-ZOMBIE", seed=1)
    plan = replace(plan_of(wanted), schedule=Schedule(duration_s=2.0, windows=windows))
    plan = replace(plan, load=with_options(plan.load, most_operations=12))
    shrunk = launch(plan, tmp_path / "shrunk", ConsoleProgress(quiet=True)).directory

    containers = FakeRuntime()
    monkeypatch.setitem(RUNTIMES, "docker", containers)
    main(["replay", str(shrunk), "--runtime", "docker", "--out", str(tmp_path / "again")])
    (again,) = (tmp_path / "again").iterdir()
    assert plan_of_run(again).schedule == plan.schedule
    (made,) = containers.made
    assert len(made.nodes) == plan.nodes
    run = read_run(again)
    assert (run.info.mutation, plan_of_run(again).load) == ("Q-ZOMBIE", plan.load)
    main_phase = [each for each in run.tables["ops"].to_pylist() if each["phase"] == "main"]
    assert len(main_phase) == 12
    began = run.info.timings_s["create"] + run.info.timings_s["first_write"]
    for window, fault in zip(windows, run.tables["faults"].to_pylist(), strict=True):
        assert fault["kind"] == window.fault.kind
        expected = {"victim": str(window.fault.victim), **parameters_of(window.fault)}
        assert json.loads(fault["params"]) == expected
        late_s = fault["t_start"] / 1e9 - began - window.at_s
        assert -0.01 < late_s < 0.5, "time is real there"


def test_a_plan_from_a_run_is_the_plan_of_the_run(recorded: Path) -> None:
    plan = plan_of_run(recorded)
    drawn = trial(SEED)
    assert plan.scenario is SWARM
    assert (plan.seed, plan.nodes, plan.runtime) == (SEED, drawn.nodes, "sim")
    assert plan.schedule == drawn.schedule
    assert plan.load == drawn.load
    assert plan.conditions == drawn.conditions


def copied(recorded: Path, out: Path, **changes: object) -> Path:
    """What a replay reads of a run, with other values in its run.json."""
    out.mkdir()
    changed = replace(read_run_info(recorded), **changes)  # type: ignore[arg-type]  # any field
    write_run_info(out, changed)
    (out / "schedule.json").write_bytes((recorded / "schedule.json").read_bytes())
    return out


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"plan": {}}, "its run.json has no plan: it was recorded by an older version"),
        ({"plan": {"format": 2}}, "its plan has the format 2, not 1"),
        ({"plan": {"format": 1}}, "schedule is missing"),
    ],
)
def test_what_cannot_be_replayed_is_refused_with_the_next_step(
    recorded: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, object],
    why: str,
) -> None:
    old = copied(recorded, tmp_path / "old", **changes)
    for command in ("replay", "shrink"):
        assert main([command, str(old), "--out", str(tmp_path / "out")]) == 255
        err = capsys.readouterr().err
        assert f"{old} cannot be replayed: " in err
        assert why in err
        assert f"try: kraft-chaos run swarm --seed {SEED} --runtime sim" in err


def test_windows_that_somebody_changed_are_those_of_the_file_that_is_named(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = copied(recorded, tmp_path / "changed")
    content = json.loads((run / "schedule.json").read_text())
    content["windows"] = content["windows"][:1]
    (run / "schedule.json").write_text(json.dumps(content))
    whole = plan_of_run(recorded).drawn()
    assert plan_of_run(run / "schedule.json").drawn().windows == whole.windows[:1]
    assert plan_of_run(run).drawn() == whole, "the plan is in run.json"
    (run / "schedule.json").write_text(json.dumps({"windows": 5}))
    assert main(["replay", str(run / "schedule.json"), "--out", str(tmp_path / "out")]) == 255
    assert "not a schedule" in capsys.readouterr().err


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path)]) == 254
    assert "neither a run nor the schedule.json of one" in capsys.readouterr().err


def of_brokers(directory: Path, scenario: str, target: str = "kafka", **chosen: object) -> RunPlan:
    """A run in containers as far as its run.json tells; its plan as it was."""
    bare = Choices(scenario=scenario, seed=3, target=target, runtime="docker")
    plan = plan_of(replace(bare, **chosen)).settled()  # type: ignore[arg-type]  # a test's mistake
    info = RunInfo(
        run_id="brokers",
        scenario=plan.scenario.name,
        seed=plan.seed,
        target="kafka 4.3.1 (an image)",
        runtime="docker",
        nodes=4,
        duration_s=plan.duration_s,
        started_utc="",
        started_mono_ns=0,
        plan=plan_as_json(plan),
    )
    write_run_info(directory, info)
    return plan


def test_a_story_of_brokers_is_told_again(tmp_path: Path) -> None:
    for plan in (
        of_brokers(tmp_path, "power-off-brokers", rate=50.0, client="librdkafka"),
        of_brokers(tmp_path, "last-replica-standing", settings={"elr": "off"}, side="elr=off"),
    ):
        write_run_info(tmp_path, replace(read_run_info(tmp_path), plan=plan_as_json(plan)))
        assert plan_of_run(tmp_path) == plan
        assert bool(plan.drawn().windows) == (plan.scenario.script is None)


def test_brokers_are_not_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_brokers(tmp_path, "power-off-brokers")
    assert main(["replay", str(tmp_path), "--runtime", "sim"]) == 254
    assert "only our own node can be simulated" in capsys.readouterr().err
    assert main(["shrink", str(tmp_path)]) == 255
    assert "kafka runs only in containers" in capsys.readouterr().err


def test_what_a_library_did_is_not_done_again_in_virtual_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_brokers(tmp_path, "power-off-brokers", target="node", client="librdkafka")
    out = tmp_path / "out"
    assert main(["replay", str(tmp_path), "--runtime", "sim", "--out", str(out)]) == 254
    assert "librdkafka cannot reach a simulated cluster" in capsys.readouterr().err
    assert not out.exists()
