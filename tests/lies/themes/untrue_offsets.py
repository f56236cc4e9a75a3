"""Offsets that are called out of range, and sequences that are called out of order, though they
need not be: and those that rightly are."""

import random
from collections.abc import Callable

from tests.lies.alteration import BOTH, legal, lie
from tests.lies.altered import Altered, NotHere, Row
from tests.lies.themes.untrue_refusals import SECOND, STORM, STRANDED, in_calm, refuse

RANGE, ORDER = "out-of-range-is-outside", "out-of-order-does-not-follow"
OUT_OF_RANGE, OUT_OF_ORDER = "OFFSET_OUT_OF_RANGE", "OUT_OF_ORDER_SEQUENCE_NUMBER"
POWER = "power-off-brokers"


def an_empty_poll(run: Altered, rng: random.Random, fits: Callable[[Row], bool]) -> Row:
    """A poll of the load that was answered and brought nothing: nobody misses it."""
    given = {span["op_id"] for span in run.where("spans", sent=False)}
    polls = run.ops(f="poll", outcome="ok", phase="main")
    found = [op for op in polls if op["op_id"] not in given and op["value"] and fits(op)]
    if not found:
        raise NotHere("no such poll that brought nothing")
    return rng.choice(found)


def told_before(run: Altered, op: Row) -> int:
    """Up to where all is committed, by what clients were told before; -1: they were not."""
    begun = {each["op_id"]: each for each in run.ops(outcome="ok")}
    ends = [-1]
    for span in run.where("spans", key=op["key"]):
        of = begun.get(span["op_id"])
        if of is None or of["t1"] >= op["t0"]:
            continue
        if not span["sent"] and span["high_watermark"] is not None:
            ends.append(span["high_watermark"])
        elif span["sent"] and span["acks"] == -1 and span["offset"] is not None:
            ends.append(span["offset"] + span["records"])
    return max(ends)


def says_out_of_range(op: Row) -> None:
    op.update(outcome="fail", error=OUT_OF_RANGE)


def no_fault_near(run: Altered, op: Row) -> bool:
    hurts = [(row["t_start"], row["t_healed"]) for row in run.rows("faults")]
    return all(op["t1"] < start or end + 3 * SECOND < op["t0"] for start, end in hurts)


# --- out of range ---


@lie(RANGE, of=(STORM, STRANDED), target=BOTH)
def called_out_of_range_at_the_end(run: Altered, rng: random.Random) -> None:
    """A poll up to where all was known to be committed was refused: that is out of range, it was
    told."""
    polls = run.ops(f="poll", outcome="ok", phase="main")
    found = [op for op in polls if op["value"] is not None and no_fault_near(run, op)]
    rng.shuffle(found)
    op = next(op for op in found if 0 < op["value"] <= told_before(run, op))
    run.keep("spans", lambda span: span["op_id"] != op["op_id"])
    says_out_of_range(op)


@lie(RANGE, of=STORM, target=BOTH)
def called_out_of_range_amid_the_log(run: Altered, rng: random.Random) -> None:
    """A poll of a record that was read long before was refused: it is out of range, it was told."""
    op = an_empty_poll(run, rng, lambda op: told_before(run, op) > 1)
    op["value"] = 1
    says_out_of_range(op)


@legal(RANGE, of=(STRANDED, "slow-roll"), target=BOTH)
def out_of_range_behind_all(run: Altered, rng: random.Random) -> None:
    """A poll of an offset that no log ever had was refused: it is out of range."""
    op = an_empty_poll(run, rng, lambda _: True)
    op["value"] = 10**9
    says_out_of_range(op)


@legal(RANGE, of=POWER, target=BOTH)
def out_of_range_after_a_power_cut(run: Altered, rng: random.Random) -> None:
    """A broker whose power had failed had lost the end of its log, it said."""
    began = min(row["t_healed"] for row in run.rows("faults"))
    says_out_of_range(an_empty_poll(run, rng, lambda op: bool(op["t0"] > began)))


# --- out of order ---


def an_idempotent_send(run: Altered, rng: random.Random, *, first: bool) -> Row:
    """In calm; the first of its process, or one that follows an acknowledged one of it."""
    idempotent = {row["op_id"] for row in run.where("spans", sent=True) if row["idempotent"]}
    for _ in range(1000):
        op = in_calm(run, rng)
        mine = [each for each in run.ops(f="send", process=op["process"]) if each["t0"] < op["t0"]]
        to_it = [each for each in mine if each["key"] == op["key"]]
        is_next = all(each["outcome"] == "ok" for each in mine) and (first or to_it)
        if op["op_id"] in idempotent and is_next:
            return op
    raise NotHere("no idempotent send in calm")


@lie(ORDER, of=(STORM, STRANDED), target=BOTH)
def called_out_of_order(run: Altered, rng: random.Random) -> None:
    """A batch that follows what was acknowledged of its producer was refused as out of order."""
    refuse(run, an_idempotent_send(run, rng, first=False), OUT_OF_ORDER)


@lie(ORDER, of=STORM, target=BOTH)
def called_out_of_order_at_last(run: Altered, rng: random.Random) -> None:
    """Of a batch that follows nobody knows the fate: at last it was refused as out of order."""
    op = an_idempotent_send(run, rng, first=True)
    refuse(run, op, OUT_OF_ORDER)
    op.update(outcome="info")


def _refused(run: Altered, *, idempotent: bool) -> list[Row]:
    """Sends that a broker refused, and that are in no log."""
    sent = {r["op_id"] for r in run.where("spans", sent=True) if r["idempotent"] == idempotent}
    found = run.ops(f="send", outcome="fail")
    return [op for op in found if op["op_id"] in sent and op["node"] >= 0]


@legal(ORDER, of="slow-roll", target=BOTH)
def out_of_order_without_a_sequence(run: Altered, rng: random.Random) -> None:
    """A send that is not idempotent was refused, which has no sequence, by another word."""
    rng.choice(_refused(run, idempotent=False))["error"] = OUT_OF_ORDER


@legal(ORDER, of=POWER, target=BOTH)
def out_of_order_after_a_power_cut(run: Altered, rng: random.Random) -> None:
    """Of a batch nobody knows the fate: a broker whose power had failed had forgotten what its
    producer had sent before, it said."""
    began = min(row["t_start"] for row in run.rows("faults"))
    idempotent = {row["op_id"] for row in run.where("spans", sent=True) if row["idempotent"]}
    found = [op for op in run.ops(f="send", outcome="ok") if op["op_id"] in idempotent]
    op = rng.choice([op for op in found if op["t0"] > began and op["node"] >= 0])
    refuse(run, op, OUT_OF_ORDER)
    op.update(outcome="info")


@legal(ORDER, of=STRANDED, target=BOTH)
def out_of_order_by_a_deposed_leader(run: Altered, rng: random.Random) -> None:
    """Of a batch nobody knows the fate: a leader that was deposed meanwhile had not what its
    successor had acknowledged, it said."""
    idempotent = {row["op_id"] for row in run.where("spans", sent=True) if row["idempotent"]}
    found = run.ops(f="send", outcome="info", error="NOT_LEADER_OR_FOLLOWER")
    rng.choice([op for op in found if op["op_id"] in idempotent])["error"] = OUT_OF_ORDER
