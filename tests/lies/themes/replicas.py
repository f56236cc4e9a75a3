"""What brokers' disks hold of partitions, against what clients were told of them."""

import random

from tests.lies.alteration import BOTH, legal, lie
from tests.lies.altered import Altered, NotHere, Row, detail
from tests.lies.themes.client_logs import sends
from tests.lies.themes.partition_metadata import on_one_disk

STANDING = "last-replica-standing"
LED = ("last-replica-standing", "stranded-leader")
STRANGE_CRC = 123_456_789


def last_state(run: Altered, key: str) -> dict[str, object]:
    """The partition as the metadata log leaves it."""
    topic, _, index = key.rpartition("-")
    ids = {detail(row)["topicId"]: detail(row)["name"] for row in on_one_disk(run, "Topic")}
    known: dict[str, object] = {}
    for row in on_one_disk(run, "Partition", "PartitionChange"):
        told = detail(row)
        if ids.get(told["topicId"]) == topic and told["partitionId"] == int(index):
            known |= told
    if not known:
        raise NotHere(f"no {key} in the metadata log")
    return known


def promised_key(run: Altered) -> str:
    return str(max((row["key"] for row in sends(run)), key=lambda key: key))


def cut_off(run: Altered, node: int, key: str, end: int) -> None:
    """A replica ends there, as its checkpoints say as well."""
    for table, name in (("replica_batches", "base_offset"), ("replica_spans", "offset")):
        run.keep(
            table,
            lambda r, n=name: not (r["node"] == node and r["key"] == key and r[n] >= end),  # type: ignore[misc]
        )
    for row in run.where("replicas", node=node, key=key):
        row.update(log_end=end, high_watermark=min(end, row["high_watermark"]))


@lie("P10-leaders-hold-acknowledged", "P18-acknowledged-everywhere", of=LED, target=BOTH)
def the_last_leader_lacks_the_end(run: Altered, rng: random.Random) -> None:
    """The disk of the last leader lacks the last ten acknowledged records."""
    key = promised_key(run)
    leader = last_state(run, key)["leader"]
    end = max(row["offset"] for row in sends(run) if row["key"] == key)
    assert isinstance(leader, int)
    cut_off(run, leader, key, end - 9)


@lie("P9-eligible-hold-all", "P18-acknowledged-everywhere", of=LED, target=BOTH)
def a_follower_lacks_the_end(run: Altered, rng: random.Random) -> None:
    """A follower that is in the ISR lacks the last ten acknowledged records."""
    key = promised_key(run)
    state = last_state(run, key)
    end = max(row["offset"] for row in sends(run) if row["key"] == key)
    isr = state["isr"]
    assert isinstance(isr, list)
    node = rng.choice([each for each in isr if each != state["leader"]])
    cut_off(run, node, key, end - 9)


@lie("P11-replicas-agree", of=LED, target=BOTH)
def a_replica_holds_another_batch(run: Altered, rng: random.Random) -> None:
    """A batch in the middle of one replica is another one."""
    key = promised_key(run)
    rows = run.where("replica_batches", key=key, node=rng.choice((1, 2, 3)))
    rng.choice(rows[10:100])["crc"] = STRANGE_CRC


@lie("partition-contiguous", of=LED, target=BOTH)
def a_replica_has_a_hole(run: Altered, rng: random.Random) -> None:
    """Five batches are missing in the middle of one replica."""
    key, node = promised_key(run), rng.choice((1, 2, 3))
    at = rng.randrange(50, 120)
    for table, name in (("replica_batches", "base_offset"), ("replica_spans", "offset")):
        run.keep(
            table,
            lambda r, n=name: not (r["node"] == node and r["key"] == key and at <= r[n] < at + 5),  # type: ignore[misc]
        )


@lie("P13-reads-are-stored", of=LED, target=BOTH)
def what_was_polled_is_stored_nowhere(run: Altered, rng: random.Random) -> None:
    """On all disks another value stands at an offset at which a consumer was given one."""
    final = {row["op_id"] for row in run.ops(f="poll", phase="final")}
    given = [
        row
        for row in run.where("spans", sent=False, key=promised_key(run))
        if row["op_id"] not in final and 10 < row["offset"] < 200
    ]
    offset, key = rng.choice(given)["offset"], promised_key(run)
    for row in run.where("replica_spans", key=key):
        if row["offset"] <= offset < row["offset"] + row["records"]:
            row["value"] = (999 << 32) + 7


@lie("P17-acknowledged-with-min-isr", of=("hwm-under-min-isr", "hwm-under-min-isr-4"), target=BOTH)
def acknowledged_below_min_isr(run: Altered, rng: random.Random) -> None:
    """A send to all in-sync replicas that was refused for want of them was acknowledged."""
    refused = [
        row for row in run.ops(f="send", outcome="fail") if "NOT_ENOUGH" in (row["error"] or "")
    ]
    op = rng.choice(refused)
    end = max(row["offset"] for row in sends(run))
    op.update(outcome="ok", error=None)
    for span in run.where("spans", op_id=op["op_id"]):
        span["offset"] = end + 1000


@lie("P8-shown-with-min-isr", of="hwm-under-min-isr", target=BOTH)
def shown_below_min_isr(run: Altered, rng: random.Random) -> None:
    """A record that was sent while the ISR was too small was polled at that moment."""
    ops = {row["op_id"]: row for row in run.rows("ops")}
    late = [
        span
        for span in run.where("spans", sent=True)
        if span["offset"] is not None and span["acks"] == 1
    ]
    polls = [
        span
        for span in run.where("spans", sent=False)
        if any(span["offset"] <= s["offset"] < span["offset"] + span["records"] for s in late)
    ]
    below = _too_small(run)
    for span in polls:
        sent = next(
            s for s in late if span["offset"] <= s["offset"] < span["offset"] + span["records"]
        )
        asked = ops[sent["op_id"]]
        if below[0] < asked["t0"] < below[1]:
            poll = ops[span["op_id"]]
            poll.update(t0=asked["t1"] + 1000, t1=asked["t1"] + 2000)
            poll.update(
                invoke_index=asked["complete_index"] + 0.1,
                complete_index=asked["complete_index"] + 0.2,
                process=10**6,
            )
            return
    raise NotHere("nothing was sent below min ISR and polled later")


def _too_small(run: Altered) -> tuple[int, int]:
    """When brokers told of an ISR of one, from the first answer to the last."""
    told = [row for row in run.where("probes", kind="partition") if len(row["isr"] or ()) == 1]
    if not told:
        raise NotHere("no ISR of one was told")
    return min(row["t1"] for row in told), max(row["t0"] for row in told)


@lie("no-stray-replicas", of=("partition-brokers", "ghost-topic"))
def a_replica_of_a_deleted_topic_is_kept(run: Altered, rng: random.Random) -> None:
    """A broker keeps a replica of a topic that was deleted long before."""
    removed = detail(on_one_disk(run, "RemoveTopic")[0])["topicId"]
    name = next(
        detail(row)["name"]
        for row in on_one_disk(run, "Topic")
        if detail(row)["topicId"] == removed
    )
    row: Row = dict(rng.choice(run.rows("replicas")))
    row.update(key=f"{name}-0", topic_id=removed, log_end=3)
    run.rows("replicas").append(row)


@legal("no-stray-replicas", of=("partition-brokers", "ghost-topic"))
def a_replica_knows_no_epochs(run: Altered, rng: random.Random) -> None:
    """A replica without records has no epoch in its checkpoint, as before."""
    empty = [row for row in run.rows("replicas") if row["log_end"] == 0]
    if not empty:
        raise NotHere("every replica has records")
    rng.choice(empty)["epochs"] = "[]"


@legal(
    "P9-eligible-hold-all",
    "P10-leaders-hold-acknowledged",
    "P11-replicas-agree",
    "P13-reads-are-stored",
    "P17-acknowledged-with-min-isr",
    "P18-acknowledged-everywhere",
    "partition-contiguous",
    "P8-shown-with-min-isr",
    of=(STANDING, "isr-shrink-storm"),
    target=BOTH,
)
def a_record_that_timed_out_is_there_at_the_end(run: Altered, rng: random.Random) -> None:
    """A record whose send timed out stands behind all others, on all replicas."""
    key = promised_key(run)
    held = {row["value"] + n for row in run.rows("replica_spans") for n in range(row["records"])}
    late = [s for s in sends(run, "info") if s["value"] not in held and s["key"] == key]
    value = rng.choice(late)["value"]
    for node in (1, 2, 3):
        last = max(run.where("replica_batches", node=node, key=key), key=lambda r: r["base_offset"])
        offset = last["last_offset"] + 1
        batch = {**last, "base_offset": offset, "last_offset": offset, "crc": 77, "records": 1}
        batch |= {"position": last["position"] + last["size"], "producer_id": -1}
        batch |= {"producer_epoch": -1, "base_sequence": -1}
        run.rows("replica_batches").append(batch)
        span = {"node": node, "key": key, "offset": offset, "value": value, "records": 1}
        run.rows("replica_spans").append({**span, "epoch": last["epoch"]})
        for row in run.where("replicas", node=node, key=key):
            row.update(log_end=offset + 1, high_watermark=offset + 1)
    run.rows("replica_batches").sort(key=lambda r: (r["node"], r["key"], r["base_offset"]))
    run.rows("replica_spans").sort(key=lambda r: (r["node"], r["key"], r["offset"]))


@legal(
    "P8-shown-with-min-isr", "P17-acknowledged-with-min-isr", of="hwm-under-min-isr", target=BOTH
)
def an_answer_to_a_probe_took_longer(run: Altered, rng: random.Random) -> None:
    """A broker took 5 ms more to answer of its partitions."""
    rng.choice(run.where("probes", kind="partition"))["t1"] += 5_000_000
