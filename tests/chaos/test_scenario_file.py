"""Scenarios of a user's own file, as `docs/how-to/own-scenarios.md` has them."""

import json
import re
from pathlib import Path

import pytest

from chaos.campaign.recorded_run import differences, plan_of_run
from chaos.cli import main
from chaos.cluster.interface import PowerCutMode
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.victims import ControllerLeader
from chaos.run.scenario_file import ScenarioFile, scenarios_in
from tests.support.readme import ROOT

PAGE = (ROOT / "docs" / "how-to" / "own-scenarios.md").read_text()
QUICK = ("--runtime", "sim", "--seed", "4", "--concurrency", "3", "--rate", "20")


def of_page(kind: str) -> str:
    """Its first example of that kind."""
    found = re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def toml(text: str) -> ScenarioFile:
    return ScenarioFile(name="mine.toml", text=text)


def test_faults_of_toml_are_in_order_of_time_with_their_victims() -> None:
    text = """name = "mine"
faults = [{fault = "kill-leader", at_s = 5, hold_s = 1},
          {fault = "power-off-random", at_s = 1, hold_s = 5, node = 2}]"""
    (found,) = scenarios_in(toml(text)).values()
    schedule = found.schedule(seed=1, nodes=3, duration_s=3.0)
    assert [window.at_s for window in schedule.windows] == [1.0, 5.0]
    assert schedule.side_by_side
    assert schedule.duration_s == 6.0, "it lasts until its last fault is over"
    first = schedule.windows[0].fault
    assert isinstance(first, PowerOff)
    assert str(first.victim) == "2"
    assert found.default_duration_s == 11.0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("name = 5 5", "mine.toml: TOMLDecodeError"),
        ("name = 5", "mine.toml: name: expected text, found 5"),
        ('summary = "x"', "mine.toml: KeyError: 'name'"),
        ('name = "x"\nfault = []', "the scenario has no 'fault'; known: description, duration_s"),
        ('name = "x"\nfaults = [{fault = "kil", at_s = 1, hold_s = 1}]', "unknown fault 'kil'"),
        ('name = "x"\nworkload = "sql"', "unknown workload 'sql'; known: register"),
        ('name = "x"\nload = {speed = 1}', "the load register has no 'speed'"),
        (
            'name = "x"\nduration_s = 1\nfaults = [{fault = "kill-leader", at_s = 1, hold_s = 1}]',
            "duration_s is 1, and a fault lasts until 2 s",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_told(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        scenarios_in(toml(text))


ODD = ["-1", "nan", "inf", "-inf", "1e300", "true", '"x"', "[1]", "{a = 1}"]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "text",
    [
        "duration_s = {}",
        'faults = [{{fault = "kill-leader", at_s = {}, hold_s = 1}}]',
        'faults = [{{fault = "kill-leader", at_s = 1, hold_s = {}}}]',
        'faults = [{{fault = "kill-leader", at_s = 1, hold_s = 1, node = {}}}]',
        "load = {{rate = {}}}",
        "load = {{read_share = {}}}",
        "load = {{live_keys = {}}}",
        'workload = "append"\nload = {{transactional = 1, rate = {}}}',
        'workload = "append"\nload = {{chores = {}}}',
        'workload = "append"\nload = {{configs = {}}}',
    ],
)
def test_values_of_another_kind_are_refused_by_name(text: str, odd: str) -> None:
    with pytest.raises(ValueError, match=r"mine.toml: \w+: expected .* found"):
        scenarios_in(toml('name = "x"\n' + text.format(odd)))


@pytest.mark.parametrize("key", ["faults", "load", "settings"])
@pytest.mark.parametrize("odd", ["7", '"x"', "[3]"])
def test_what_is_no_table_is_refused_by_name(key: str, odd: str) -> None:
    with pytest.raises(ValueError, match=rf"mine.toml: {key}: expected .*, found"):
        scenarios_in(toml(f'name = "x"\n{key} = {odd}'))


@pytest.mark.parametrize("lacking", ["fault", "at_s", "hold_s"])
def test_a_fault_that_lacks_something_is_refused(lacking: str) -> None:
    given = {"fault": '"kill-leader"', "at_s": "1", "hold_s": "1"}
    row = ", ".join(f"{name} = {value}" for name, value in given.items() if name != lacking)
    with pytest.raises(ValueError, match=f"a fault lacks '{lacking}'"):
        scenarios_in(toml(f'name = "x"\nfaults = [{{{row}}}]'))


@pytest.mark.parametrize(
    ("text", "words", "why"),
    [
        ("x = 1 / 0", (), "mine.py: ZeroDivisionError: division by zero"),
        ("x = 1", (), "mine.py: it has no scenario"),
        (of_page("python"), ("other",), "mine.py has no scenario 'other'\n  try: one of kill-once"),
        (of_page("python").replace("kill-once", "baseline"), (), "baseline is one of ours"),
    ],
)
def test_a_file_without_that_scenario_is_wrong_usage(
    text: str,
    words: tuple[str, ...],
    why: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    assert main(["run", *words, "--scenario-file", str(file), *QUICK]) == 254
    assert why in capsys.readouterr().err
    assert main(["run", *QUICK]) == 254
    assert main(["run", "--scenario-file", str(tmp_path / "none.py"), *QUICK]) == 254


@pytest.mark.parametrize("kind", ["toml", "python"])
def test_a_run_has_its_file_and_is_repeated_without_it(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"mine.{kind.removesuffix('thon')}"
    file.write_text(of_page(kind))
    out = str(tmp_path / "runs")
    assert main(["run", "--scenario-file", str(file), *QUICK, "--json", "--out", out]) == 0
    ran = Path(json.loads(capsys.readouterr().out)["directory"])
    file.unlink()
    plan = plan_of_run(ran)
    assert plan.file == ScenarioFile(name=file.name, text=of_page(kind))
    assert plan.scenario.name in ("leader-then-disk", "kill-once")
    again = tmp_path / "again"
    assert main(["replay", str(ran), "--out", str(again)]) == 0
    assert "byte for byte as recorded" in capsys.readouterr().err
    (other,) = (each for each in again.iterdir() if not each.is_symlink())
    assert differences(ran, other) == []


FAULT = 'name = "x"\n[[faults]]\nfault = "{}"\n{}\nat_s = 1\nhold_s = 1'


def test_a_kind_has_its_victim_and_parameters() -> None:
    (found,) = scenarios_in(
        toml(FAULT.format("power-off", 'victim = "leader"\nmode = "torn"'))
    ).values()
    assert found.faults == (PowerOff(victim=ControllerLeader(), mode=PowerCutMode.TORN),)


@pytest.mark.parametrize(
    ("fault", "keys", "why"),
    [
        ("kill-leader", "node = 99", "mine.toml:4: x: kill: there is no node 99; nodes: 1, 2, 3"),
        ("kill", 'victim = "4"', "mine.toml:4: x: kill: there is no node 4; nodes: 1, 2, 3"),
        (
            "kill",
            "victim = 'partition-leader-of-orders-0'",
            "mine.toml:4: x: kill: there is no partition-leader-of-orders-0: this cluster has no",
        ),
        ("partition-leader", "peers = 'brokers'", "there are no links to brokers: this cluster"),
        ("kill", "victim = 'partition-leeder'", "unknown victim 'partition-leeder'; like it: part"),
        ("kill", "", "kill needs a victim, such as leader, or kill-leader"),
        ("kill-leader", "mode = 'torn'", "kill has no parameter mode"),
        ("power-off-leader", "mode = 'half'", "'half' is not one of lose-all, lose-data, torn"),
        ("kill", "node = 1\nvictim = 'leader'", "a node or a victim, and not both"),
        ("kill-leader", "latency_ms = [1]", "latency_ms: expected a number"),
    ],
)
def test_what_cannot_be_hit_is_refused_before_anything_starts(
    fault: str, keys: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(FAULT.format(fault, keys))
    out = tmp_path / "runs"
    assert main(["run", "--scenario-file", str(file), *QUICK, "--out", str(out)]) == 254
    assert why in capsys.readouterr().err
    assert not out.exists()
