"""What a run should have left and did not, by kind; and what is not known to be missing."""

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from checkers.evidence.faults import Kind
from checkers.evidence.missing import missing
from checkers.history.sealed_run import Run
from checkers.run.sufficiency import evidence_complete
from checkers.suite import judge
from checkers.verdict import Verdict
from tests.support.sealed_runs import Shape, synthetic_run

SHAPE = Shape(duration_s=6)


@pytest.fixture(scope="module")
def whole() -> Run:
    return synthetic_run(SHAPE)


def without(run: Run, table: str, rows: Callable[[pa.Table], pa.Array]) -> Run:
    left = run.tables[table].filter(pc.invert(pc.fill_null(rows(run.tables[table]), False)))
    assert left.num_rows < run.tables[table].num_rows
    return replace(run, tables={**run.tables, table: left})


def timed(run: Run, column: str, at_ns: int) -> Run:
    """The tenth operation begins or ends at another time."""
    ops = run.tables["ops"]
    times = ops[column].to_pylist()
    times[9] = at_ns
    changed = ops.set_column(
        ops.schema.get_field_index(column), column, pa.array(times, pa.int64())
    )
    return replace(run, tables={**run.tables, "ops": changed})


def told(run: Run, **changes: object) -> Run:
    return replace(run, info=replace(run.info, **changes))  # type: ignore[arg-type]


def test_nothing_is_missing_of_a_whole_run(whole: Run) -> None:
    assert missing(whole) == ()
    found = evidence_complete(whole)
    assert found.verdict is Verdict.VALID
    assert "operations" in found.message


def test_where_nobody_counted_nothing_is_known(whole: Run) -> None:
    uncounted = told(whole, recorded=None)
    assert missing(uncounted) == ()
    assert evidence_complete(uncounted).verdict is Verdict.UNKNOWN


def node_is(number: int) -> Callable[[pa.Table], pa.Array]:
    return lambda table: pc.equal(table["node"], number)


@pytest.mark.parametrize(
    ("damage", "kind", "what"),
    [
        (
            lambda run: without(run, "ops", lambda t: pc.equal(t["invoke_index"], 2)),
            "operations",
            "ops: ",
        ),
        (lambda run: timed(run, "t0", -1), "operations", "1 operation lies outside"),
        (lambda run: timed(run, "t1", 0), "operations", "1 operation lies outside"),
        (lambda run: timed(run, "t1", run.info.duration_ns + 1), "operations", "1 operation lies"),
        (
            lambda run: without(run, "faults", lambda t: t["bit"]),
            "faults",
            "faults: ",
        ),
        (lambda run: without(run, "node_events", node_is(2)), "traces", "node 2: it left no trace"),
        (
            lambda run: without(run, "node_events", lambda t: pc.equal(t["seq"], 5)),
            "traces",
            "1 of ",
        ),
        (lambda run: without(run, "disks", node_is(3)), "metadata-logs", "not collected"),
        (lambda run: without(run, "log_batches", node_is(1)), "metadata-logs", "log_batches: "),
        (lambda run: told(run, starts={"1": 2}), "traces", "2 of its processes answered, but 1"),
        (lambda run: told(run, endings={"1": "stopped"}), "traces", "does not end with that"),
        (lambda run: told(run, planned_faults=9), "faults", "9 faults were planned"),
        (
            lambda run: told(run, counted={**run.info.counted, "ok": 10**6}),
            "operations",
            "clients counted 1,000,000 ok",
        ),
        (lambda run: replace(run, differs={"logs/node-1.log": "is gone"}), "traces", "is gone"),
        (
            lambda run: replace(run, differs={"disks/node-1/meta.properties": "is gone"}),
            "metadata-logs",
            "meta.properties: is gone",
        ),
        (
            lambda run: replace(run, truncated=("events-ops.jsonl.zst: 40 bytes of a torn frame",)),
            "operations",
            "torn frame",
        ),
    ],
)
def test_what_is_missing_is_named_by_its_kind(
    whole: Run, damage: Callable[[Run], Run], kind: str, what: str
) -> None:
    damaged = damage(whole)
    assert any(each.kind == kind and what in str(each) for each in missing(damaged))
    assert evidence_complete(damaged).verdict is Verdict.UNKNOWN
    assert judge(damaged).verdict in (Verdict.UNKNOWN, Verdict.VOID)


def test_the_inventory_vouches_for_all_kinds(whole: Run) -> None:
    damaged = replace(whole, differs={"inventory.json": "is gone"})
    assert {each.kind for each in missing(damaged)} == set(map(Kind, whole.info.gives))


def test_operations_may_begin_with_the_run_and_end_with_it(whole: Run) -> None:
    assert missing(timed(whole, "t0", 0)) == ()
    assert missing(timed(whole, "t1", whole.info.duration_ns)) == ()
    assert missing(timed(told(whole, finished=False), "t1", whole.info.duration_ns + 1)) == ()


def test_prose_is_no_evidence(whole: Run) -> None:
    assert missing(replace(whole, differs={"logs/node-1.err": "is gone"})) == ()
