"""Snapshots of the metadata log, traced and on disks."""

import random

from tests.lies.alteration import BOTH, legal, lie
from tests.lies.altered import Altered, NotHere, Row, detail, first, set_detail
from tests.lies.themes.elections import process_of

SNAPSHOTS = ("snapshot-catch-up", "snapshot-catch-up-4")


def _on_disks(run: Altered, rng: random.Random) -> list[Row]:
    """The records of one snapshot on one disk."""
    of = rng.choice(
        sorted({(row["node"], row["end"]) for row in run.rows("snapshot_records") if row["end"]})
    )
    return [row for row in run.rows("snapshot_records") if (row["node"], row["end"]) == of]


@lie("stored-snapshots-equal-the-log", of="snapshot-catch-up", target=BOTH)
def a_register_differs_from_the_log(run: Altered, rng: random.Random) -> None:
    """All snapshots of one end hold another value of a register than the last of the log below."""
    # The snapshot behind which a log begins stands in front of it, at its last offset.
    in_front = {(row["node"], row["offset"]) for row in run.records("SnapshotHeader")}
    written: dict[str, int] = {}  # since which offset some log tells of a register
    for row in run.records("Config"):
        if (row["node"], row["offset"]) in in_front:
            continue
        written[row["resource"]] = min(row["offset"], written.get(row["resource"], row["offset"]))
    stored = run.where("snapshot_records", type="Config")
    found = [row for row in stored if written.get(row["resource"], row["end"]) < row["end"]]
    record = rng.choice(found)
    for row in run.where("snapshot_records", end=record["end"], resource=record["resource"]):
        row["value"] = "100"


@lie("stored-snapshots-agree", of=SNAPSHOTS, target=BOTH)
def a_snapshot_lacks_a_register(run: Altered, rng: random.Random) -> None:
    """One of the snapshots that end at one offset lacks a register that the others have."""
    record = rng.choice([row for row in _on_disks(run, rng) if row["type"] == "Config"])
    run.keep("snapshot_records", lambda row: row is not record)


@lie("stored-snapshots-are-committed", of=SNAPSHOTS, target=BOTH)
def a_snapshot_ends_behind_what_is_committed(run: Altered, rng: random.Random) -> None:
    """A snapshot on one disk ends 5,000 offsets behind every log."""
    for row in _on_disks(run, rng):
        row["end"] += 5000


@lie("log-reaches-its-snapshot", of=SNAPSHOTS, target=BOTH)
def a_log_begins_behind_its_snapshot(run: Altered, rng: random.Random) -> None:
    """A log begins three batches behind the end of the snapshot that stands for its head."""
    head = rng.choice(run.records("SnapshotHeader"))
    node, end = head["node"], head["offset"] + 1
    behind = [row for row in run.where("log_batches", node=node) if row["base_offset"] >= end]
    if len(behind) < 4:
        raise NotHere("too little behind a snapshot")
    begin = behind[3]["base_offset"]
    run.keep("log_batches", lambda row: row["node"] != node or row["base_offset"] >= begin)
    for row in run.where("log_batches", node=node):
        row["segment"] = f"{begin:020d}.log"


@legal(
    "stored-snapshots-equal-the-log",
    "stored-snapshots-agree",
    "stored-snapshots-are-committed",
    "log-reaches-its-snapshot",
    of=SNAPSHOTS,
    target=BOTH,
)
def registers_stand_in_another_order(run: Altered, rng: random.Random) -> None:
    """A snapshot holds the same registers in another order."""
    records = [row for row in _on_disks(run, rng) if row["type"] == "Config"]
    values = [dict(row) for row in records]
    for row, other in zip(records, reversed(values), strict=True):
        row.update(other)


@lie("Q14-log-starts-at-a-snapshot", of=SNAPSHOTS)
def a_log_starts_where_no_snapshot_ends(run: Altered, _: random.Random) -> None:
    """A log's start moves to an offset at which no snapshot of its node ends."""
    moved = [row for row in run.events("q.snapshot") if detail(row).get("start", 0) > 0]
    row = first(moved, "no log start moved")
    set_detail(row, start=detail(row)["start"] + 7)


@lie("Q15-snapshots-of-committed", of=SNAPSHOTS)
def a_snapshot_is_of_what_is_not_committed(run: Altered, rng: random.Random) -> None:
    """A snapshot ends 500 offsets behind what its node knows to be committed."""
    made = [row for row in run.events("q.snapshot") if detail(row)["what"] == "created"]
    rng.choice(made)["log_end"] += 500


@lie("Q16-leader-loads-none", of=SNAPSHOTS)
def a_leader_loads_a_snapshot(run: Altered, _: random.Random) -> None:
    """A node that leads replaces its log by a snapshot."""
    loaded = first(run.events("q.loaded"), "no snapshot was loaded")
    before = [
        row
        for row in run.events("q.state", node=loaded["node"])
        if row["seq"] < loaded["seq"] and process_of(row) == process_of(loaded)
    ]
    before[-1].update(state="leader", leader=loaded["node"])


@lie("M2-equal-images", of=SNAPSHOTS)
def two_nodes_have_other_images(run: Altered, rng: random.Random) -> None:
    """Two nodes that know all below one offset hold other images."""
    images = run.events("c.image")
    offsets = [row["offset"] for row in images]
    shared = [row for row in images if offsets.count(row["offset"]) > 1]
    set_detail(rng.choice(shared), digest="another")


@legal(
    "Q14-log-starts-at-a-snapshot",
    "Q15-snapshots-of-committed",
    "Q16-leader-loads-none",
    "M2-equal-images",
    of=SNAPSHOTS,
)
def an_image_is_told_twice(run: Altered, rng: random.Random) -> None:
    """A node traces the same image of an offset twice."""
    row = rng.choice(run.events("c.image"))
    run.insert_event(dict(row), after=row)


@legal(
    "Q14-log-starts-at-a-snapshot",
    "Q15-snapshots-of-committed",
    "Q16-leader-loads-none",
    "M2-equal-images",
    of=SNAPSHOTS,
)
def a_follower_says_twice_whom_it_follows(run: Altered, rng: random.Random) -> None:
    """A follower traces its state once more, unchanged."""
    row = rng.choice(run.events("q.state", state="follower"))
    run.insert_event(dict(row), after=row)


# What follows voters and partitions, of which only a snapshot may tell the first ones.
QUORUMS = ("voters-are-traced", "Q4-elected-by-a-majority", "log-reaches-its-snapshot")
PARTITIONS = (
    "P8-shown-with-min-isr",
    "P17-acknowledged-with-min-isr",
    "too-few-replicas-are-too-few",
    "leaders-do-not-deny-it",
    "log-durability",
)
WITH_VOTERS = (*SNAPSHOTS, "swarm", "swarm-4146")


@legal(*QUORUMS, of=WITH_VOTERS)
def all_logs_begin_at_their_newest_snapshots(run: Altered, _: random.Random) -> None:
    """On each disk the log has no batch that the newest snapshot covers."""
    if not [node for node in run.nodes if _hide_head(run, node)]:
        raise NotHere("no snapshot")


@legal(*QUORUMS, of=WITH_VOTERS)
@legal(*PARTITIONS, of="swarm-brokers-2246", target=BOTH)
def one_log_begins_at_its_newest_snapshot(run: Altered, rng: random.Random) -> None:
    """On one disk the log has no batch that the newest snapshot covers."""
    nodes = [*run.nodes]
    rng.shuffle(nodes)
    if not any(_hide_head(run, node) for node in nodes):
        raise NotHere("no snapshot")


def _hide_head(run: Altered, node: int) -> bool:
    """Whether the disk has a newest snapshot that the log goes on behind."""
    log = run.where("log_batches", node=node)
    ends = {row["end"] for row in run.where("snapshot_records", node=node)} - {0}
    end = max(ends & {row["base_offset"] for row in log}, default=0)
    if not end or log[0]["base_offset"] == end:
        return False
    snapshot = [
        {**dict.fromkeys(run.rows("log_records")[0]), **row, "offset": end - 1}
        for row in run.where("snapshot_records", node=node, end=end)
    ]
    for row in snapshot:
        del row["end"], row["directory"]
    behind = [row for row in run.where("log_records", node=node) if row["offset"] >= end]
    run.keep("log_records", lambda row: row["node"] != node)
    run.rows("log_records").extend([*snapshot, *behind])
    run.keep("log_batches", lambda row: row["node"] != node or row["base_offset"] >= end)
    for row in run.where("log_batches", node=node):
        row["segment"] = f"{end:020d}.log"
    return True
