"""Clients that hang, or stop, while a cluster is hurt: such a run is void, and says when."""

from dataclasses import replace

import pytest

from checkers.run.sufficiency import workload_succeeded
from checkers.verdict import Verdict
from tests.support.histories import MS, Row, fault, make_run, read, write

LOAD = {"concurrency": 5, "rate": 30.0, "timeout_s": 1.0, "most_operations": 0}
THREE = [(2_000, 8_000), (11_000, 17_000), (20_000, 26_000)]


def load(from_ms: int, to_ms: int, step_ms: int = 30) -> list[Row]:
    """Writes and reads that come back within ten milliseconds."""
    ops = []
    for number, at in enumerate(range(from_ms, to_ms, step_ms)):
        make = write if number % 2 else read
        row = make(100 + number // 2, at, at + 10)
        ops.append(row | {"t0": at * MS, "t1": (at + 10) * MS})
    return ops


def verdict_of(ops: list[Row], windows: list[tuple[int, int]] = THREE, **info: object) -> str:
    faults = [fault(n, "partition", *window) for n, window in enumerate(windows)]
    run = make_run(ops=ops, faults=faults, load=LOAD, duration_ns=30_000 * MS)
    run = replace(run, info=replace(run.info, **info))  # type: ignore[arg-type]
    found = workload_succeeded(run)
    return "" if found.verdict is Verdict.VALID else f"{found.verdict.word}: {found.message}"


def test_clients_that_go_on_are_load() -> None:
    assert verdict_of(load(0, 29_000)) == ""


def test_sixty_quick_operations_and_clients_that_hang_are_none() -> None:
    hanging = [write(500 + p, 2_000 + p, None, key="r-1", process=10 + p) for p in range(5)]
    told = verdict_of(load(0, 1_800) + [row | {"t0": 1_900 * MS} for row in hanging])
    assert told.startswith("void: ")
    assert "none was tried during fault 0, partition" in told


@pytest.mark.parametrize(
    ("silent", "named"),
    [
        ((2_000, 8_000), "fault 0, partition"),
        ((11_000, 17_000), "fault 1, partition"),
        ((8_000, 11_000), ""),  # no longer than their patience
        ((20_000, 26_000), "fault 2, partition"),
        ((26_000, 30_000), "before the first"),
    ],
)
def test_a_silence_that_is_longer_than_their_patience_is_named(
    silent: tuple[int, int], named: str
) -> None:
    begin, end = silent
    told = verdict_of(load(0, begin) + load(end, 29_000), duration_ns=32_000 * MS)
    assert (told == "") == (named == "")
    assert named in told


@pytest.mark.parametrize(("until", "void"), [(9_990, False), (9_800, True)])
def test_a_fault_of_a_moment_is_met_by_what_is_tried_close_to_it(until: int, void: bool) -> None:
    """To sync a disk takes some milliseconds; clients make pauses as long."""
    windows = [(10_000, 10_004)]
    told = verdict_of(load(0, until) + load(10_200, 29_000), windows)
    assert ("none was tried during fault 0" in told) == void


@pytest.mark.parametrize(("before", "void"), [(0, True), (1, False), (2, False)])
def test_no_client_meets_what_was_over_before_there_were_any(before: int, void: bool) -> None:
    windows = [(500, 1_000), (2_000, 8_000)]
    told = verdict_of(load(1_500, 29_000), windows, faults_before_load=before)
    assert ("none was tried during fault 0" in told) == void
    assert (told == "") != void


def test_one_client_of_many_is_not_enough() -> None:
    few = load(2_000, 8_000, 3_500)
    told = verdict_of(load(0, 2_000) + few + load(8_000, 29_000), load={**LOAD, "concurrency": 40})
    assert "only 2 were invoked in the 6.0 s (at least" in told


def test_a_load_of_so_many_operations_may_be_over() -> None:
    ops = load(0, 8_300)
    limited = {**LOAD, "most_operations": len(ops)}
    assert verdict_of(ops, [(2_000, 8_000)], load=limited) == ""
    assert verdict_of(ops, [(2_000, 8_000)]) != ""


def refused(ops: list[Row]) -> list[Row]:
    return [row | {"outcome": "fail"} for row in ops]


@pytest.mark.parametrize(
    ("until", "told"),
    [
        (29_500, ""),  # in the last seconds, which no client needs to use
        (31_000, ""),
        (35_000, "only 0.0 a second succeeded after the last fault was healed"),
    ],
)
def test_successes_come_back_sooner_or_later_after_the_last_cure(until: int, told: str) -> None:
    """From the first of them on they are counted: when it came is judged elsewhere."""
    ops = load(0, 20_000) + refused(load(20_000, until)) + load(until, 34_000)
    found = verdict_of(ops, duration_ns=35_000 * MS)
    assert told in found
    assert bool(told) == bool(found)


def test_a_single_success_after_the_last_cure_is_no_return() -> None:
    ops = load(0, 20_000) + refused(load(20_000, 26_100)) + load(26_100, 26_130)
    ops += refused(load(26_200, 34_000))
    assert "0.2 a second succeeded after" in verdict_of(ops, duration_ns=35_000 * MS)
