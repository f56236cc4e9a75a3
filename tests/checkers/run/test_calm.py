"""Operations that take long although nothing was disturbed, by hand."""

from typing import Any

import pytest

from checkers.history.sealed_run import Run
from checkers.run.recovery import calm_operations_are_quick
from checkers.verdict import Verdict
from tests.support.histories import MS, Row, fault, make_run, write
from tests.support.judged import saw_nothing

SECOND = 1000  # ms
QUIET = {"longest_late_ms": 40.0}


def quick(begin: int, *, taken: int = 8, count: int = 100) -> list[Row]:
    """One operation after the other, from `begin` ms on."""
    return [
        write(n, 0, 1) | {"t0": (begin + 20 * n) * MS, "t1": (begin + 20 * n + taken) * MS}
        for n in range(count)
    ]


def run(ops: list[Row], *faults: Row, runtime: str = "sim", **info: Any) -> Run:
    first = write(1, 0, 1) | {"t0": 0, "t1": 5 * MS}
    told: dict[str, Any] = {"duration_ns": 120 * SECOND * MS, "pressure": QUIET} | info
    return make_run(ops=[first, *ops], faults=faults, runtime=runtime, **told)


@pytest.mark.parametrize(
    ("taken", "runtime", "verdict"),
    [
        (199, "sim", Verdict.VALID),
        (201, "sim", Verdict.INVALID),
        (4_999, "docker", Verdict.VALID),
        (5_001, "docker", Verdict.INVALID),
    ],
)
def test_an_operation_that_waits(taken: int, runtime: str, verdict: Verdict) -> None:
    slow = write(7, 0, 1) | {"t0": 50 * SECOND * MS, "t1": (50 * SECOND + taken) * MS}
    result = calm_operations_are_quick(run([*quick(30 * SECOND), slow], runtime=runtime))
    assert (result.verdict, result.looked_at) == (verdict, 101), result.message


@pytest.mark.parametrize(
    ("taken", "runtime", "verdict"),
    [
        (1_600, "sim", Verdict.VALID),
        (1_601, "sim", Verdict.INVALID),
        (5_001, "docker", Verdict.INVALID),
    ],
)
def test_a_simulated_network_may_be_told_to_be_slow(
    taken: int, runtime: str, verdict: Verdict
) -> None:
    """Of a swarm's seed that drew 0.4 s for one message in twenty."""
    told = {"latency_most_us": 10_000, "spikes": 0.05, "spike_factor": 40}
    found = run(slow_at_50_s(taken), runtime=runtime, conditions=told)
    assert calm_operations_are_quick(found).verdict is verdict


@pytest.mark.parametrize(
    ("taken", "late_flushes", "verdict"),
    [
        (800, 0.05, Verdict.VALID),
        (801, 0.05, Verdict.INVALID),
        (201, 0.0, Verdict.INVALID),  # no flush is late
    ],
)
def test_flushes_of_a_simulated_disk_may_be_told_to_be_late(
    taken: int, late_flushes: float, verdict: Verdict
) -> None:
    """One may be under way as a record is appended; the next one is the record's own."""
    told = {"late_flushes": late_flushes, "late_most_us": 400_000}
    found = run(slow_at_50_s(taken), conditions=told)
    assert calm_operations_are_quick(found).verdict is verdict


def test_one_that_never_returns_is_slow() -> None:
    hangs = write(7, 0, None) | {"t0": 50 * SECOND * MS}
    assert calm_operations_are_quick(run([*quick(30 * SECOND), hangs])).count == 1


def test_around_a_fault_it_may_take_long() -> None:
    slow = write(7, 0, 1) | {"t0": 50 * SECOND * MS, "t1": 51 * SECOND * MS}
    for start, healed in ((50_500, 52_000), (45_000, 47_000), (40_000, 49_000)):
        found = run([*quick(30 * SECOND), slow], fault(1, "kill", start, healed))
        assert calm_operations_are_quick(found).verdict is Verdict.VALID
    long_ago = run([*quick(30 * SECOND), slow], fault(1, "kill", 1_000, 2_000))
    assert calm_operations_are_quick(long_ago).verdict is Verdict.INVALID


def slow_at_50_s(taken: int = 6_000) -> list[Row]:
    slow = write(7, 0, 1) | {"t0": 50 * SECOND * MS, "t1": (50 * SECOND + taken) * MS}
    return [*quick(30 * SECOND), slow]


def test_a_starved_machine_is_named_and_no_node_accused() -> None:
    pressure = QUIET | {"cpu_share": 0.97}
    result = calm_operations_are_quick(run(slow_at_50_s(), runtime="docker", pressure=pressure))
    assert (result.verdict, result.count) == (Verdict.ERROR, 0)
    assert "the machine was starved (processes waited for a core for 97% of it)" in result.message


def test_there_is_no_calm_once_a_process_has_ended_by_itself() -> None:
    end = {"node": 2, "t_ns": 45 * SECOND * MS, "exit_code": 1, "words": "out of memory"}
    result = calm_operations_are_quick(run(slow_at_50_s(), unasked_ends=[end]))
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 100)


def test_there_is_no_calm_where_all_was_never_whole_again() -> None:
    stuck = run(slow_at_50_s(), fault(1, "kill", 1_000, 2_000), stuck="no leader within 60 s")
    assert saw_nothing(calm_operations_are_quick(stuck))


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        ({"defaults": "quick"}, Verdict.INVALID),
        ({"defaults": "stock"}, Verdict.VALID),
        ({"defaults": "quick", "controller.socket.timeout.ms": "30000"}, Verdict.VALID),
    ],
)
def test_a_broker_waits_for_a_silent_controller_as_it_is_configured(
    settings: dict[str, str], verdict: Verdict
) -> None:
    """It forwards nothing meanwhile, though another controller is active long since."""
    ops, silent = slow_at_50_s(), fault(1, "power-off", 10_000, 14_000)
    result = calm_operations_are_quick(run(ops, silent, runtime="docker", settings=settings))
    assert result.verdict is verdict


def test_of_a_few_operations_nothing_is_said() -> None:
    result = calm_operations_are_quick(run(quick(30 * SECOND, count=49)))
    assert saw_nothing(result)
    assert "49 operations in calm, 50 are enough; it begins " in result.message


def test_calm_begins_with_the_first_success() -> None:
    """At 5 ms, and two seconds behind it: long before followers could have followed again."""
    ops = quick(2_100)
    slow = write(7, 0, 1) | {"t0": 3_000 * MS, "t1": 3_300 * MS}
    assert calm_operations_are_quick(run([*ops, slow])).verdict is Verdict.INVALID
    before = fault(1, "kill", 1, 2)
    assert saw_nothing(calm_operations_are_quick(run([*ops, slow], before)))


@pytest.mark.parametrize(("ends", "verdict"), [(2_050, Verdict.VALID), (2_300, Verdict.INVALID)])
def test_what_was_asked_for_before_has_the_time_since(ends: int, verdict: Verdict) -> None:
    waits = write(7, 0, 1) | {"t0": 3 * MS, "t1": ends * MS}
    assert calm_operations_are_quick(run([*quick(2_100), waits])).verdict is verdict
