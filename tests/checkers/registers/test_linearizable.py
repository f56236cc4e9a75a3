"""Registers: hand-made histories, and thousands of random ones against a brute-force search."""

import random
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest

from checkers.history.sealed_run import LINEARIZABLE_READS
from checkers.history.tables import OPS
from checkers.linearizability import zones
from checkers.registers.linearizable import PLURALS, linearizable, swept
from checkers.registers.register_anomalies import SweptRegisters, register_columns
from checkers.verdict import Verdict
from tests.support.brute_force import brute_force
from tests.support.histories import Row, delete, make_run, op, read, write
from tests.support.random_registers import RandomRegisters, RegisterShape, random_registers


def verdict(*ops: Row, truncated: tuple[str, ...] = ()) -> tuple[Verdict, str]:
    result = linearizable(make_run(ops=ops, truncated=truncated))
    names = [name for name, many in PLURALS.items() if many.replace(" ", "_") in result.facts]
    return result.verdict, ", ".join(names)


ACCEPTED: dict[str, list[Row]] = {
    "one write, one read": [write(1, 0, 1), read(1, 2, 3)],
    "an operator changes the voters meanwhile": [
        write(1, 0, 1),
        op("remove-voter", None, 2, None, key="2:AAAAAAAAAAAAAAAAAAAAAQ", process=1),
        read(1, 3, 4),
    ],
    "nothing was written yet": [read(None, 0, 1), write(1, 2, 3)],
    "a concurrent read sees nothing": [write(1, 0, 3), read(None, 1, 2)],
    "a concurrent read sees the new value": [write(1, 0, 3), read(1, 1, 2)],
    "two concurrent writes, read in either order": [
        write(1, 0, 4),
        write(2, 1, 5),
        read(2, 2, 3),
        read(1, 6, 7),
    ],
    "an info write that nobody saw": [write(1, 0, 1), write(2, 2, None), read(1, 3, 4)],
    "an info write that was seen late": [
        write(1, 0, 1),
        write(2, 2, 3, outcome="info"),
        read(1, 4, 5),
        read(2, 6, 7),
    ],
    "a failed write that nobody saw": [
        write(1, 0, 1),
        write(2, 2, 3, outcome="fail"),
        read(1, 4, 5),
    ],
    "a read that failed": [write(1, 0, 1), read(None, 2, 3, outcome="fail")],
    "a read that never returned": [write(1, 0, 1), read(None, 2, None)],
    "the same value on two keys": [write(1, 0, 1), write(1, 2, 3, key="r-1"), read(1, 4, 5)],
}

REJECTED: dict[str, tuple[str, list[Row]]] = {
    "a lost write": ("stale read", [write(1, 0, 1), read(None, 2, 3)]),
    "a stale read": ("stale read", [write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)]),
    "a value that comes back": (
        "stale read",
        [write(1, 0, 1), write(2, 2, 9), read(2, 3, 4), read(1, 5, 6)],
    ),
    "reads that disagree about the order": (
        "stale read",
        [write(1, 0, 12), write(2, 1, 13), read(1, 2, 3), read(2, 4, 5), read(1, 6, 7)],
    ),
    "nothing after something": (
        "stale read",
        [write(1, 0, 9), read(1, 1, 2), read(None, 3, 4)],
    ),
    "an info write seen, then undone": (
        "stale read",
        [write(1, 0, 1), write(2, 2, None), read(2, 3, 4), read(1, 5, 6)],
    ),
    "a future read": ("future read", [read(1, 0, 1), write(1, 2, 3)]),
    "a phantom": ("phantom read", [write(1, 0, 1), read(9, 2, 3)]),
    "another key's value": ("phantom read", [write(1, 0, 1, key="r-1"), read(1, 2, 3)]),
    "a fail that happened": (
        "failed write happened",
        [write(1, 0, 1), write(2, 2, 3, outcome="fail"), read(2, 4, 5)],
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    assert verdict(*ACCEPTED[name]) == (Verdict.VALID, "")


@pytest.mark.parametrize("name", REJECTED)
def test_rejected(name: str) -> None:
    anomaly, ops = REJECTED[name]
    assert verdict(*ops) == (Verdict.INVALID, anomaly)


def test_what_a_target_never_promised_is_told_and_not_held_against_it() -> None:
    stale = [write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)]
    told = linearizable(make_run(ops=stale, promises=[]))
    assert (told.verdict, told.facts["stale_reads"]) == (Verdict.VALID, 1)
    assert told.message.startswith("1 stale read, which this target never promised to avoid: stale")
    assert told.witness
    phantom = linearizable(make_run(ops=[*stale, read(7, 6, 7)], promises=[]))
    assert phantom.verdict is Verdict.INVALID


def test_ten_stale_reads_do_not_hide_a_phantom() -> None:
    ops = []
    for number in range(10):
        at, key = 8 * number, f"r-{number}"
        ops += [write(100, at, at + 1, key=key), write(101, at + 2, at + 3, key=key)]
        ops += [read(101, at + 4, at + 5, key=key), read(100, at + 6, at + 7, key=key)]
    ops.append(read(999, 80, 81))
    result = linearizable(make_run(ops=ops, target="kafka 4.3.1", promises=[]))
    assert (result.verdict, result.count) == (Verdict.INVALID, 1)
    assert (result.facts["stale_reads"], result.facts["phantom_reads"]) == (10, 1)
    assert result.message == (
        "phantom read: process 0 read 999 at r-0, which was never written "
        "(1 phantom read; not held against it: 10 stale reads)"
    )


RESENT = [write(1, 0, None), write(1, 1, 2), write(2, 3, 4), read(1, 5, 6)]
DELETED: dict[str, tuple[Verdict, list[Row]]] = {
    "deleted is gone": (
        Verdict.VALID,
        [write(1, 0, 1), delete(2, 3), read(None, 4, 5), write(2, 6, 7), read(2, 8, 9)],
    ),
    "it is still there": (Verdict.INVALID, [write(1, 0, 1), delete(2, 3), read(1, 4, 5)]),
    "gone before it was deleted": (
        Verdict.INVALID,
        [write(1, 0, 1), read(None, 2, 3), delete(4, 5)],
    ),
    "a delete that nobody knows about, seen late": (
        Verdict.VALID,
        [write(1, 0, 1), delete(2, None), read(1, 3, 4), read(None, 5, 6)],
    ),
    "a refused delete that happened": (
        Verdict.INVALID,
        [write(1, 0, 1), delete(2, 3, outcome="fail"), read(None, 4, 5)],
    ),
    "sent again after an unknown end": (
        Verdict.VALID,
        RESENT,
    ),
    "twice and once more": (
        Verdict.INVALID,
        [*RESENT, write(3, 7, 8), read(1, 9, 10)],
    ),
}


@pytest.mark.parametrize("name", DELETED)
def test_deletes_and_what_is_sent_again(name: str) -> None:
    expected, ops = DELETED[name]
    result = linearizable(make_run(ops=ops))
    assert result.verdict is expected
    assert bool(result.witness) == (expected is Verdict.INVALID)


def test_a_key_on_which_a_value_was_written_twice_is_searched() -> None:
    twice = [write(1, 0, 1), write(1, 2, 3), read(1, 4, 5)]
    result = linearizable(make_run(ops=[*twice, write(7, 6, 7, key="other")]))
    assert result.verdict is Verdict.VALID
    assert "just-in-time frontier where values repeat" in result.algorithm


def test_a_violation_among_repeated_values_has_a_witness() -> None:
    twice = [write(1, 0, 1), write(2, 2, 3), write(1, 4, 5), read(2, 6, 7)]
    result = linearizable(make_run(ops=twice))
    assert (result.verdict, result.count) == (Verdict.INVALID, 1)
    assert [row["value"] for row in result.witness][-1] == 2
    assert "read 2" in result.message


def test_what_was_lost_with_the_record_may_have_been_the_write_again() -> None:
    twice = [write(1, 0, 1), write(2, 2, 3), write(1, 4, 5), read(2, 6, 7)]
    result = linearizable(make_run(ops=twice, truncated=("events-2",)))
    assert result.verdict is Verdict.UNKNOWN


def test_an_undecided_key_hides_no_violation_on_another() -> None:
    twice = [write(1, 0, 1), write(1, 2, 3), read(1, 4, 5)]
    other = [write(7, 6, 7, key="b"), write(8, 8, 9, key="b"), read(7, 10, 11, key="b")]
    assert verdict(*twice, *other) == (Verdict.INVALID, "stale read")


def test_nothing_to_judge_is_unknown() -> None:
    assert verdict()[0] is Verdict.UNKNOWN
    assert verdict(read(None, 0, None))[0] is Verdict.UNKNOWN


def test_a_phantom_in_a_cut_record_is_unknown_but_a_stale_read_stays_invalid() -> None:
    cut = ("events-1: last frame",)
    assert verdict(write(1, 0, 1), read(9, 2, 3), truncated=cut)[0] is Verdict.UNKNOWN
    _, stale = REJECTED["a stale read"]
    assert verdict(*stale, truncated=cut)[0] is Verdict.INVALID


def test_the_witness_is_minimal_and_names_who_when_and_where() -> None:
    noise = [write(100 + i, 20 + 2 * i, 21 + 2 * i, process=9) for i in range(50)]
    _, stale = REJECTED["a stale read"]
    stale[2] = read(1, 4, 5, process=3, node=2)
    result = linearizable(make_run(ops=[*stale, *noise]))
    assert result.count == 1
    assert [(row["f"], row["value"]) for row in result.witness] == [
        ("write", 1),
        ("write", 2),
        ("read", 1),
    ]
    assert result.message == (
        "stale read: process 3 read 1 at r-0 after the write of 2 by process 0 had completed"
    )
    assert {"what", "t_ns", "t1_ns", "process", "node", "key"} <= set(result.witness[-1])
    assert result.witness[-1]["node"] == 2


def test_an_operation_that_ends_before_it_begins_is_no_history() -> None:
    with pytest.raises(ValueError, match="completes before it begins"):
        linearizable(make_run(ops=[write(1, 5, 4)]))
    with pytest.raises(ValueError, match="shares its event index"):
        linearizable(make_run(ops=[write(1, 0, 1), write(2, 0, 2)]))
    with pytest.raises(ValueError, match="a write without a value"):
        linearizable(make_run(ops=[read(None, 0, 1) | {"f": "write"}]))
    with pytest.raises(ValueError, match="neither reads, writes nor deletes"):
        linearizable(make_run(ops=[read(None, 0, 1) | {"f": "poll"}]))


def test_sparse_indices_are_ranked() -> None:
    ops = [write(1, 10**8, 10**8 + 5), write(2, 10**9, 10**10)]
    ops.append(read(1, 10**10 + 1, 10**10 + 2))
    assert verdict(*ops) == (Verdict.INVALID, "stale read")
    assert verdict(*ops[:2]) == (Verdict.VALID, "")


def judged(ops: list[Row]) -> SweptRegisters:
    table = pa.Table.from_pylist(ops, schema=OPS)
    return swept(table, register_columns(table))


def test_thousands_of_random_histories_agree_with_brute_force() -> None:
    rng = random.Random("registers")
    wrong, rejected = [], 0
    for _ in range(4000):
        ops = random_registers(rng, RegisterShape(operations=rng.randint(2, 8)))
        expected = brute_force(ops)
        found = judged(ops)
        assert not found.repeated
        rejected += not expected
        if (not found.counts) != expected:
            wrong.append(ops)
    assert not wrong, wrong[0]
    assert 400 < rejected < 3400, rejected


@pytest.mark.parametrize("part", range(4))
def test_deletes_and_repeated_writes_agree_with_brute_force(part: int) -> None:
    rng = random.Random(f"repeats {part}")
    rejected = {True: 0, False: 0}
    for _ in range(300):
        shape = RegisterShape(
            operations=rng.randint(2, 9),
            keys=rng.choice([1, 1, 2]),
            repeats=rng.choice([0.0, 0.5, 0.9]),
            deletes=rng.choice([0.0, 0.2, 0.5]),
        )
        ops = random_registers(rng, shape)
        for promised in (True, False):
            run = make_run(ops=ops, promises=[LINEARIZABLE_READS] if promised else [])
            expected = brute_force(ops, stale_reads=not promised)
            result = linearizable(run)
            fine = Verdict.VALID if result.looked_at else Verdict.UNKNOWN
            assert result.verdict is (fine if expected else Verdict.INVALID), ops
            rejected[promised] += not expected
    assert 15 < rejected[False] < rejected[True] < 150, rejected


def test_a_witness_alone_is_not_linearizable() -> None:
    rng = random.Random("witness")
    for _ in range(800):
        ops = random_registers(rng, RegisterShape(operations=rng.randint(2, 8)))
        found = judged(ops)
        if found.counts:
            first = found.earliest(found.counts)
            shown = [ops[row] for row, _ in first.rows]
            assert len(shown) <= 6
            assert not brute_force(shown), (first, ops)


PLANTED = {"stale read": True, "phantom read": False, "future read": False, "refused": False}


def plant(ops: list[Row], key: str, kind: str) -> None:
    """Append an anomaly of a kind to the history of a key, at its end."""
    at = 1 + max(int(str(row["complete_index"] or row["invoke_index"])) for row in ops)
    fresh = 10_000 + len(ops)
    if kind == "stale read":
        ops += [write(fresh, at, at + 1, key=key), write(fresh + 1, at + 2, at + 3, key=key)]
        ops.append(read(fresh, at + 4, at + 5, key=key))
    elif kind == "phantom read":
        ops.append(read(fresh, at, at + 1, key=key))
    elif kind == "future read":
        ops += [read(fresh, at, at + 1, key=key), write(fresh, at + 2, at + 3, key=key)]
    else:
        ops.append(write(fresh, at, at + 1, key=key, outcome="fail"))
        ops.append(read(fresh, at + 2, at + 3, key=key))


@pytest.mark.parametrize("repeats", [0.0, 0.3])
def test_what_is_excused_hides_nothing_and_nothing_else_is_excused(repeats: float) -> None:
    rng = random.Random(f"planted {repeats}")
    for _ in range(60):
        shape = RegisterShape(operations=120, keys=4, repeats=repeats, deletes=repeats / 3)
        ops = RandomRegisters(rng=rng, shape=shape).history()
        planted = rng.choices(list(PLANTED), [6, 1, 1, 1], k=rng.randint(0, 14))
        for kind in planted:
            plant(ops, f"k{rng.randrange(4)}", kind)
        strict = linearizable(make_run(ops=ops))
        assert strict.verdict is (Verdict.INVALID if planted else Verdict.VALID), planted
        lenient = linearizable(make_run(ops=ops, target="kafka 4.3.1", promises=[]))
        accused = [kind for kind in planted if not PLANTED[kind]]
        assert lenient.verdict is (Verdict.INVALID if accused else Verdict.VALID), planted
        assert lenient.count == len(accused)
        assert ("stale_reads" in lenient.facts) == ("stale read" in planted)
        if not repeats:
            assert lenient.facts.get("stale_reads", 0) == planted.count("stale read")
            assert strict.count == len(planted)


def long_history(rows: int, keys: int, processes: int) -> pa.Table:
    """Rounds of `processes` concurrent operations that take effect in the order of their rows."""
    rng = np.random.default_rng(1)
    key = rng.integers(0, keys, rows)
    write = rng.random(rows) < 0.5
    newest, value = np.zeros(keys, np.int64), np.zeros(rows, np.int64)
    for row in range(rows):
        newest[key[row]] += write[row]
        value[row] = newest[key[row]]
    begin = np.arange(rows) + processes * (np.arange(rows) // processes)
    end = begin + processes
    columns: dict[str, object] = dict.fromkeys(OPS.names, np.zeros(rows, np.int64))
    columns |= {"op_id": np.arange(rows), "invoke_index": begin, "complete_index": end}
    columns |= {"value": pa.array(value, mask=value == 0)}
    columns |= {"key": pa.array(np.char.add("r-", key.astype(str)))}
    columns |= {"f": pa.array(np.where(write, "write", "read")), "voters": pa.nulls(rows)}
    columns |= dict.fromkeys(["outcome", "error", "phase"], pa.array(["ok"] * rows))
    return pa.table(
        {name: pa.array(columns[name]).cast(OPS.field(name).type) for name in OPS.names}
    )


def test_a_million_operations_are_judged_in_a_moment() -> None:
    ops = long_history(200_000, 100, 20)
    zones.warm()
    columns = register_columns(ops)
    began = time.process_time()
    found = swept(ops, columns)
    took = time.process_time() - began
    assert (found.counts, found.repeated) == ({}, [])
    assert took < 1.0  # the bar, 0.2 s for five times as many, is `make bench`'s


def test_importing_the_check_imports_no_compiler() -> None:
    code = "import sys; import checkers.registers.linearizable; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
