"""Each voter keeps what is committed, by hand and without traces."""

import json

import pytest

from checkers.history.sealed_run import Run
from checkers.quorum.committed_kept import voters_keep_the_committed
from checkers.verdict import Verdict
from tests.support.histories import (
    MS,
    Row,
    batch,
    config_record,
    disk,
    fault,
    leader_change,
    with_snapshots,
    write,
)
from tests.support.kafka_runs import Cluster

VALID, INVALID = Verdict.VALID, Verdict.INVALID
END = 20
STARTED_MS = 1_767_225_600_000  # as `run_info` has it


def run(
    ends: tuple[int, int, int] = (END, END, END),
    *,
    faults: tuple[Row, ...] = (),
    ops: tuple[Row, ...] = (),
    every_ms: int = 1000,
    told: dict[str, int] | None = None,
    **info: object,
) -> Run:
    """Node 1 leads epoch 1 and appends a record every so often, from 0 on; all stop at the end."""
    cluster = Cluster()
    for node, end in enumerate(ends, 1):
        for at in range(end):
            timed = {"timestamp": STARTED_MS + at * every_ms}
            cluster.add("log_batches", batch(node, at, at, 1) | timed)
        cluster.add("log_records", leader_change(node, 0, 1, 1))
        if end > 10:
            cluster.add("log_records", config_record(node, 10, "r-0", 7))
        cluster.add("disks", disk(node, log_end=end))
    cluster.add("faults", *faults).add("ops", *ops)
    if told is not None:
        cluster.told(1, 1, 1, 5, high_watermark=END, detail=json.dumps({"ends": told}))
    fields = {"roles": {}, "endings": dict.fromkeys("123", "stopped"), "duration_ns": END * 10**9}
    return cluster.run(**{**fields, **info})


def apart(*nodes: int, others: tuple[int, ...]) -> Row:
    links = [f"{a}->{b}" for one in nodes for o in others for a, b in ((one, o), (o, one))]
    return fault(0, "partition", 100, 900) | {"nodes": list(nodes), "links": links}


ACKNOWLEDGED = write(7, 200, 300)


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({"3:dir-3": 15}, INVALID),
        ({"3:dir-3": 8}, VALID),
        ({"3:an-older-disk": 15}, VALID),
        ({"2:dir-2": END}, VALID),
    ],
)
def test_what_a_leader_told(told: dict[str, int], verdict: Verdict) -> None:
    found = voters_keep_the_committed(run((END, END, 8), told=told, every_ms=0, duration_ns=10**9))
    assert found.verdict is verdict, found.message


def test_a_leader_told_of_more_than_is_committed() -> None:
    """What it holds alone may be cut off later."""
    found = run((END, 8, 8), told={"1:dir-1": END + 5}, every_ms=0, duration_ns=10**9)
    assert voters_keep_the_committed(found).verdict is VALID


@pytest.mark.parametrize(
    ("faults", "ends", "said"),
    [
        ((apart(2, others=(1, 3)),), (END, END, 8), "node 3 had the log up to 11"),
        ((apart(2, others=(1, 3)),), (END, END, 12), ""),
        ((apart(2, others=(1,)),), (END, END, 8), "node 3 had the log up to 11"),
        ((apart(2, others=(3,)),), (END, END, 8), ""),  # it follows the leader all the same
        ((), (END, END, 8), ""),
        ((fault(0, "pause", 100, 900) | {"nodes": [2]},), (END, END, 8), "node 3 had"),
        ((fault(0, "pause", 100, 250) | {"nodes": [2]},), (END, END, 8), ""),
        ((fault(0, "pause", 100, 900, bit=False) | {"nodes": [2]},), (END, END, 8), ""),
    ],
    ids=["cut", "has it", "from the leader", "from another", "none", "paused", "short", "did not"],
)
def test_what_could_not_be_committed_without_it(
    faults: tuple[Row, ...], ends: tuple[int, int, int], said: str
) -> None:
    found = voters_keep_the_committed(
        run(ends, faults=faults, ops=(ACKNOWLEDGED,), every_ms=0, duration_ns=10**9)
    )
    assert found.verdict is (INVALID if said else VALID), found.message
    assert said in found.message


@pytest.mark.parametrize("end", [END - 1, 8])
def test_what_a_snapshot_holds_stood_somewhere_below_its_end(end: int) -> None:
    """Where an acknowledged write stood that only snapshots hold, nothing tells."""
    bare = run((END, END, end), faults=(apart(2, others=(1, 3)),), ops=(write(8, 200, 300),))
    held = [config_record(node, END - 1, "r-0", 8) for node in (1, 2)]
    found = voters_keep_the_committed(with_snapshots(bare, *held))
    assert found.verdict is VALID, found.message


def test_a_leader_that_nothing_is_traced_of_may_lose_what_it_had_not_synced() -> None:
    cut = fault(1, "power-off", 950, 960)
    faults = (apart(2, others=(1, 3)), cut)
    found = run((8, END, END), faults=faults, ops=(ACKNOWLEDGED,), every_ms=0, duration_ns=10**9)
    assert voters_keep_the_committed(found).verdict is VALID


@pytest.mark.parametrize(
    ("end", "runtime", "verdict"),
    [(9, "sim", INVALID), (18, "sim", INVALID), (19, "sim", VALID), (9, "docker", VALID)],
)
def test_what_comes_to_all_in_calm(end: int, runtime: str, verdict: Verdict) -> None:
    """Two seconds before the end the log ended at 19."""
    found = voters_keep_the_committed(run((END, END, end), runtime=runtime))
    assert found.verdict is verdict, found.message


def test_who_was_cut_off_may_be_behind() -> None:
    late = apart(3, others=(1, 2)) | {
        "t_start": 3000 * MS,
        "t_bit": 3001 * MS,
        "t_heal": 18_000 * MS,
        "t_healed": 18_001 * MS,
    }
    assert voters_keep_the_committed(run((END, END, 4), faults=(late,), runtime="sim")).verdict is (
        VALID
    )


def test_a_disk_whose_bytes_a_fault_damages_says_nothing() -> None:
    lying = fault(0, "power-off", 100, 200) | {"nodes": [3], "damages_bytes": True}
    found = run((END, END, 2), faults=(lying,), told={"3:dir-3": 15})
    assert voters_keep_the_committed(found).verdict is VALID


def test_a_log_ends_no_lower_than_its_snapshot() -> None:
    cluster = run((END, END, 8), every_ms=0, duration_ns=10**9)
    table = cluster.tables["snapshot_records"]
    row = {"node": 3, "directory": "dir-3", "end": 12, "epoch": 1, "type": "SnapshotHeader"}
    rows = type(table).from_pylist([row], schema=table.schema)
    found = Run(
        directory=cluster.directory,
        info=cluster.info,
        tables={**cluster.tables, "snapshot_records": rows},
    )
    assert "a snapshot on that disk" in voters_keep_the_committed(found).message
