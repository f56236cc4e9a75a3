"""What longer commands left behind: the last soak, selftest and test run."""

import json
from collections.abc import Iterator
from pathlib import Path

from chaos.selftest.trying import KEPT as KEPT_SELFTEST
from checkers.verdict import in_words
from tests.bench.row import Row
from tests.damage.campaign import KEPT as DAMAGE
from tests.lies.judging import KEPT as LIES
from tests.soak import KEPT

RUNS = Path("runs")
TEST_SECONDS = RUNS / "test-seconds.json"


def measure() -> Iterator[Row]:
    yield from soak()
    yield from sides()
    yield from selftest()
    yield from damage()
    yield from lies()
    yield from test_run()


def soak() -> Iterator[Row]:
    if not KEPT.exists():
        yield Row(name="soak: runs not valid", value=None, unit="runs", bar=0, note="run make soak")
        return
    runs = json.loads(KEPT.read_text())
    bad = [run for run in runs if run["verdict"] != "valid"]
    yield Row(
        name="soak: runs not valid", value=len(bad), unit="runs", bar=0, note=f"of {len(runs)}"
    )


def damage() -> Iterator[Row]:
    """What is missing accuses nobody and passes for nothing; what was lost is found."""
    if not DAMAGE.exists():
        note = "run python -m tests.damage"
        yield Row(name="damage: wrong verdicts", value=None, unit="runs", bar=0, note=note)
        return
    kept = json.loads(DAMAGE.read_text())
    for what, name in (("damages", "damage: wrong verdicts"), ("planted", "loss: not found")):
        verdicts = ", ".join(f"{n} {word}" for word, n in sorted(kept[what]["verdicts"].items()))
        note = f"of {kept[what]['count']}: {verdicts}"
        yield Row(name=name, value=kept[what]["wrong"], unit="runs", bar=0, note=note)


def lies() -> Iterator[Row]:
    """Every check sees what breaks its promise, and minds nothing that is near to it."""
    if not LIES.exists():
        yield Row(name="lies: not seen", value=None, unit="runs", bar=0, note="run make lies")
        return
    kept = json.loads(LIES.read_text())
    of_runs = f"{kept['alterations']} alterations of {kept['runs']} runs"
    for what, number, note in (
        ("lies: not seen", "lies_not_seen", f"of {kept['lies']}; {of_runs}"),
        ("lies: legal ones accused", "legal_accused", f"of {kept['legal']}"),
        ("lies: checks that lack some", "checks_lacking", "of two lies and two legal ones each"),
    ):
        yield Row(name=what, value=kept[number], unit="runs", bar=0, note=note)


def sides() -> Iterator[Row]:
    """Of 20 runs each: red where it has to be, and never where it must not."""
    path = RUNS / "last-replica-standing.json"
    if not path.exists():
        name = "last-replica-standing: runs as expected"
        yield Row(name=name, value=None, unit="runs", bar=19, better="more", note="run make soak")
        return
    for side in json.loads(path.read_text())["sides"]:
        runs = side["counted"]
        yield Row(
            name=f"last-replica-standing, {side['side']}: {side['expected']}",
            value=side["as_expected"],
            unit="runs",
            bar=19 if side["expected"].startswith("invalid") else runs,
            better="more",
            note=in_words(side["as_expected"], runs),
        )


def selftest() -> Iterator[Row]:
    path = RUNS / "selftest" / KEPT_SELFTEST
    name = "selftest in containers"
    if not path.exists():
        yield Row(name=name, value=None, unit="s", bar=900, note="run kraft-chaos selftest")
        return
    kept = json.loads(path.read_text())
    held = sum(row["holds"] for row in kept["rows"])
    note = f"{held} of {len(kept['rows'])} rows hold"
    yield Row(name=name, value=kept["seconds"], unit="s", bar=900, note=note)


def test_run() -> Iterator[Row]:
    if not TEST_SECONDS.exists():
        yield Row(name="make test", value=None, unit="s", bar=600, note="run make test")
        return
    kept = json.loads(TEST_SECONDS.read_text())
    yield Row(name="make test", value=kept["all"], unit="s", bar=600, note="the last run of it")
    yield Row(name="make test: unit and core", value=kept["unit"], unit="s", bar=60)
