"""Snapshots on hand-made disks: equal to the log, committed, and equal to one another."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from checkers.check import Check
from checkers.evidence.evidence import Evidence
from checkers.history.sealed_run import Run
from checkers.history.tables import PROBES, SNAPSHOT_RECORDS
from checkers.quorum.stored_snapshots import (
    snapshots_agree,
    snapshots_are_committed,
    snapshots_equal_the_log,
)
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import Row, batch, config_record, disk, fault, make_run

ONE, TWO, THREE = 1, 2, 3
VALUES = {"a": 1, "b": 2}  # below offset 2 of `log`
BROKER = {"brokerId": 7, "incarnationId": "i", "brokerEpoch": 1, "endPoints": [], "fenced": True}
PARTITION = {
    "partitionId": 0,
    "topicId": "t",
    "replicas": [1, 2],
    "isr": [1, 2],
    "leader": 1,
    "leaderEpoch": 0,
    "partitionEpoch": 0,
}


def of(kind: str, **detail: object) -> Row:
    return {"type": kind, "detail": json.dumps(detail)}


def log(node: int, start: int = 0, end: int = 4, epoch: int = 1) -> tuple[list[Row], list[Row]]:
    """Batches and records of offsets at which a, b, a, b are set to 1, 2, 3, 4."""
    offsets = range(start, end)
    records = [config_record(node, at, "ab"[at % 2], at + 1, epoch) for at in offsets]
    return [batch(node, at, at, epoch) for at in offsets], records


def logged(node: int, *rows: Row) -> tuple[list[Row], list[Row]]:
    """Other records, one a batch."""
    records = [{"node": node, "offset": at, "epoch": 1, **row} for at, row in enumerate(rows)]
    return [batch(node, at, at, 1) for at in range(len(rows))], records


def stored(
    node: int, end: int, records: Sequence[Row], epoch: int = 1, footer: bool = True
) -> list[Row]:
    kinds: list[Row] = [{"type": "SnapshotHeader"}, *records]
    if footer:
        kinds.append({"type": "SnapshotFooter"})
    return [
        {**row, "node": node, "directory": f"dir-{node}", "end": end, "epoch": epoch}
        for row in kinds
    ]


def holding(node: int, end: int, values: dict[str, int], epoch: int = 1) -> list[Row]:
    rows = [config_record(node, 0, key, value) for key, value in values.items()]
    return stored(node, end, [{**row, "offset": None} for row in rows], epoch)


def run(
    logs: Sequence[tuple[list[Row], list[Row]]],
    snapshots: Sequence[list[Row]],
    faults: Sequence[Row] = (),
    high_watermark: int = -1,
) -> Run:
    made = make_run(
        batches=[row for each in logs for row in each[0]],
        records=[row for each in logs for row in each[1]],
        disks=[disk(node) for node in (ONE, TWO, THREE)],
        faults=faults,
    )
    rows = [
        {name: row.get(name) for name in SNAPSHOT_RECORDS.names}
        for each in snapshots
        for row in each
    ]
    told = [{"node": 1, "kind": "quorum", "high_watermark": high_watermark}]
    probes = [{name: row.get(name) for name in PROBES.names} for row in told]
    more = {
        "snapshot_records": pa.Table.from_pylist(rows, schema=SNAPSHOT_RECORDS),
        "probes": pa.Table.from_pylist(probes, schema=PROBES),
    }
    return replace(made, tables={**made.tables, **more})


def judged(check: Check, made: Run) -> CheckResult:
    return check.judges(Evidence(made))


# --- the log below it ---


@pytest.mark.parametrize(
    ("logs", "snapshots", "looked_at"),
    [
        ([log(ONE)], [holding(ONE, 2, VALUES), holding(ONE, 4, {"a": 3, "b": 4})], 2),
        ([log(ONE)], [holding(TWO, 2, {"b": 2, "a": 1})], 1),
        ([log(ONE, start=2)], [holding(ONE, 2, VALUES), holding(TWO, 3, {"a": 3, "b": 2})], 1),
        # Of what is not told by the log that is left, nothing is said.
        ([log(ONE, start=2)], [holding(ONE, 3, {"a": 3, "b": 9})], 1),
        ([log(ONE, start=2)], [holding(ONE, 2, VALUES)], 0),
        ([log(ONE)], [holding(ONE, 5, VALUES)], 0),
        # Nobody committed what node 1 has there.
        ([log(ONE)], [holding(TWO, 2, {"a": 9}, epoch=2)], 0),
        ([log(ONE)], [stored(ONE, 2, [], footer=False)], 0),
    ],
)
def test_snapshots_that_hold_what_the_log_makes(
    logs: list[tuple[list[Row], list[Row]]], snapshots: list[list[Row]], looked_at: int
) -> None:
    result = judged(snapshots_equal_the_log, run(logs, snapshots))
    assert (result.verdict, result.looked_at) == (Verdict.VALID, looked_at)


@pytest.mark.parametrize(
    ("start", "end", "values"),
    [
        (0, 2, {"a": 1, "b": 3}),
        (0, 2, {"a": 1}),
        (0, 2, {"a": 1, "b": 2, "c": 3}),
        (0, 2, {"a": 3, "b": 2}),  # named by the last offset that it stands for
        (2, 3, {"a": 1, "b": 2}),  # by what is left of the log
    ],
)
@pytest.mark.parametrize("node", [ONE, TWO])
def test_a_snapshot_that_holds_something_else(
    node: int, start: int, end: int, values: dict[str, int]
) -> None:
    made = run([log(ONE, start=start)], [holding(node, end, values)])
    result = judged(snapshots_equal_the_log, made)
    assert result.verdict is Verdict.INVALID
    assert f"snapshot of node {node} that ends at {end} of epoch 1 differs in" in result.message
    assert result.witness


def test_a_snapshot_that_is_named_for_another_epoch_than_its_own_log_has() -> None:
    result = judged(snapshots_equal_the_log, run([log(ONE)], [holding(ONE, 2, VALUES, epoch=2)]))
    assert result.verdict is Verdict.INVALID
    assert "is of epoch 1 in its log" in result.message


def test_an_older_snapshot_stands_for_the_log_that_is_gone() -> None:
    snapshots = [holding(ONE, 2, VALUES), holding(TWO, 4, {"a": 3, "b": 2})]
    result = judged(snapshots_equal_the_log, run([log(ONE, start=2)], snapshots))
    assert result.verdict is Verdict.INVALID


def test_of_disks_whose_bytes_a_fault_damages_nothing_is_said() -> None:
    rotten = {**fault(1, "kill", 1, 2), "damages_bytes": True}
    made = run([log(ONE)], [holding(ONE, 2, {"a": 9})], [rotten])
    assert judged(snapshots_equal_the_log, made).verdict is Verdict.VALID


def replays() -> Iterator[tuple[str, list[Row], list[Row]]]:
    """Records of a log, and those of a snapshot that hold the same."""
    fenced = {**BROKER, "fenced": False}
    moved = {**PARTITION, "isr": [2], "leader": 2, "leaderEpoch": 1, "partitionEpoch": 1}
    change = {"partitionId": 0, "topicId": "t", "isr": [2], "leader": 2}
    topic, removed = of("Topic", name="orders", topicId="t"), of("RemoveTopic", topicId="t")
    begun = of("BeginTransaction")
    voters = [{"voterId": node, "voterDirectoryId": f"dir-{node}"} for node in (1, 2)]
    config: Row = {"type": "Config", "resource_type": 2, "resource": "orders", "name": "x"}
    yield (
        "a broker that is unfenced",
        [of("RegisterBroker", **BROKER), of("UnfenceBroker", id=7, epoch=1)],
        [of("RegisterBroker", **fenced)],
    )
    yield (
        "a broker that is stopping",
        [
            of("RegisterBroker", **BROKER),
            of("BrokerRegistrationChange", brokerId=7, brokerEpoch=1, inControlledShutdown=1),
        ],
        [of("RegisterBroker", **{**BROKER, "inControlledShutdown": True})],
    )
    yield (
        "a broker that is gone",
        [of("RegisterBroker", **BROKER), of("UnregisterBroker", brokerId=7, brokerEpoch=1)],
        [],
    )
    yield (
        "a partition with another leader",
        [topic, of("Partition", **PARTITION), of("PartitionChange", **change)],
        [topic, of("Partition", **moved)],
    )
    yield (
        "a partition without its ELR",
        [
            topic,
            of("Partition", **{**PARTITION, "eligibleLeaderReplicas": [3]}),
            of("ClearElr", topicName="orders"),
        ],
        [topic, of("Partition", **{**PARTITION, "partitionEpoch": 1})],
    )
    yield (
        "a topic that is gone, with all that is of it",
        [topic, of("Partition", **PARTITION), {**config, "value": "1"}, removed],
        [],
    )
    yield (
        "a feature that is switched off",
        [{"type": "FeatureLevel", "name": "f", "value": level} for level in ("1", "0")],
        [],
    )
    yield (
        "a block of producer ids",
        [of("ProducerIds", brokerId=1, nextProducerId=n) for n in (1000, 2000)],
        [of("ProducerIds", brokerId=-1, nextProducerId=2000)],
    )
    yield (
        "a transaction that was aborted, and one that ended",
        [
            *(begun, {**config, "value": "2"}, of("AbortTransaction")),
            *(begun, {**config, "value": "1"}, of("EndTransaction")),
        ],
        [{**config, "value": "1"}],
    )
    yield (
        "voters, one added and one removed",
        [*(of("AddVoter", **voter) for voter in voters), of("RemoveVoter", **voters[0])],
        [of("KRaftVoters", voters=voters[1:])],
    )


@pytest.mark.parametrize(("records", "kept"), [each[1:] for each in replays()])
def test_each_kind_of_record_is_replayed(records: list[Row], kept: list[Row]) -> None:
    end = len(records)
    made = run([logged(ONE, *records)], [stored(ONE, end, kept)])
    assert judged(snapshots_equal_the_log, made).verdict is Verdict.VALID
    behind = run([logged(ONE, *records)], [stored(ONE, end, records[:-1])])
    assert judged(snapshots_equal_the_log, behind).verdict is Verdict.INVALID


# --- what is committed ---


@pytest.mark.parametrize(
    ("logs", "others", "high_watermark", "verdict"),
    [
        ([log(ONE), log(TWO)], [], -1, Verdict.VALID),
        ([log(ONE), log(TWO, end=2)], [], -1, Verdict.INVALID),
        ([log(ONE), log(TWO, epoch=2)], [], -1, Verdict.INVALID),  # another log
        ([log(ONE), log(TWO, end=2)], [], 4, Verdict.VALID),  # a leader said so
        ([log(ONE), log(TWO, end=2)], [], 3, Verdict.INVALID),
        ([log(ONE), log(TWO, end=2)], [holding(TWO, 4, {})], -1, Verdict.VALID),
        ([log(ONE), log(TWO, start=4, end=6)], [], -1, Verdict.VALID),  # behind it
    ],
)
def test_a_snapshot_ends_within_what_a_majority_has(
    logs: list[tuple[list[Row], list[Row]]],
    others: list[list[Row]],
    high_watermark: int,
    verdict: Verdict,
) -> None:
    snapshots = [holding(ONE, 4, {"a": 3, "b": 4}), *others]
    result = judged(snapshots_are_committed, run(logs, snapshots, high_watermark=high_watermark))
    assert result.verdict is verdict


def test_whose_disk_a_fault_damages_may_have_had_all() -> None:
    rotten = {**fault(1, "kill", 1, 2), "damages_bytes": True}
    made = run([log(ONE, end=2), log(TWO)], [holding(TWO, 4, {})], [rotten])
    assert judged(snapshots_are_committed, made).verdict is Verdict.VALID


# --- one another ---


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        (holding(TWO, 2, {"b": 2, "a": 1}), Verdict.VALID),
        (holding(TWO, 2, {"a": 1}), Verdict.INVALID),
        (holding(TWO, 2, {"a": 1, "b": 3}), Verdict.INVALID),
        (holding(TWO, 2, VALUES, epoch=2), Verdict.INVALID),
        (holding(TWO, 3, {"a": 9}), Verdict.VALID),  # of another offset
    ],
)
def test_snapshots_of_one_offset_hold_the_same(other: list[Row], verdict: Verdict) -> None:
    result = judged(snapshots_agree, run([], [holding(ONE, 2, VALUES), other]))
    assert result.verdict is verdict
