"""Was there enough to judge? Otherwise a run in which nothing happened would be valid. And is all
planned evidence there?"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, describes_quorum, everywhere, of_registers
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact, Kind
from checkers.evidence.missing import nothing_was_counted
from checkers.history.asked import asked_by_clients
from checkers.history.sealed_run import RunInfo
from checkers.history.tables import DESCRIBE_QUORUM, VOTER_CHANGES
from checkers.run.sides_led import OF_SIDES
from checkers.run.silence import silence, undone
from checkers.verdict import CheckResult, EventValue, Verdict, counted

ENOUGH_SUCCESSES = 50
ENOUGH_SHARE = 0.1  # of what was tried
ENOUGH_OF_A_KIND = 10
_LEAST_HELD_NS = 100_000
# Done a few times only, so that there is something to send to and poll. A delete is a write of
# nothing: there are enough of them if there are enough writes.
NOW_AND_THEN = ("delete",)
SETTING_UP = (
    "assign",
    "subscribe",
    "seek",
    "create-topic",
    "delete-topic",
    "set-min-isr",
    "set-config",
    "commit",
    "is-committed",
    "delete-records",
    "add-partitions",
    "reassign",
    "epoch-end",
    "group-heartbeat",
    "quorum-epoch",
    "alter-configs",  # which does not succeed if it has to be refused
)


@check("record-complete", applies=everywhere, source="")
def record_complete(evidence: Evidence) -> CheckResult:
    """The run came to its end, and its record is complete.

    Needs: run.json, manifest.

    A violation in what is left of a cut record stands; the absence of one says little. If no
    majority of the voters' disks is left, a run ends when it has waited in vain.
    """
    info = evidence.info
    problems = [f"cut: {note}" for note in evidence.run.truncated]
    if not info.finished and not (info.stuck and evidence.lost_majority and not info.trouble):
        why = f": {info.trouble}" if info.trouble else ""
        problems.insert(0, f"the run broke off before its end{why}")
    if problems:
        return CheckResult(
            verdict=Verdict.UNKNOWN,
            message="; ".join(problems[:3]),
            looked_at=1,
        )
    return CheckResult(
        verdict=Verdict.VALID,
        message="the run came to its end and its record is complete",
        looked_at=1,
    )


@check("workload-succeeded", applies=everywhere, source="")
def workload_succeeded(evidence: Evidence) -> CheckResult:
    """Clients tried enough operations with success that a broken promise could have shown.

    Needs: ops, faults.

    A cluster that answers nothing breaks no promise: such a run is void, not valid. Needed are, not
    counting the final reads, which a cluster may answer that was of no use before:

    * 50 successes, ten on each of the five keys that live at a time, and 10 % of what was tried;
      of 40 real runs of ten seconds the worst had 1,800 and 86 %, all voters without power;
    * 10 successes of each kind that was tried: reads alone show nothing about durability,
      writes without reads nothing about linearizability. What only sets the stage does not count;
    * during each fault and after each cure, clients that go on: what is not asked for meanwhile
      cannot go wrong. In a time that is longer than their patience, at least a quarter of the
      processes have to invoke something in each patience; in a shorter one, an operation has to be
      under way (not where faults overlap). One that never returned is none;
    * clients did what they were to do: reads and writes, sends and polls, sends that wait
      for all in-sync replicas, more than one register or partition, the chores; and each kind of it
      that was tried ten times succeeded before the first fault and after the last cure, as
      something did that changes what is stored (`checkers.run.silence`);
    * if clients change voters and ask for them, ten answers to that, and an acknowledged
      change: without one nothing can have been forgotten;
    * after the last cure, a twentieth of what succeeded in a second before the first fault, if
      there is a second for it (`checkers.run.silence`); and without faults a client that asks for
      something all the time.

    Once no majority of the voters' disks is left, clients have to go on, and no operation may
    succeed.
    """
    ops = asked_by_clients(evidence.tables["ops"])
    asked_for = pc.invert(pc.is_in(ops["f"], pa.array(SETTING_UP)))
    main = ops.filter(pc.and_(pc.equal(ops["phase"], "main"), asked_for))
    judged, lost = main, evidence.lost_majority
    if lost is not None:
        judged = main.filter(pc.less(main["t0"], lost.begin_ns))
    tried, succeeded = judged.num_rows, count(judged, outcome="ok")
    problem = _too_little(judged, tried, succeeded)
    problem = problem or _too_little_of_voters(evidence)
    problem = problem or silence(evidence, main)
    problem = problem or undone(evidence, main)
    return CheckResult(
        verdict=Verdict.VOID if problem else Verdict.VALID,
        message=f"{succeeded:,} of {tried:,} operations succeeded"
        f"{', up to where no majority of disks was left' * (lost is not None)}{problem}",
        looked_at=tried,
        facts={"tried": tried, "succeeded": succeeded},
    )


def _too_little(main: pa.Table, tried: int, succeeded: int) -> str:
    """What is lacking, as the end of a sentence; "" if nothing is."""
    if succeeded < ENOUGH_SUCCESSES or succeeded < ENOUGH_SHARE * tried:
        return f"; below {ENOUGH_SUCCESSES} or {ENOUGH_SHARE:.0%} a run says nothing"
    for kind in sorted(set(main["f"].to_pylist()).difference(NOW_AND_THEN)):
        of_kind = count(main, f=kind, outcome="ok")
        if of_kind < ENOUGH_OF_A_KIND:
            return f", but only {of_kind} {kind}s; below {ENOUGH_OF_A_KIND} a run says nothing"
    return ""


def _too_little_of_voters(evidence: Evidence) -> str:
    """The same, for operations on the quorum; "" if clients are to do none."""
    if not describes_quorum(evidence.info):
        return ""
    ops = evidence.tables["ops"]
    told = count(ops, f=DESCRIBE_QUORUM, outcome="ok", phase="main")
    changed = sum(count(ops, f=f, outcome="ok") for f in VOTER_CHANGES)
    if told < ENOUGH_OF_A_KIND or not changed:
        return (
            f", but clients got {counted(told, 'answer')} about voters, and "
            f"{counted(changed, 'change')} of voters acknowledged; below {ENOUGH_OF_A_KIND} and 1 "
            "a run says nothing"
        )
    return ""


@check("final-reads", applies=of_registers, source="Jepsen's Kafka workload")
def final_reads(evidence: Evidence) -> CheckResult:
    """After all faults were healed, every key that may have been written was read.

    Needs: ops.

    Without it a write lost at the end would go unseen. If no majority of the voters' disks is left,
    no client can read, and the remaining disks decide.
    """
    lost = evidence.lost_majority
    if lost is not None and evidence.info.stuck:
        message = f"no client could read at the end: {lost}"
        return CheckResult(verdict=Verdict.VALID, message=message)
    ops = evidence.tables["ops"]
    tried = pc.and_(pc.equal(ops["f"], "write"), pc.not_equal(ops["outcome"], "fail"))
    written = set(ops.filter(tried)["key"].to_pylist())
    read = set(_where(ops, f="read", outcome="ok", phase="final")["key"].to_pylist())
    missing = sorted(written - read)
    message = f"each of {len(written):,} written keys was read at the end"
    if not written:
        message = "no key was written"
    elif missing:
        message = f"{len(missing):,} of {len(written):,} keys were not read at the end: "
        message += ", ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
    return CheckResult(
        verdict=Verdict.UNKNOWN if missing or not written else Verdict.VALID,
        message=message,
        looked_at=len(written),
    )


def _is_to_show(info: RunInfo) -> bool:
    """Applies where a scenario is about an event that faults alone do not cause."""
    return bool(_of_nodes(info))


def _of_nodes(info: RunInfo) -> list[str]:
    """Trace events."""
    return [name for name in info.to_show if name not in OF_SIDES]


@check("came-about", applies=_is_to_show, source="")
def came_about(evidence: Evidence) -> CheckResult:
    """The event that the scenario is about came about: some node traced it.

    If nodes write no traces, by their disks: the log of a follower that was away begins above all
    that was committed when it went, so it fetched a snapshot. Void otherwise: a follower that was
    never so far behind shows nothing about fetching one.
    """
    traced = evidence.gives(Kind.TRACES)
    shown = {name: _times(evidence, name, traced=traced) for name in _of_nodes(evidence.info)}
    never = [name for name, times in shown.items() if not times]
    message = ", ".join(f"{name} {counted(times, 'time')}" for name, times in shown.items())
    none = "no node traced" if traced else "no disk shows"
    some = "nodes traced" if traced else "disks show"
    return CheckResult(
        verdict=Verdict.VOID if never else Verdict.VALID,
        message=f"{none} {' or '.join(never)}" if never else f"{some} {message}",
        looked_at=sum(shown.values()),
    )


def _times(evidence: Evidence, name: str, *, traced: bool) -> int:
    return len(evidence.traces.rows(name)) if traced else _BY_DISKS[name](evidence)


def _loaded(evidence: Evidence) -> int:
    """How many followers fetched a snapshot after they had been away."""
    probes = evidence.tables["probes"]
    known = probes.filter(pc.is_valid(probes["high_watermark"]))
    committed = [(row["t0"], row["high_watermark"]) for row in known.to_pylist()]
    lacked = set()
    for fault in (each for each in evidence.faults if each.halts):
        then = max((end for at, end in committed if at <= fault.begin_ns), default=-1)
        began = {node: evidence.first_snapshots.get(node) for node in fault.nodes}
        lacked |= {node for node, first in began.items() if first and 0 <= then < first.end}
    return len(lacked)


_BY_DISKS = {"q.loaded": _loaded}


@check("faults-bit", applies=everywhere, source="")
def faults_bit(evidence: Evidence) -> CheckResult:
    """Every fault left evidence that it had its effect, for some time, and was healed; and every
    planned kind occurred.

    Void otherwise: a run without faults that bit shows nothing about them. A scenario without
    faults has nothing to prove here. If faults overlap, one may keep another from biting (a node
    that is off sends nothing along a cut link), or from beginning at all: there half of those that
    began will do, as long as each planned kind of fault bit once.
    """
    faults, planned = evidence.faults, evidence.info.fault_kinds
    bit = [fault for fault in faults if fault.bit and not _held_no_time(fault)]
    toothless = [fault for fault in faults if fault not in bit]
    for_ever = [fault for fault in faults if fault.t_healed is None and evidence.info.finished]
    never = [kind for kind in planned if kind not in {fault.kind for fault in bit}]
    half_will_do = evidence.info.faults_overlap and len(toothless) <= len(bit)
    message = f"{len(bit)} of {len(faults)} faults bit, of every kind that was planned"
    if not faults and not planned:
        message = "no fault was asked for, and none was injected"
    elif toothless and not half_will_do:
        message = _missing_evidence(toothless)
    elif for_ever:
        message = f"fault {for_ever[0].id}, {for_ever[0].kind}, was never healed"
    elif never:
        message = f"no {' and no '.join(never)} bit, though it was planned{_why(toothless, never)}"
    return CheckResult(
        verdict=Verdict.VOID
        if never or for_ever or (toothless and not half_will_do)
        else Verdict.VALID,
        message=message,
        looked_at=len(faults),
        facts={"bit": len(bit), "faults": len(faults), "kinds_that_never_bit": len(never)},
    )


def _held_no_time(fault: FaultFact) -> bool:
    """Whether a fault that lasts was over before it was in effect."""
    lasts = fault.cuts or fault.degrades or fault.shifts_clock or (fault.halts and not fault.wipes)
    return lasts and fault.ran_its_course and fault.end_ns - fault.begin_ns < _LEAST_HELD_NS


def _why(toothless: Sequence[FaultFact], kinds: Sequence[str]) -> str:
    """Why the first of these kinds did not bite."""
    tried = [fault for fault in toothless if fault.kind == kinds[0]]
    return f": {_missing_evidence(tried)}" if tried else ": no such fault ever began"


def _missing_evidence(toothless: Sequence[FaultFact]) -> str:
    first = toothless[0]
    why = first.evidence or "it was never asked whether it had its effect"
    if first.bit:
        why = "it was healed as soon as it was in effect"
    more = f" (and {len(toothless) - 1} more)" if len(toothless) > 1 else ""
    return f"fault {first.id}, {first.kind}, left no evidence: {why}{more}"


def count(table: pa.Table, **equal: EventValue) -> int:
    """Rows with these values in their columns."""
    return int(_where(table, **equal).num_rows)


def _where(table: pa.Table, **equal: EventValue) -> pa.Table:
    for name, value in equal.items():
        table = table.filter(pc.equal(table[name], value))
    return table


# Is all evidence there that the run was planned to leave?


_NAMED = 3


@check("evidence-complete", applies=everywhere, source="")
def evidence_complete(evidence: Evidence) -> CheckResult:
    """Everything that the run was planned to leave is there: all evidence that was counted during
    the run is found.

    Counted are operations, by the recorder and by the clients themselves, none of them outside of
    the run's time; faults, planned and begun; answers to probes; processes of each node, the
    numbers of their trace lines and how the last one ended; files, by bytes and CRC, as they were
    collected; disks. Missing evidence accuses no node, and a result without it is unknown at best.
    """
    lacking = evidence.missing
    if lacking:
        named = "; ".join(str(each) for each in lacking[:_NAMED])
        more = f" (and {len(lacking) - _NAMED} more)" if len(lacking) > _NAMED else ""
        return _row(Verdict.UNKNOWN, f"evidence is missing: {named}{more}", len(lacking))
    if nothing_was_counted(evidence.run):
        return _row(Verdict.UNKNOWN, "what this run should have left was not counted", 0)
    counts = _counts(evidence)
    told = ", ".join(counted(number, *words) for words, number in counts.items())
    return _row(
        Verdict.VALID, f"everything that was counted is there: {told}", sum(counts.values())
    )


def _counts(evidence: Evidence) -> dict[tuple[str, str], int]:
    """By one and many of what was counted."""
    tables = evidence.tables
    found = {
        ("operation", "operations"): tables["ops"].num_rows,
        ("fault", "faults"): tables["faults"].num_rows,
        ("answer to probes", "answers to probes"): tables["probes"].num_rows,
        ("trace line", "trace lines"): tables["node_events"].num_rows,
        ("disk", "disks"): tables["disks"].num_rows,
        ("lost disk", "lost disks"): tables["lost_disks"].num_rows,
        ("replica", "replicas"): tables["replicas"].num_rows,
    }
    return {words: number for words, number in found.items() if number}


def _row(verdict: Verdict, message: str, looked_at: int) -> CheckResult:
    return CheckResult(verdict=verdict, message=message, looked_at=looked_at)
