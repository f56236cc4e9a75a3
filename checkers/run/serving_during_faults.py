"""While a fault hits few nodes, the others serve: a majority of the voters, and an ISR that is
large enough.

A cluster that stands still as long as one of its nodes is off promises nothing wrong, and is of no
use. Other checks ask of a majority that it elects (Q21, by traces); this one goes by clients, as
their times are known for any target.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact, Kind
from checkers.evidence.isr_history import IsrHistory, isr_histories
from checkers.evidence.starvation import Suspicion, sort_out
from checkers.evidence.voter_history import planned_voters
from checkers.history.asked import asked_by_clients
from checkers.history.events import HistoryKind
from checkers.history.sealed_run import RunInfo
from checkers.history.tables import VOTER_CHANGES
from checkers.quorum.leadership import cuts_links
from checkers.run.silence import SECOND, main_ends
from checkers.verdict import CheckResult, EventValue, counted

ENOUGH = 5  # that are invoked while nothing succeeds
# A node that serves on without a break has answered by then, even if a slow follower has to leave
# the ISR.
UNHURT_S, UNHURT_REAL_S = 3.0, 10.0
CHECK_QUORUM = 1.5  # fetch time-outs
ELECTIONS = 4  # election time-outs, once the leader of the quorum was missed
# Until others know the leader and the ISR, and clients have found them.
KNOWN_S, KNOWN_REAL_S = 3.0, 12.0
SETTLES_S, SETTLES_REAL_S = 3.0, 30.0  # after the previous fault
_QUICK_SESSION_S, _SESSION_S = 3.0, 9.0
_SESSION = "broker.session.timeout.ms"
_CHANGES = ("write", "delete")
_SHOWN = ("process", "node", "f", "key", "outcome", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Duty:
    """What has to be served during a fault, and after how long without a success it is not."""

    fault: FaultFact
    what: str
    ops: pa.Table
    within_s: float

    def asked(self, begin: int, end: int) -> pa.Table:
        t0 = self.ops["t0"].to_numpy()
        return self.ops.filter(pa.array((begin <= t0) & (t0 < end)))


@check(
    "serves-while-hurt",
    applies=everywhere,
    source="KIP-595: a majority elects, and its leader serves; KIP-631, KIP-966: min ISR replicas",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS, Kind.OPERATIONS),
)
def serves_during_faults(evidence: Evidence) -> CheckResult:
    """While a majority of the voters is undisturbed, writes to registers succeed; and while a
    majority of the controllers and min ISR members of an ISR are, sends to that partition do: with
    no gap longer than it takes to notice the fault and elect.

    That is 3 s if the fault hits neither the node that acknowledged last nor a member of the
    partition's ISR; a fetch time-out, four election time-outs and 3 s if it hits the leader of the
    quorum, and until that resigns, if it is cut off; a session and 3 s if it hits a member of the
    ISR, and all of that if it may hit both. In real time, 7 to 9 s more. Faults are those that end
    processes or cut links, alone, some seconds after the last one. Quorums with voters that change,
    or lose disks, are not judged.
    """
    looked_at, found = 0, list[Suspicion]()
    for duty in _duties(evidence):
        fault = duty.fault
        begin, end = fault.begin_ns, min(fault.end_ns, main_ends(evidence))
        if end - begin <= duty.within_s * SECOND or duty.asked(begin, end).num_rows < ENOUGH:
            continue
        looked_at += 1
        found += _unserved(duty, begin, end)
    told = sort_out(evidence.info, found)
    return conclude(
        looked_at=looked_at,
        unit="times of a fault that hit few nodes",
        violations=told.accused,
        starved=told.starved,
        gaps=told.unmeasured,
        needs="faults, and operations meanwhile",
        holds="the others served all the time",
        algorithm="the longest time without a success while enough nodes are undisturbed",
        nothing="no fault left enough nodes undisturbed for so long that they had to serve",
    )


def _duties(evidence: Evidence) -> Iterator[_Duty]:
    info = evidence.info
    ops = asked_by_clients(evidence.tables["ops"])
    main = ops.filter(pc.equal(ops["phase"], "main"))
    if evidence.lost_majority is not None or _changes_voters(evidence):
        return
    for fault in _plain_faults(evidence):
        left = set(planned_voters(info)) - {*fault.nodes}
        if 2 * len(left) <= len(planned_voters(info)):
            continue
        if info.history == HistoryKind.REGISTERS:
            yield from _of_registers(evidence, fault, main)
        else:
            yield from _of_partitions(evidence, fault, main)


def _changes_voters(evidence: Evidence) -> bool:
    changed = pc.is_in(evidence.tables["ops"]["f"], pa.array(VOTER_CHANGES))
    return bool(pc.any(changed).as_py()) or any(fault.wipes for fault in evidence.faults)


def _plain_faults(evidence: Evidence) -> Iterator[FaultFact]:
    """Those by which their nodes are off, or cut off, and nothing else is wrong."""
    settles = int((SETTLES_S if evidence.info.is_simulated else SETTLES_REAL_S) * SECOND)
    ends = [int(end["t_ns"]) for end in evidence.info.unasked_ends]
    for fault in evidence.faults:
        is_plain = fault.halts or (cuts_links(fault) and not fault.degrades)
        if not (is_plain and fault.bit and fault.ran_its_course) or fault.shifts_clock:
            continue
        if fault.halts and (fault.degrades or fault.links):
            continue
        if any(not {a, b} & {*fault.nodes} for a, b in fault.links):
            continue
        begin, end = fault.t_start - settles, fault.end_ns
        alone = not any(
            other.id != fault.id and other.overlaps(begin, end) for other in evidence.faults
        )
        if alone and not any(at < end for at in ends):
            yield fault


def _of_registers(evidence: Evidence, fault: FaultFact, main: pa.Table) -> Iterator[_Duty]:
    """The node that acknowledged last still leads, as long as nothing happens to it."""
    changes = main.filter(pc.is_in(main["f"], pa.array(_CHANGES)))
    done = changes.filter(
        pc.and_kleene(pc.equal(changes["outcome"], "ok"), pc.less(changes["t1"], fault.t_start))
    )
    if not done.num_rows:
        return
    last = done.sort_by("t1")["node"][done.num_rows - 1].as_py()
    within_s = _unhurt_s(evidence.info)
    if last in fault.nodes:
        within_s = _elects_s(evidence.info, fault) + _known_s(evidence.info)
    yield _Duty(fault=fault, what="register", ops=changes, within_s=within_s)


def _of_partitions(evidence: Evidence, fault: FaultFact, main: pa.Table) -> Iterator[_Duty]:
    """For each partition with enough undisturbed members of the ISR, whichever ISR it may have had
    by then."""
    info, hurt = evidence.info, {*fault.nodes}
    spans = evidence.tables["spans"]
    unheard = spans.filter(pc.fill_null(pc.equal(spans["acks"], 0), False))["op_id"]
    sends = main.filter(pc.equal(main["f"], "send"))
    sends = sends.filter(pc.invert(pc.is_in(sends["op_id"], unheard.combine_chunks())))
    for key, history in sorted(evidence.once(isr_histories).items()):
        states = _possible(history, fault.t_start)
        if not states or any(_left(history, at, hurt) < history.min_isr[at] for at in states):
            continue
        of_isr = {member for at in states for member in history.states[at].isr}
        within_s = _unhurt_s(info)
        if of_isr & hurt:
            within_s = _session_s(info) + _known_s(info)
        if hurt & {*planned_voters(info)}:
            within_s += _elects_s(info, fault)
        ops = sends.filter(pc.equal(sends["key"], key))
        yield _Duty(fault=fault, what=f"send to {key}", ops=ops, within_s=within_s)


def _possible(history: IsrHistory, at: int) -> Sequence[int]:
    """The possible states of the partition at that time; none if they are unknown, or one of them
    has no leader."""
    known = np.flatnonzero(history.known_by <= at)
    if not len(known):
        return ()
    last = int(history.last_by(np.array([at], np.int64))[0])
    found = range(int(known[-1]), max(last, int(known[-1])) + 1)
    return found if all(history.states[each].leader >= 0 for each in found) else ()


def _left(history: IsrHistory, at: int, hurt: set[int]) -> int:
    return len({*history.states[at].isr} - hurt)


# --- bounds ---


def _unhurt_s(info: RunInfo) -> float:
    return UNHURT_S if info.is_simulated else UNHURT_REAL_S


def _known_s(info: RunInfo) -> float:
    return KNOWN_S if info.is_simulated else KNOWN_REAL_S


def _elects_s(info: RunInfo, fault: FaultFact) -> float:
    """A leader that is cut off one way is heard by the others until it resigns, for want of a
    majority that fetches; with more than three voters that count may restart just before."""
    fetch_s = info.conditions.get("fetch_timeout_ms", 2000) / 1000
    resigns_s = CHECK_QUORUM * fetch_s * (1 if len(planned_voters(info)) <= 3 else 2)
    elects_s = ELECTIONS * info.conditions.get("election_timeout_ms", 1000) / 1000
    return fetch_s + elects_s + (resigns_s if fault.cuts else 0.0)


def _session_s(info: RunInfo) -> float:
    if _SESSION in info.settings:
        return int(info.settings[_SESSION]) / 1000
    return _SESSION_S if info.settings.get("defaults") == "stock" else _QUICK_SESSION_S


# --- what was not served ---


def _unserved(duty: _Duty, begin: int, end: int) -> Iterator[Suspicion]:
    done = duty.ops.filter(pc.fill_null(pc.equal(duty.ops["outcome"], "ok"), False))
    silent, until = _longest_without(done["t1"].to_numpy(), begin, end)
    if until - silent <= duty.within_s * SECOND:
        return
    asked = duty.asked(silent, until)
    if asked.num_rows < ENOUGH:
        return
    fault = duty.fault
    names = ", ".join(f"node {node}" for node in fault.nodes)
    text = f"no {duty.what} succeeded for {(until - silent) / SECOND:.1f} s of the {fault.kind} of "
    text += f"{names}, which leaves enough of the others undisturbed to serve within "
    text += f"{duty.within_s:g} s; {counted(asked.num_rows, 'was', 'were')} asked for"
    violation = Violation(text, [fault.shown("began", begin), *_rows(asked)])
    yield Suspicion(violation, silent, until)


def _longest_without(succeeded: Ints, begin: int, end: int) -> tuple[int, int]:
    inside = np.sort(succeeded[(begin < succeeded) & (succeeded < end)])
    marks = np.concatenate([[begin], inside, [end]])
    widest = int(np.argmax(np.diff(marks)))
    return int(marks[widest]), int(marks[widest + 1])


def _rows(asked: pa.Table) -> list[dict[str, EventValue]]:
    return [
        {"what": "asked for meanwhile", "t_ns": row["t0"], "t1_ns": row["t1"]}
        | {name: row[name] for name in _SHOWN}
        for row in asked.slice(0, 19).to_pylist()
    ]
