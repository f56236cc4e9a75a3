"""The log of a quorum: what is appended, cut off, flushed, counted and called committed."""

import random

from tests.lies.alteration import BOTH, TRACED, UNTRACED, legal, lie
from tests.lies.altered import Altered, NotHere, Row, first
from tests.lies.themes.elections import another_node, last_epoch, process_of

QUORUMS = ("partition-leader", "kill-leader")
STRANGE_CRC = 123_456_789


def middle(rows: list[Row], rng: random.Random) -> Row:
    """One that is not near either end."""
    third = len(rows) // 3
    if not third:
        raise NotHere("too few rows")
    return rng.choice(rows[third:-third])


# --- on disks ---


@lie("log-contiguous", of=QUORUMS, target=BOTH)
def a_batch_is_missing_on_a_disk(run: Altered, rng: random.Random) -> None:
    """One disk's log has a hole of a batch."""
    node = rng.choice(run.nodes)
    gone = middle(run.where("log_batches", node=node), rng)
    run.keep("log_batches", lambda row: row is not gone)


@lie("Q5-log-matching", of=QUORUMS, target=BOTH)
def a_batch_is_another_one_on_a_disk(run: Altered, rng: random.Random) -> None:
    """A batch in the middle of one disk's log has other bytes than on the other disks."""
    node = rng.choice(run.nodes)
    middle(run.where("log_batches", node=node), rng)["crc"] = STRANGE_CRC


@lie("M4-epochs-rise-in-logs", of=QUORUMS, target=BOTH)
def an_older_epoch_follows_a_newer_one(run: Altered, rng: random.Random) -> None:
    """On all disks, a batch near the end is of epoch 1, behind those of a later epoch."""
    newest = max(row["epoch"] for row in run.rows("log_batches"))
    offsets = [row["base_offset"] for row in run.where("log_batches", node=1, epoch=newest)]
    offset = rng.choice(offsets[2:])
    for row in run.where("log_batches", base_offset=offset):
        row["epoch"] = 1


@lie("M1-metadata-logs-agree", of=QUORUMS, target=BOTH)
def the_middle_of_a_log_is_another_one(run: Altered, rng: random.Random) -> None:
    """Ten batches in the middle of one disk's log are other ones."""
    rows = run.where("log_batches", node=rng.choice(run.nodes))
    at = rng.randrange(len(rows) // 3, len(rows) // 2)
    for row in rows[at : at + 10]:
        row["crc"] = STRANGE_CRC


@lie("Q20-one-cluster", of=QUORUMS, target=BOTH)
def a_disk_is_of_another_cluster(run: Altered, rng: random.Random) -> None:
    """One disk is formatted for another cluster."""
    rng.choice(run.rows("disks"))["cluster_id"] = "XXXXXXXXXXXXXXXXXXXXXX"


@legal(
    "log-contiguous",
    "Q5-log-matching",
    "M1-metadata-logs-agree",
    "M4-epochs-rise-in-logs",
    "Q20-one-cluster",
    "log-reaches-its-snapshot",
    "records-explained",
    of=QUORUMS,
    target=UNTRACED,
)
def a_log_ends_with_what_was_not_committed(run: Altered, rng: random.Random) -> None:
    """One disk ends with a record of an operation whose fate is unknown, in its last epoch."""
    write = rng.choice(run.ops(f="write", outcome="info"))
    run.append_to_metadata_log(
        [rng.choice(run.nodes)],
        "Config",
        resource_type=16,
        resource=write["key"],
        name="interval.ms",
        value=str(write["value"]),
    )


@legal(
    "log-contiguous",
    "Q5-log-matching",
    "M1-metadata-logs-agree",
    "M4-epochs-rise-in-logs",
    "Q20-one-cluster",
    "Q12-committed-agree",
    of=QUORUMS,
    target=TRACED,
)
def a_segment_begins_elsewhere(run: Altered, rng: random.Random) -> None:
    """The second half of a disk's log lies in a segment of its own."""
    rows = run.where("log_batches", node=rng.choice(run.nodes))
    half = rows[len(rows) // 2 :]
    start = half[0]["position"]
    for row in half:
        row.update(segment=f"{half[0]['base_offset']:020d}.log", position=row["position"] - start)


@lie("reads-are-committed", of=QUORUMS, target=BOTH)
def what_was_read_is_in_no_log(run: Altered, rng: random.Random) -> None:
    """A value that a client was shown stands in no log; its write timed out."""
    shown = {(r["key"], r["value"]) for r in run.ops(f="read", outcome="ok")}
    writes = run.ops(f="write")
    values = [(row["key"], row["value"]) for row in writes]
    write = rng.choice(
        [
            row
            for row in writes
            if row["outcome"] == "ok"
            and (row["key"], row["value"]) in shown
            and values.count((row["key"], row["value"])) == 1
        ]
    )
    write.update(outcome="info", error="timed-out")
    run.erase_records(
        lambda row: row["resource"] == write["key"] and row["value"] == str(write["value"])
    )


@legal("reads-are-committed", "durability", of=QUORUMS, target=BOTH)
def an_acknowledged_write_was_not_acknowledged(run: Altered, rng: random.Random) -> None:
    """A write that was acknowledged timed out instead, and is there."""
    rng.choice(run.ops(f="write", outcome="ok")).update(outcome="info", error="timed-out")


# --- appended ---


@lie("Q6-leader-appends-only", of=QUORUMS)
def a_leader_writes_an_offset_twice(run: Altered, rng: random.Random) -> None:
    """A leader appends a batch once more, three batches later."""
    leads = run.events("q.append", state="leader", epoch=last_epoch(run))
    at = rng.randrange(1, len(leads) - 4)
    run.insert_event(dict(leads[at]), after=leads[at + 3])


@legal("Q6-leader-appends-only", of=QUORUMS)
def a_leader_flushes_once_more(run: Altered, rng: random.Random) -> None:
    """A node traces a flush twice: nothing was appended in between."""
    row = rng.choice(run.events("q.fsync"))
    run.insert_event(dict(row), after=row)


@lie("Q11-leader-completeness", of=("kill-leader",))
def a_leader_never_had_what_was_committed(run: Altered, rng: random.Random) -> None:
    """All that a leader appended of its last 20 batches as a follower had other bytes."""
    led = run.events("q.state", state="leader")[-1]
    appended = [
        row
        for row in run.events("q.append", state="follower", node=led["node"])
        if row["seq"] < led["seq"] and process_of(row) == process_of(led)
    ]
    for row in appended[-30:-5]:
        row["crc"] = STRANGE_CRC


@lie("Q11-leader-completeness", of="partition-leader", target=UNTRACED)
def a_leader_told_more_than_the_next_one_has(run: Altered, rng: random.Random) -> None:
    """The first leader told a high watermark above the offset at which the next one began."""
    first_epoch = min(row["epoch"] for row in run.where("probes", kind="quorum"))
    for row in run.where("probes", kind="quorum", epoch=first_epoch)[-1:]:
        row["high_watermark"] = max(b["last_offset"] for b in run.rows("log_batches"))


@lie("Q12-committed-agree", of=QUORUMS)
def two_nodes_committed_other_bytes(run: Altered, rng: random.Random) -> None:
    """A node appended other bytes than all others, and called them committed."""
    rows = run.events("q.append", node=rng.choice(run.nodes), epoch=1)
    at = rng.randrange(len(rows) // 4, len(rows) // 2)
    for row in rows[at : at + 5]:
        row["crc"] = STRANGE_CRC


@lie("Q10-no-cut-below-high-watermark", of=("partition-leader", "membership-churn"))
def a_log_is_cut_below_its_high_watermark(run: Altered, _: random.Random) -> None:
    """A node cuts its log off at offset 5."""
    first(run.events("q.truncate"), "nothing was cut off")["log_end"] = 5


@legal("Q10-no-cut-below-high-watermark", of=("partition-leader", "membership-churn"))
def a_log_is_cut_at_its_high_watermark(run: Altered, _: random.Random) -> None:
    """A node that cuts off its log had heard of a high watermark just there."""
    cut = first(run.events("q.truncate"), "nothing was cut off")
    cut["hwm"] = cut["log_end"]


# --- high watermarks ---


@lie("Q7-quorum-high-watermark", of=QUORUMS)
def a_new_leader_begins_lower(run: Altered, rng: random.Random) -> None:
    """The first high watermark of the last leader is below those of its predecessors."""
    moved = run.events("q.hwm", state="leader", epoch=last_epoch(run))
    first(moved, "no high watermark")["hwm"] = rng.randrange(1, 20)


@lie("Q7-quorum-high-watermark", of=QUORUMS, target=UNTRACED)
def a_leader_tells_less_than_before(run: Altered, rng: random.Random) -> None:
    """A leader answers a later question with a lower high watermark."""
    told = run.where("probes", kind="quorum", epoch=1)
    rng.choice(told[2:])["high_watermark"] = told[0]["high_watermark"] - 1


@legal("Q7-quorum-high-watermark", "Q11-leader-completeness", of=QUORUMS, target=UNTRACED)
def a_leader_tells_the_same_again(run: Altered, rng: random.Random) -> None:
    """A leader answers once more with the same high watermark."""
    told = rng.choice(run.where("probes", kind="quorum"))
    run.rows("probes").append({**told, "t0": told["t0"] + 1, "t1": told["t1"] + 1})


@lie("Q8-node-high-watermark", of=QUORUMS)
def a_followers_high_watermark_goes_down(run: Altered, rng: random.Random) -> None:
    """A follower's high watermark goes down in one process."""
    moved = run.events("q.hwm", state="follower", node=another_node(run, rng))
    at = rng.randrange(5, min(40, len(moved)))
    moved[at]["hwm"] = moved[at - 2]["hwm"] - 1


@lie("Q8-node-high-watermark", of=QUORUMS)
def a_high_watermark_exceeds_the_log(run: Altered, rng: random.Random) -> None:
    """A node calls committed what it has not appended yet."""
    rng.choice(run.events("q.hwm"))["hwm"] += 100_000


@lie("Q13-high-watermark-above-leader-change", of=QUORUMS)
def a_leader_commits_what_is_not_of_its_epoch(run: Altered, _: random.Random) -> None:
    """A leader calls all below its LeaderChange committed before that record is."""
    epoch = last_epoch(run)
    start = first(run.records("LeaderChange", epoch=epoch), "no LeaderChange")["offset"]
    moved = first(run.events("q.hwm", state="leader", epoch=epoch), "no high watermark")
    events = run.rows("node_events")
    at = next(index for index, row in enumerate(events) if row is moved)
    events.insert(at, {**moved, "hwm": start})


@lie("Q9-committed-by-majority", of=QUORUMS)
def what_is_committed_is_flushed_by_the_leader_alone(run: Altered, _: random.Random) -> None:
    """Both followers of the last leader traced no flush any more in its epoch."""
    leads = run.events("q.state", state="leader", epoch=last_epoch(run))[0]
    run.drop_events(
        lambda row: (
            row["event"] == "q.fsync" and row["node"] != leads["node"] and row["t"] > leads["t"]
        )
    )


@lie("Q18-durable-before-counted", of=QUORUMS)
def a_follower_is_counted_before_it_flushed(run: Altered, rng: random.Random) -> None:
    """A leader takes a Fetch for 200 offsets more than the follower has."""
    middle(run.events("q.fetch", outcome="valid"), rng)["offset"] += 200


@lie("durable-before-asked", of=QUORUMS)
def a_candidate_asks_with_more_than_it_has(run: Altered, rng: random.Random) -> None:
    """A candidate asks for votes with the end of a log that is 50 offsets longer than its own."""
    for row in run.events("q.vote", epoch=last_epoch(run)):
        row["log_end"] += 50


@legal("durable-before-asked", of=QUORUMS)
def a_candidate_was_asked_about_twice(run: Altered, rng: random.Random) -> None:
    """A voter traces twice what it answered a candidate."""
    vote = rng.choice(run.events("q.vote"))
    run.insert_event(dict(vote), after=vote)


@legal(
    "Q7-quorum-high-watermark",
    "Q8-node-high-watermark",
    "Q9-committed-by-majority",
    "Q11-leader-completeness",
    "Q12-committed-agree",
    "Q13-high-watermark-above-leader-change",
    "Q18-durable-before-counted",
    of=QUORUMS,
)
def followers_move_their_high_watermarks_in_longer_steps(run: Altered, rng: random.Random) -> None:
    """Of a follower's high watermarks every second one is not there: it moved on at once."""
    node = rng.choice(run.nodes)
    moved = run.events("q.hwm", state="follower", node=node)
    gone = {id(row) for row in moved[1:-1:2]}
    run.drop_events(lambda row: id(row) in gone)


@legal(
    "Q7-quorum-high-watermark",
    "Q8-node-high-watermark",
    "Q9-committed-by-majority",
    "Q10-no-cut-below-high-watermark",
    "Q13-high-watermark-above-leader-change",
    "Q18-durable-before-counted",
    "Q6-leader-appends-only",
    of=QUORUMS,
)
def a_high_watermark_is_told_twice(run: Altered, rng: random.Random) -> None:
    """A node traces a high watermark twice."""
    row = rng.choice(run.events("q.hwm"))
    run.insert_event(dict(row), after=row)
