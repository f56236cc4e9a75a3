"""What nodes refuse, though they need not: and what they refuse rightly."""

import random

from tests.lies.alteration import BOTH, legal, lie
from tests.lies.altered import Altered, NotHere, Row

MS, SECOND = 1_000_000, 1_000_000_000
WELL_S = 3  # a little longer than the checks allow for what a broker has not heard of yet
STORM, STRANDED = "isr-shrink-storm", "stranded-coordinator"
TOO_FEW, DENIED = "too-few-replicas-are-too-few", "leaders-do-not-deny-it"
CONTROLLERS = "controllers-do-not-deny-it"


def refuse(run: Altered, op: Row, error: str) -> None:
    op.update(outcome="fail", error=error)
    for span in run.spans_of(op):
        if span["sent"]:
            span["offset"] = None


def in_calm(run: Altered, rng: random.Random, *, once: bool = False) -> Row:
    """A send that was acknowledged when nothing had been wrong for a while; `once`: and that no
    producer sends again."""
    began = min(row["t1"] for row in run.where("probes", kind="partition")) + WELL_S * SECOND
    hurts = [(row["t_start"], row["t_healed"]) for row in run.rows("faults")]
    again = {row["op_id"] for row in run.where("spans", sent=True) if row["idempotent"]}
    found = [
        op
        for op in run.ops(f="send", outcome="ok")
        if op["t0"] > began
        and op["node"] >= 0
        and not (once and op["op_id"] in again)
        and all(op["t1"] <= start or end <= op["t0"] - WELL_S * SECOND for start, end in hurts)
    ]
    if not found:
        raise NotHere("no send in calm")
    return rng.choice(found)


# --- brokers ---


@lie(TOO_FEW, of=(STORM, STRANDED), target=BOTH)
def refused_with_all_in_the_isr(run: Altered, rng: random.Random) -> None:
    """A send that was acknowledged in calm was refused for want of replicas."""
    refuse(run, in_calm(run, rng), "NOT_ENOUGH_REPLICAS")


@lie(TOO_FEW, of=STORM, target=BOTH)
def refused_for_want_of_replicas_at_last(run: Altered, rng: random.Random) -> None:
    """A send in calm that nobody knows the fate of was refused for want of replicas at last."""
    op = in_calm(run, rng)
    refuse(run, op, "NOT_ENOUGH_REPLICAS")
    op.update(outcome="info")


@legal(TOO_FEW, of=("hwm-under-min-isr", "hwm-under-min-isr-4"), target=BOTH)
def refused_a_little_later(run: Altered, rng: random.Random) -> None:
    """A refusal for want of replicas took a millisecond longer."""
    found = [op for op in run.ops(f="send") if op["error"] == "NOT_ENOUGH_REPLICAS"]
    rng.choice(found)["t1"] += MS


@legal(TOO_FEW, of="hwm-under-min-isr", target=BOTH)
def refused_while_the_isr_is_small(run: Altered, rng: random.Random) -> None:
    """A refusal for want of replicas came at once, and not when it was sent again."""
    found = [op for op in run.ops(f="send") if op["error"] == "NOT_ENOUGH_REPLICAS"]
    op = rng.choice([op for op in found if op["t1"] - op["t0"] > 2 * MS])
    op["t0"] = op["t1"] - MS


@lie(DENIED, of=(STORM, STRANDED), target=BOTH)
def a_leader_denied_it(run: Altered, rng: random.Random) -> None:
    """A send that its leader acknowledged in calm was refused: it does not lead, it said."""
    refuse(run, in_calm(run, rng, once=True), "NOT_LEADER_OR_FOLLOWER")


@lie(DENIED, of=STORM, target=BOTH)
def a_leader_denied_it_after_the_append(run: Altered, rng: random.Random) -> None:
    """A send in calm is an info: its leader said when it had it that it leads no more."""
    op = in_calm(run, rng, once=True)
    refuse(run, op, "NOT_LEADER_OR_FOLLOWER")
    op.update(outcome="info")


@legal(DENIED, of=STORM, target=BOTH)
def another_broker_denied_it(run: Altered, rng: random.Random) -> None:
    """A send in calm is an info: a broker that does not lead any more said so."""
    op = in_calm(run, rng, once=True)
    refuse(run, op, "NOT_LEADER_OR_FOLLOWER")
    op["outcome"] = "info"
    op["node"] = next(node for node in (1, 2, 3) if node != op["node"])


@legal(DENIED, of=(STRANDED, "slow-roll"), target=BOTH)
def denied_a_little_later(run: Altered, rng: random.Random) -> None:
    """A broker that does not lead took a millisecond longer to say so."""
    found = [op for op in run.ops(f="send") if op["error"] == "NOT_LEADER_OR_FOLLOWER"]
    rng.choice(found)["t1"] += MS


# --- controllers ---


def amid_a_reign(run: Altered, rng: random.Random) -> Row:
    """A read that was answered between writes of one leader that was never followed by another."""
    writes = run.ops(f="write", outcome="ok")
    leader = writes[0]["node"]
    others = [op["t0"] for op in writes if op["node"] != leader]
    mine = [op for op in writes if op["node"] == leader and op["t0"] < min(others, default=2**62)]
    began, ended = min(op["t1"] for op in mine), max(op["t0"] for op in mine)
    found = [
        op
        for op in run.ops(f="read", outcome="ok", node=leader)
        if op["t0"] > began and op["t1"] < ended and op["request"] is None
    ]
    if not found:
        raise NotHere("no read amid a reign")
    return rng.choice(found)


@lie(CONTROLLERS, of=("kill-leader", "power-off", "baseline"), target=BOTH)
def an_active_controller_denied_it(run: Altered, rng: random.Random) -> None:
    """A read that the active controller answered was refused: it is none, it said."""
    amid_a_reign(run, rng).update(outcome="fail", error="error-41", value=None)


@lie(CONTROLLERS, of=("kill-leader", "power-off"), target=BOTH)
def an_active_controller_denied_a_write(run: Altered, rng: random.Random) -> None:
    """Of a write that the active controller acknowledged nobody knows: it is none, it said."""
    read = amid_a_reign(run, rng)
    before = [
        op
        for op in run.ops(f="write", outcome="ok", node=read["node"])
        if op["t1"] < read["t0"] and op["request"] is None
    ]
    op = max(before, key=lambda each: int(each["t0"]))
    first = min(before, key=lambda each: int(each["t0"]))
    if op is first:
        raise NotHere("one write alone")
    op.update(outcome="info", error="error-41")


@legal(CONTROLLERS, of=("kill-leader", "power-off"), target=BOTH)
def a_standby_denied_it(run: Altered, rng: random.Random) -> None:
    """A read that the active controller answered went to another node, which is none."""
    op = amid_a_reign(run, rng)
    op.update(outcome="fail", error="error-41", value=None)
    op["node"] = next(node for node in (1, 2, 3) if node != op["node"])


@legal(CONTROLLERS, of=("kill-leader", "power-off"), target=BOTH)
def a_standby_took_longer_to_deny_it(run: Altered, rng: random.Random) -> None:
    """A node that is not the active controller took 100 µs longer to say so."""
    found = [op for op in run.ops(outcome="fail") if op["error"] == "error-41"]
    rng.choice(found)["t1"] += MS // 10
