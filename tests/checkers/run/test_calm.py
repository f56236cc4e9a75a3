"""Operations that take long although nothing was disturbed, by hand."""

import pytest

from checkers.history.sealed_run import Run
from checkers.run.calm import calm_operations_are_quick
from checkers.verdict import Verdict
from tests.support.histories import MS, Row, fault, make_run, write
from tests.support.judged import saw_nothing

SECOND = 1000  # ms


def quick(begin: int, *, taken: int = 8, count: int = 100) -> list[Row]:
    """One operation after the other, from `begin` ms on."""
    return [
        write(n, 0, 1) | {"t0": (begin + 20 * n) * MS, "t1": (begin + 20 * n + taken) * MS}
        for n in range(count)
    ]


def run(ops: list[Row], *faults: Row, runtime: str = "sim") -> Run:
    first = write(1, 0, 1) | {"t0": 0, "t1": 5 * MS}
    duration = 120 * SECOND * MS
    return make_run(ops=[first, *ops], faults=faults, runtime=runtime, duration_ns=duration)


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


def test_of_a_few_operations_nothing_is_said() -> None:
    assert saw_nothing(calm_operations_are_quick(run(quick(30 * SECOND, count=49))))
