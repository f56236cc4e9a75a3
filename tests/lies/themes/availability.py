"""Clients that are refused, or that do not ask; faults that hold no time."""

import random

from tests.lies.alteration import BOTH, NOT_GREEN, TRACED, legal, lie
from tests.lies.altered import Altered, NotHere, Row
from tests.lies.themes.register_logs import registers_of
from tests.lies.themes.registers import CLIENT_METRICS, QUORUMS

SECOND = 1_000_000_000
_LOGS = ("partition-brokers", "stranded-leader")


def first_success(run: Altered) -> int:
    return min(int(row["t0"]) for row in run.ops(phase="main", outcome="ok"))


def last_cure(run: Altered) -> int:
    healed = [int(row["t_healed"]) for row in run.rows("faults")]
    if not healed:
        raise NotHere("no fault")
    return max(healed)


def refuse_registers_from(run: Altered, at: int) -> None:
    """Every operation that is invoked later is refused; the log ends with what was asked for
    before, and final reads return that."""
    main = run.ops(phase="main")
    asked = {(row["key"], str(row["value"])) for row in main if row["t0"] <= at}
    late = [
        row["offset"]
        for row in registers_of(run, 1)
        if row["value"] is not None and (row["resource"], row["value"]) not in asked
    ]
    if not late:
        raise NotHere("nothing was written later")
    ends = min(late)
    known = {(r["resource"], r["value"]) for r in registers_of(run, 1) if r["offset"] < ends}
    run.erase_records(lambda r: r["resource_type"] == CLIENT_METRICS and r["offset"] >= ends)
    for row in main:
        if row["t0"] > at:
            value = None if row["f"] == "read" else row["value"]
            row.update(outcome="fail", error="error-41", value=value)
        elif row["outcome"] == "ok" and row["f"] == "write":
            if (row["key"], str(row["value"])) not in known:
                row.update(outcome="info", error="timed-out")
        elif row["outcome"] == "ok" and row["t1"] > at:
            value = None if row["f"] == "read" else row["value"]
            row.update(outcome="fail" if row["f"] == "read" else "info", error="lost", value=value)
    state: dict[str, int | None] = {}
    for record in registers_of(run, 1):
        state[record["resource"]] = None if record["value"] is None else int(record["value"])
    for read in run.ops(f="read", phase="final", outcome="ok"):
        read["value"] = state.get(read["key"])


@lie("serves-in-calm", of="baseline", target=BOTH)
def everything_is_refused_without_a_cause(run: Altered, rng: random.Random) -> None:
    """From a moment of the first seconds on every operation is refused, and no fault is there."""
    at = first_success(run) + int(rng.uniform(1.2, 1.8) * SECOND)
    refuse_registers_from(run, at)


@lie("serves-in-calm", of="baseline")
def reads_are_refused_without_a_cause(run: Altered, rng: random.Random) -> None:
    """The same of reads alone."""
    at = first_success(run) + int(rng.uniform(1.2, 1.8) * SECOND)
    for row in run.ops(f="read", phase="main", outcome="ok"):
        if row["t0"] > at:
            row.update(outcome="fail", error="error-41", value=None)


@legal("serves-in-calm", of=("baseline", "partition-leader"), target=BOTH)
def a_few_reads_time_out(run: Altered, rng: random.Random) -> None:
    """One read in twenty."""
    for row in run.ops(f="read", phase="main", outcome="ok"):
        if rng.random() < 0.05:
            row.update(outcome="fail", error="timed-out", value=None)


@legal("serves-in-calm", "workload-succeeded", of=QUORUMS, target=BOTH)
def nobody_is_served_while_it_is_hurt(run: Altered, rng: random.Random) -> None:
    """Every read that was under way during a fault failed."""
    faults = run.rows("faults")
    for row in run.ops(f="read", phase="main", outcome="ok"):
        if any(row["t1"] > f["t_start"] and row["t0"] < f["t_healed"] for f in faults):
            row.update(outcome="fail", error="timed-out", value=None)


@lie("workload-succeeded", of="baseline", target=BOTH, want=NOT_GREEN)
def clients_stop_and_nobody_hurt_them(run: Altered, rng: random.Random) -> None:
    """Nobody asks for anything from one moment on."""
    at = first_success(run) + int(rng.uniform(1.0, 1.4) * SECOND)
    refuse_registers_from(run, at)
    run.keep("ops", lambda row: row["phase"] != "main" or row["t0"] <= at)
    run.renumber()


@lie("workload-succeeded", of=QUORUMS, target=BOTH, want=NOT_GREEN)
def everything_is_refused_after_the_last_cure(run: Altered, rng: random.Random) -> None:
    """And the final reads are answered."""
    refuse_registers_from(run, last_cure(run))


@lie("workload-succeeded", of=QUORUMS, target=BOTH, want=NOT_GREEN)
def nobody_reads_before_the_end(run: Altered, rng: random.Random) -> None:
    """The plan has reads, and there are none but the final ones."""
    run.keep("ops", lambda row: row["f"] != "read" or row["phase"] != "main")
    run.renumber()


@lie("workload-succeeded", of=_LOGS, target=TRACED, want=NOT_GREEN)
def nobody_polls_before_the_end(run: Altered, rng: random.Random) -> None:
    """The plan has consumers, and none of them polls before the final reads."""
    gone = {row["op_id"] for row in run.ops(f="poll", phase="main")}
    run.keep("ops", lambda row: row["op_id"] not in gone)
    run.keep("spans", lambda row: row["op_id"] not in gone)
    run.renumber()


@lie("workload-succeeded", of=_LOGS, target=BOTH, want=NOT_GREEN)
def nobody_waits_for_all_in_sync_replicas(run: Altered, rng: random.Random) -> None:
    """Every record was sent with acks=1: nothing that was acknowledged was promised."""
    for span in run.rows("spans"):
        if span["sent"]:
            span["acks"] = 1


@lie("faults-bit", of=QUORUMS, target=BOTH, want=NOT_GREEN)
def a_fault_holds_no_time(run: Altered, rng: random.Random) -> None:
    """A fault was over when it was there."""
    row = rng.choice([row for row in run.rows("faults") if lasts(row)])
    row["t_heal"] = row["t_bit"]
    row["t_healed"] = row["t_bit"] + 1


@lie("faults-bit", of=(*QUORUMS, *_LOGS), target=BOTH, want=NOT_GREEN)
def a_fault_is_never_healed(run: Altered, rng: random.Random) -> None:
    """A fault bit, and nobody cured it before the run's end."""
    rng.choice(run.rows("faults")).update(t_heal=None, t_healed=None)


@legal("faults-bit", of=(*QUORUMS, *_LOGS), target=BOTH)
def it_takes_long_to_tell_that_a_fault_bit(run: Altered, rng: random.Random) -> None:
    """The injection took a part of the time: it was in effect for the rest."""
    row = rng.choice([row for row in run.rows("faults") if lasts(row)])
    row["t_bit"] += (row["t_heal"] - row["t_bit"]) // 10


def lasts(row: Row) -> bool:
    """Whether a fault is one that lasts."""
    return bool(row["cuts"] or row["halts"] or row["degrades"]) and not row["wipes"]


# --- while few are hurt ---


def _longest_fault(run: Altered) -> Row:
    faults = [row for row in run.rows("faults") if row["t_bit"] and row["t_heal"]]
    return max(faults, key=lambda row: int(row["t_heal"]) - int(row["t_bit"]))


def _time_out(run: Altered, row: Row) -> None:
    """Nobody knows what became of it."""
    row.update(outcome="info", error="timed-out", value=row["value"])
    for span in run.spans_of(row):
        span.update(offset=None, epoch=None)


def _time_out_between(run: Altered, begin: int, end: int, **equal: object) -> None:
    found = [
        row
        for row in run.ops(phase="main", outcome="ok", **equal)
        if row["t1"] > begin and row["t0"] < end
    ]
    if not found:
        raise NotHere("nothing was asked for meanwhile")
    process = max(row["process"] for row in run.ops()) + 1
    for number, row in enumerate(found):
        _time_out(run, row)
        row["process"] = process + number  # one that does not know retires


@lie("serves-while-hurt", of=("snapshot-catch-up", "snapshot-catch-up-4"), target=BOTH)
def nothing_is_acknowledged_while_a_follower_is_off(run: Altered, rng: random.Random) -> None:
    """For five seconds of eight in which a follower is off nobody hears that a write was done."""
    fault = _longest_fault(run)
    at = int(fault["t_bit"]) + int(rng.uniform(0.5, 1.5) * SECOND)
    for f in ("write", "delete"):
        if any(at < row["t0"] < at + 5 * SECOND for row in run.ops(f=f)):
            _time_out_between(run, at, at + 5 * SECOND, f=f)
    run.renumber()


@legal("serves-while-hurt", of=("snapshot-catch-up", "snapshot-catch-up-4"), target=BOTH)
def a_moment_passes_while_a_follower_is_off(run: Altered, rng: random.Random) -> None:
    """The same for a second and a half."""
    fault = _longest_fault(run)
    at = int(fault["t_bit"]) + int(rng.uniform(0.5, 1.5) * SECOND)
    for f in ("write", "delete"):
        if any(at < row["t0"] < at + SECOND for row in run.ops(f=f)):
            _time_out_between(run, at, at + 3 * SECOND // 2, f=f)
    run.renumber()


@lie("serves-while-hurt", of="partition-brokers", target=BOTH)
def a_partition_is_not_served_while_a_broker_is_cut_off(run: Altered, rng: random.Random) -> None:
    """All that one partition is sent times out, as long as the longest of the faults lasts."""
    fault = _longest_fault(run)
    sent = sorted({span["key"] for span in run.where("spans", sent=True, acks=-1)})
    begin, end = int(fault["t_bit"]), int(fault["t_heal"])
    _time_out_between(run, begin, end, f="send", key=rng.choice(sent))
    run.renumber()


@legal("serves-while-hurt", of="partition-brokers", target=BOTH)
def a_partition_is_served_again_after_a_session(run: Altered, rng: random.Random) -> None:
    """The same for the first four seconds: a broker that is cut off is fenced by then."""
    fault = _longest_fault(run)
    sent = sorted({span["key"] for span in run.where("spans", sent=True, acks=-1)})
    begin = int(fault["t_bit"])
    _time_out_between(run, begin, begin + 4 * SECOND, f="send", key=rng.choice(sent))
    run.renumber()
