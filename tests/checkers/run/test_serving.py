"""In calm clients are served: shares and silences, away from faults."""

from dataclasses import replace

import pytest

from checkers.history.events import REFUSED
from checkers.run.serving import serves_in_calm
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, Row, fault, make_run, read, write

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
FIGURES = {"longest_late_ms": 1.0}


def load(from_ms: int, to_ms: int, *, ok: bool = True, step_ms: int = 20) -> list[Row]:
    """A write and a read in turn, each of which takes ten milliseconds."""
    ops = []
    for number, at in enumerate(range(from_ms, to_ms, step_ms)):
        make = write if number % 2 else read
        row = make(100 + number // 2, at, at + 10)
        row |= {"t0": at * MS, "t1": (at + 10) * MS}
        row |= {} if ok else {"outcome": "fail", "error": "error-41"}
        ops.append(row)
    return ops


def judged(ops: list[Row], *windows: tuple[int, int], **info: object) -> CheckResult:
    faults = [fault(n, "partition", *window) for n, window in enumerate(windows)]
    final = [read(1, 90_000, 90_001, phase="final", key="r-9")]
    final[0] |= {"t0": 30_000 * MS, "t1": 30_001 * MS}
    run = make_run(ops=[*ops, *final], faults=faults, duration_ns=30_000 * MS, runtime="sim")
    return serves_in_calm(replace(run, info=replace(run.info, **info)))  # type: ignore[arg-type]


def test_who_is_served_all_the_time() -> None:
    result = judged(load(0, 30_000))
    assert (result.verdict, result.looked_at > 1000) == (VALID, True), result.message


def test_everything_is_refused_from_one_moment_on() -> None:
    result = judged(load(0, 3_000) + load(3_000, 30_000, ok=False))
    assert (result.verdict, result.count) == (INVALID, 4)
    assert "in calm" in result.message
    assert "most often the answer was error-41" in result.message
    assert result.witness


def test_a_silence_that_is_longer_than_an_answer_takes() -> None:
    """The share is high enough all the same."""
    short = load(0, 10_000) + load(10_000, 12_500, ok=False) + load(12_500, 30_000)
    assert judged(short).verdict is VALID
    long = load(0, 10_000) + load(10_000, 13_500, ok=False) + load(13_500, 30_000)
    result = judged(long)
    assert (result.verdict, result.count) == (INVALID, 2)
    assert result.message.startswith(
        "no read succeeded for 3.5 s in calm, though 88 were asked for"
    )


def test_where_nobody_asks_nobody_is_refused() -> None:
    assert judged(load(0, 10_000) + load(20_000, 30_000)).verdict is VALID


def test_faults_and_the_time_after_them_are_no_calm() -> None:
    """A leader has to be elected, which may take 14 s."""
    hurt = load(0, 5_000) + load(5_000, 21_000, ok=False) + load(21_000, 30_000)
    assert judged(hurt, (5_000, 8_000)).verdict is VALID
    assert judged(hurt, (5_000, 6_500)).verdict is VALID
    late = load(0, 5_000) + load(5_000, 26_500, ok=False) + load(26_500, 30_000)
    assert judged(late, (5_000, 6_500)).verdict is INVALID
    before = load(0, 1_500) + load(1_500, 9_000, ok=False) + load(9_000, 30_000)
    assert judged(before, (8_000, 9_000)).verdict is INVALID


def test_what_has_to_be_refused_does_not_count() -> None:
    wrong = [row | {"error": f"{REFUSED}no number"} for row in load(5, 30_000, ok=False)]
    assert judged(load(0, 30_000) + wrong).verdict is VALID


def test_a_process_that_ended_by_itself_and_a_cluster_that_is_stuck_are_others_to_judge() -> None:
    refused = load(0, 3_000) + load(3_000, 30_000, ok=False)
    ended = ({"node": 1, "t_ns": 3_000 * MS, "exit_code": 1, "words": ""},)
    assert judged(refused, unasked_ends=ended).verdict is VALID
    assert judged(refused, (2_900, 3_100), stuck="no write was acknowledged").verdict is VALID


@pytest.mark.parametrize(
    ("pressure", "verdict"),
    [(FIGURES, INVALID), ({}, UNKNOWN), ({"longest_late_ms": 1e4}, Verdict.ERROR)],
)
def test_where_time_is_real_the_machine_may_be_to_blame(
    pressure: dict[str, float], verdict: Verdict
) -> None:
    ops = load(0, 11_000) + load(11_000, 30_000, ok=False)
    assert judged(ops, runtime="docker", pressure=pressure).verdict is verdict
