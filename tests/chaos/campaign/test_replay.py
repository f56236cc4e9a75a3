"""What was recorded is done again, to the byte; what cannot be is refused with a word."""

import json
import shlex
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from chaos.campaign.replay import differences, plan_from
from chaos.campaign.swarm import trial
from chaos.cli import main
from chaos.commands.parser import parser
from chaos.commands.run import plan_of, run_arguments
from chaos.launch import launch
from chaos.nemesis.faults import Kill, Partition, Ways
from chaos.nemesis.recorded import windows_as_json
from chaos.nemesis.schedule import Schedule, Window
from chaos.nemesis.targets import ControllerLeader, Follower
from chaos.plan import RunPlan
from chaos.progress import ConsoleProgress
from chaos.runtimes import RUNTIMES
from chaos.scenarios.swarm import SWARM
from checkers.history.sealed_run import RunInfo, read_run_info, write_run_info
from checkers.history.store import read_run
from tests.chaos.campaign.test_campaign import arguments
from tests.support.fake_harness import FakeRuntime


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three quarters of a minute of a swarm's seed."""
    out = tmp_path_factory.mktemp("recorded")
    wanted = arguments(
        out, "swarm", seed=SEED, nodes=None, duration_s=None, concurrency=None, rate=0.0
    )
    return launch(plan_of(wanted), out, ConsoleProgress(quiet=True)).directory


# One of the short ones, with few nodes.
SEED = min(range(40), key=lambda seed: (trial(seed).nodes, trial(seed).schedule.duration_s))


def test_a_replay_is_byte_for_byte_what_was_recorded(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(recorded / "schedule.json"), "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "byte for byte what was recorded" in err
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
        Window(at_s=0.4, hold_s=0.3, fault=Kill(target=ControllerLeader())),
        Window(at_s=1.2, hold_s=0.4, fault=Partition(target=Follower(), ways=Ways.IN)),
    )
    wanted = arguments(tmp_path, duration_s=2.0, mutation="Q-ZOMBIE")
    plan = replace(plan_of(wanted), schedule=Schedule(duration_s=2.0, windows=windows))
    plan = replace(plan, load=replace(plan.load, most_operations=12))
    shrunk = launch(plan, tmp_path / "shrunk", ConsoleProgress(quiet=True)).directory

    containers = FakeRuntime()
    monkeypatch.setitem(RUNTIMES, "docker", containers)
    main(["replay", str(shrunk), "--runtime", "docker", "--out", str(tmp_path / "again")])
    (again,) = (tmp_path / "again").iterdir()
    assert plan_from(again).schedule == plan.schedule
    (made,) = containers.made
    assert len(made.nodes) == plan.nodes
    run = read_run(again)
    assert (run.info.mutation, run.info.load) == ("Q-ZOMBIE", asdict(plan.load))
    main_phase = [each for each in run.tables["ops"].to_pylist() if each["phase"] == "main"]
    assert len(main_phase) == 12
    began = run.info.timings_s["create"] + run.info.timings_s["first_write"]
    for window, fault in zip(windows, run.tables["faults"].to_pylist(), strict=True):
        assert fault["kind"] == window.fault.kind
        expected = {"target": str(window.fault.target), **window.fault.parameters}
        assert json.loads(fault["params"]) == expected
        late_s = fault["t_start"] / 1e9 - began - window.at_s
        assert -0.01 < late_s < 0.5, "time is real there"


def test_a_plan_from_a_run_is_the_plan_of_the_run(recorded: Path) -> None:
    plan = plan_from(recorded)
    drawn = trial(SEED)
    assert plan.scenario is SWARM
    assert (plan.seed, plan.nodes, plan.runtime) == (SEED, drawn.nodes, "sim")
    assert plan.schedule == drawn.schedule
    assert plan.load == drawn.load
    assert plan.conditions == drawn.conditions


@pytest.mark.parametrize(
    ("file", "change", "why"),
    [
        ("schedule.json", None, "No such file"),
        ("schedule.json", {"windows": 5}, "not a schedule"),
        ("run.json", {"load": {}}, "an older version's"),
        ("run.json", {"load": {"patience": 3}}, "patience"),
    ],
)
def test_what_cannot_be_replayed_is_refused_with_a_word(
    recorded: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    change: dict[str, object] | None,
    why: str,
) -> None:
    for name in ("run.json", "schedule.json"):
        content = json.loads((recorded / name).read_text())
        if name != file:
            (tmp_path / name).write_text(json.dumps(content))
        elif name == "run.json" and change is not None:
            changed = replace(read_run_info(recorded), **change)  # type: ignore[arg-type]
            write_run_info(tmp_path, changed)
        elif change is not None:
            (tmp_path / name).write_text(json.dumps({**content, **change}))
    assert main(["replay", str(tmp_path), "--out", str(tmp_path / "out")]) == 255
    err = capsys.readouterr().err
    assert why in err
    assert f"try: kraft-chaos run swarm --seed {SEED} --runtime sim" in err


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path)]) == 255
    assert "neither a run nor the schedule.json of one" in capsys.readouterr().err


def of_brokers(directory: Path, line: str) -> RunPlan:
    """A run as far as its two files tell, a broker story's; its plan as it was."""
    words = [*shlex.split(line), "--target", "kafka", "--runtime", "docker"]
    plan = plan_of(run_arguments(parser().parse_args(words)))
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
        workload="append",
        load=asdict(plan.load),
        settings={"elr": "on", "brokers": "3", "controllers": "1"},
        command=plan.command,
    )
    write_run_info(directory, info)
    content = {"script": []} if plan.scenario.script else windows_as_json(plan.drawn())
    (directory / "schedule.json").write_text(json.dumps(content))
    return plan


def test_a_story_of_brokers_is_told_again_with_its_windows(tmp_path: Path) -> None:
    line = "run power-off-brokers --seed 3 --rate 50 --client librdkafka --set elr=off"
    plan = of_brokers(tmp_path, line)
    again = plan_from(tmp_path)
    assert again == replace(plan, schedule=plan.drawn())
    assert len(again.drawn().windows) > 1
    content = json.loads((tmp_path / "schedule.json").read_text())
    (tmp_path / "schedule.json").write_text(
        json.dumps({**content, "windows": content["windows"][:1]})
    )
    assert again.drawn().windows[:1] == plan_from(tmp_path).drawn().windows


def test_a_story_told_by_conditions_is_told_again_by_them(tmp_path: Path) -> None:
    plan = of_brokers(tmp_path, "run last-replica-standing --seed 3 --set elr=off")
    assert plan.scenario.script is not None
    assert plan_from(tmp_path) == plan


def test_brokers_are_not_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_brokers(tmp_path, "run power-off-brokers --seed 3")
    assert main(["replay", str(tmp_path), "--runtime", "sim"]) == 254
    assert "only our own node can be simulated" in capsys.readouterr().err
    assert main(["shrink", str(tmp_path)]) == 255
    assert "kafka runs in containers only" in capsys.readouterr().err
    write_run_info(tmp_path, replace(read_run_info(tmp_path), command=""))
    assert main(["replay", str(tmp_path)]) == 255
    assert "does not say by which command" in capsys.readouterr().err
    write_run_info(tmp_path, replace(read_run_info(tmp_path), command="kraft-chaos run --odd 1"))
    assert main(["replay", str(tmp_path)]) == 255
    assert "cannot be replayed: its command is of another version" in capsys.readouterr().err
