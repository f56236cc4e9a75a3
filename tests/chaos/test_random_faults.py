"""Faults at random, by their kinds: what a seed draws, and `kraft-chaos chaos`."""

import json
import random
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.campaign.recorded_run import differences, plan_of_run
from chaos.cli import main
from chaos.commands.arguments import seconds
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.recorded import schedule_from, windows_as_json
from chaos.nemesis.script import Schedule, Window
from chaos.run.random_faults import OF_QUORUMS, RandomFaults
from chaos.run.scenario_file import ScenarioFile, scenarios_in

KINDS = ("kill", "pause", "partition-one-way", "power-off", "slow-links", "partition-partial")
QUICK = ("--runtime", "sim", "--seed", "4", "--concurrency", "3", "--rate", "20")
FEW = ("--faults", "pause,kill-leader,partition-in", "--every", "2s", "--for", "6s")


def faults(**changes: object) -> RandomFaults:
    usual = RandomFaults(faults=KINDS, victims=OF_QUORUMS, every_s=5.0, hold_s=(1.0, 3.0))
    return replace(usual, **changes)  # type: ignore[arg-type]


def drawn(what: RandomFaults, seed: int = 1, duration_s: float = 60.0) -> Schedule:
    return what.schedule(random.Random(seed), 3, duration_s)


@given(
    seed=st.integers(0, 2**32),
    every_s=st.floats(0.5, 40.0),
    share=st.floats(0.1, 0.9),
    count=st.integers(1, 30),
    more=st.floats(0.0, 0.9),
    overlap=st.booleans(),
)
def test_one_fault_begins_in_each_interval_and_ends_in_time(
    seed: int, every_s: float, share: float, count: int, more: float, overlap: bool
) -> None:
    most_s = every_s * share * (5 if overlap else 1)
    what = faults(every_s=every_s, hold_s=(0.05, most_s), overlap=overlap)
    duration_s = every_s * (count + more)
    found = drawn(what, seed, duration_s).windows
    assert len(found) == count
    for number, window in enumerate(found):
        assert number * every_s - 0.001 <= window.at_s <= (number + 1) * every_s
        assert 0.0 < window.hold_s <= most_s + 0.001
        assert window.end_s <= duration_s
    if not overlap:
        assert all(first.end_s < second.at_s for first, second in pairwise(found))


def test_each_kind_comes_as_often_as_the_others() -> None:
    found = Counter(window.fault.kind for window in drawn(faults(), duration_s=5.0 * 24).windows)
    assert found == dict.fromkeys(KINDS, 4)
    one = [window.fault.kind for window in drawn(faults(), 1).windows]
    other = [window.fault.kind for window in drawn(faults(), 2).windows]
    assert sorted(one) == sorted(other)
    assert one != other


def test_the_same_seed_draws_the_same_and_parameters_that_are_not_given() -> None:
    power = faults(faults=("power-off",))
    assert drawn(power) == drawn(power)
    modes = {window.fault.mode for window in drawn(power).windows if _is_power(window)}  # type: ignore[attr-defined]
    assert modes == {"lose-all", "lose-data", "torn"}
    (torn,) = faults(faults=("power-off:mode=torn",)).one_of_each
    assert isinstance(torn, PowerOff)
    assert torn.mode == "torn"


def _is_power(window: Window) -> bool:
    return isinstance(window.fault, PowerOff)


def test_a_name_may_have_its_victim_and_a_victim_that_stands_twice_is_likelier() -> None:
    named = drawn(faults(faults=("kill-leader",), victims=("2",)))
    assert {str(window.fault.victim) for window in named.windows} == {"leader"}
    what = faults(faults=("kill",), victims=("1", "1", "1", "2"))
    hit = Counter(str(each.fault.victim) for each in drawn(what, 3, 5.0 * 400).windows)
    assert 240 < hit["1"] < 360


def test_a_schedule_of_random_faults_is_recorded_whole() -> None:
    for what in (faults(), faults(overlap=True)):
        assert schedule_from(json.loads(json.dumps(windows_as_json(drawn(what))))) == drawn(what)


@pytest.mark.parametrize("overlap", [False, True])
def test_a_file_has_what_was_asked_for(overlap: bool) -> None:
    what = faults(overlap=overlap, hold_s=(0.1 + 0.2, 3.0))
    (found,) = scenarios_in(_toml(what.as_toml())).values()
    assert found.schedule(seed=3, nodes=3, duration_s=60.0) == what.schedule(
        random.Random("3:schedule"), 3, 60.0
    )
    assert {fault.kind for fault in found.faults} == set(KINDS)


def _toml(text: str, more: str = "") -> ScenarioFile:
    return ScenarioFile(name="mine.toml", text=f'name = "mine"\n{more}\n{text}\n')


def test_victims_are_those_of_the_workload_unless_they_are_given() -> None:
    text = '[random]\nfaults = ["kill"]'
    (of_logs,) = scenarios_in(_toml(text, 'workload = "append"')).values()
    (of_quorums,) = scenarios_in(_toml(text)).values()
    told = [
        {str(each.fault.victim) for each in it.schedule(seed=1, nodes=3, duration_s=500).windows}
        for it in (of_logs, of_quorums)
    ]
    assert told[0] == {"partition-leader", "in-sync-follower", "random-broker", "leader"}
    assert told[1] == {"leader", "follower", "random"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('faults = ["kil"]', "unknown fault 'kil'; like it: kill"),
        ("faults = []", "there are no faults"),
        ('faults = ["kill"]\nvictims = []', "there are no victims"),
        ('faults = ["kill"]\nvictims = ["leadr"]', "unknown victim 'leadr'; like it: leader"),
        ('faults = ["power-off:mode=tron"]', "'tron' is not one of lose-all"),
        ('faults = ["power-off:torn"]', "'torn' is not NAME=VALUE"),
        ('faults = ["kill"]\nevery_s = 0.1', "every 0.5 s at the most often"),
        ('faults = ["kill"]\nevery_s = 3\nhold_s = [1, 5]', "does not fit between two"),
        ('faults = ["kill"]\nhold_s = [5, 1]', "from less to more"),
        ('faults = ["kill"]\nhold_s = [5]', "expected the least and the most"),
        ('faults = ["kill"]\nwhen = 5', "random has no 'when'; known: every_s, faults"),
        ('faults = ["kill"]\noverlap = 1', "overlap: expected true or false"),
    ],
)
def test_what_is_wrong_is_told(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        scenarios_in(_toml(f"[random]\n{text}"))


def test_faults_are_at_their_times_or_at_random() -> None:
    both = '[random]\nfaults = ["kill"]\n[[faults]]\nfault = "kill-leader"\nat_s = 1\nhold_s = 1'
    with pytest.raises(ValueError, match="at their times or at random, and not both"):
        scenarios_in(_toml(both))


@pytest.mark.parametrize(
    ("text", "found"),
    [("10s", 10.0), ("500ms", 0.5), ("5m", 300.0), ("1h30m", 5400.0), ("1.5s", 1.5), ("7", 7.0)],
)
def test_times_are_read(text: str, found: float) -> None:
    assert seconds(0.5, 86_400)(text) == found


@pytest.mark.parametrize("text", ["", "s", "5x", "-5s", "1s2", "100ms", "2d", "nan", "1e3", "25h"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(Exception, match=r"is not a time from 0.5 s to 86400 s"):
        seconds(0.5, 86_400)(text)


def test_a_run_is_repeated_from_its_directory_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["chaos", *FEW, *QUICK, "--json", "--out", str(tmp_path / "runs")]) in (0, 2)
    ran = Path(json.loads(capsys.readouterr().out)["directory"])
    plan = plan_of_run(ran)
    assert [window.at_s // 2.0 for window in plan.drawn().windows] == [0, 1, 2]
    assert plan.drawn().at_random
    again = tmp_path / "again"
    main(["replay", str(ran), "--out", str(again)])
    assert "byte for byte as recorded" in capsys.readouterr().err
    (other,) = (each for each in again.iterdir() if not each.is_symlink())
    assert differences(ran, other) == []


def test_a_saved_scenario_is_the_one_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.toml"
    assert main(["chaos", *FEW, "--save", str(file)]) == 0
    assert f"kraft-chaos run --scenario-file {file}" in capsys.readouterr().out
    words = ("run", "--scenario-file", str(file), "--runtime", "sim", "--seed", "4")
    out = str(tmp_path / "runs")
    assert main([*words, "--concurrency", "3", "--rate", "20", "--json", "--out", out]) in (0, 2)
    directory = Path(json.loads(capsys.readouterr().out)["directory"])
    assert plan_of_run(directory).file == ScenarioFile(name="mine.toml", text=file.read_text())
    assert main(["chaos", "--save", str(tmp_path / "no" / "where.toml")]) == 254
    file.write_text("edited")
    assert main(["chaos", "--save", str(file)]) == 254
    assert "try: another name" in capsys.readouterr().err
    assert file.read_text() == "edited"


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ("--faults kil", 254, "unknown fault 'kil'; like it: kill"),
        ("--every 10s --for 5s", 254, "no fault begins within 5 s"),
        ("--faults kill --victims partition-leader", 254, "this cluster has no brokers"),
        ("--faults kill --victims 9", 254, "there is no node 9; nodes: 1, 2, 3"),
        (
            "--faults switched-voter,kill",
            255,
            "switched-voter: refused, since node in sim cannot let a node be the other",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    words: str, code: int, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["chaos", *words.split(), *QUICK, "--out", str(tmp_path / "runs")]) == code
    assert why in capsys.readouterr().err
    assert not list((tmp_path / "runs").glob("*"))
