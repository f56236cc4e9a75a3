"""What clients were to do they did, and it succeeded before the faults and after them."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from checkers.run.sufficiency import workload_succeeded
from checkers.verdict import Verdict
from tests.support.histories import MS, Row, fault, make_run, op, read, write
from tests.support.logs import LogRun

LOAD = {"read_share": 0.5, "live_keys": 2, "concurrency": 5, "rate": 50.0, "timeout_s": 1.0}


def asked(from_ms: int, to_ms: int, kinds: str = "rw", *, ok: bool = True) -> list[Row]:
    """Something each 20 ms, on two registers."""
    ops = []
    for number, at in enumerate(range(from_ms, to_ms, 20)):
        make = {"r": read, "w": write}[kinds[number % len(kinds)]]
        row = make(100 + number, at, at + 10, key=f"r-{number // 2 % 2}")
        row |= {"t0": at * MS, "t1": (at + 10) * MS}
        ops.append(row if ok else row | {"outcome": "fail", "error": "error-41"})
    return ops


def told(
    ops: list[Row],
    load: Mapping[str, object] = LOAD,
    *,
    finished: bool = True,
    cured: int = 6_000,
) -> str:
    """What is lacking; "" if nothing is. One fault lasts from 4 s to 6 s, and 10 s are all."""
    final = read(1, 90_000, 90_001, phase="final") | {"t0": 10_000 * MS, "t1": 10_001 * MS}
    run = make_run(
        ops=[*ops, final],
        faults=[fault(0, "partition", 4_000, cured)],
        load=load,
        duration_ns=10_000 * MS,
        finished=finished,
    )
    found = workload_succeeded(run)
    assert found.verdict in (Verdict.VALID, Verdict.VOID)
    return "" if found.verdict is Verdict.VALID else found.message.partition(", but ")[2]


WHOLE = asked(0, 10_000)


def test_all_was_done() -> None:
    assert told(WHOLE) == ""


def test_what_the_plan_has_there_is() -> None:
    assert told(asked(0, 10_000, "w")) == "there was no read"
    assert told(asked(0, 10_000, "r")) == "there was no write"
    assert told(asked(0, 10_000, "w"), {**LOAD, "read_share": 0.0}) == ""
    alone = [row | {"key": "r-0"} for row in WHOLE]
    assert told(alone) == "all on r-0 alone"
    assert told(alone, {**LOAD, "live_keys": 1}) == ""


def test_each_kind_succeeded_before_and_after() -> None:
    hurt = asked(0, 6_000)
    assert told(hurt + asked(6_000, 10_000, "r") + asked(6_005, 10_000, "w", ok=False)) == (
        "none of 200 writes after the last cure succeeded"
    )
    early = asked(0, 4_000, "r") + asked(5, 3_990, "w", ok=False) + asked(4_000, 10_000)
    assert told(early) == "none of 200 writes before the first fault succeeded"


def test_something_was_changed_after_the_last_cure() -> None:
    """As the harness waits for."""
    after = asked(0, 6_000) + asked(6_000, 10_000, "r") + asked(6_000, 6_100, "w", ok=False)
    assert told(after) == "no operation that changes anything succeeded after the last cure"
    assert told(after, finished=False) == ""


def test_what_was_done_at_a_steady_pace_is_done_again() -> None:
    commits = [
        op("commit-offset", 1, at, at + 5, key="g") | {"t0": at * MS, "t1": (at + 5) * MS}
        for at in range(7, 3_900, 100)
    ]
    assert told(WHOLE + commits).startswith("there was no commit-offset in the 4.0 s after")
    late = [row | {"t0": row["t0"] + 6_000 * MS, "t1": row["t1"] + 6_000 * MS} for row in commits]  # type: ignore[operator]  # numbers
    assert told(WHOLE + commits + late) == ""
    # A second long all may wait for answers that were swallowed.
    assert told(WHOLE + commits, cured=8_500) == ""
    assert told(WHOLE + commits, cured=7_500).startswith("there was no commit-offset in the 2.5 s")


@pytest.mark.parametrize(
    ("load", "acks", "polled", "lacking"),
    [
        ({}, 1, True, ""),
        ({"acks_none_share": 0.0, "acks_leader_share": 0.2, "producers": 2}, -1, True, ""),
        (
            {"acks_none_share": 0.0, "acks_leader_share": 0.2, "producers": 2},
            1,
            True,
            "only 0 sends of those that wait for all in-sync replicas succeeded",
        ),
        ({"consumers": 2}, -1, True, ""),
        ({"consumers": 2}, -1, False, "consumers were given nothing before the final reads"),
        ({"topics": 2, "partitions": 1}, -1, True, "all on t-0 alone"),
        (
            {"chores": ["committing-offsets"]},
            -1,
            True,
            "of its committing offsets no commit-offset succeeded",
        ),
    ],
)
def test_logs(load: dict[str, object], acks: int, polled: bool, lacking: str) -> None:
    told = LogRun()
    for number in range(60):
        told.send(number, number, acks=acks)
    for number in range(20):
        told.poll(*([(number, number)] if polled else []))
    run = told.run()
    found = workload_succeeded(replace(run, info=replace(run.info, load=load)))
    assert found.message.partition(", but ")[2] == lacking
