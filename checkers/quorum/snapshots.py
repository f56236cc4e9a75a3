"""Snapshots cover what they claim: Q14, Q15 and Q16, and M2 for images and voters."""

from collections.abc import Iterator

import numpy as np

from checkers.array_types import Ints
from checkers.check import check, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.lives import NEED, NodeEvent, Process, gaps, witness
from checkers.evidence.voter_history import TracedVoters, VoterSet
from checkers.history.tables import NO_DIRECTORY
from checkers.verdict import CheckResult

_NONE = "no snapshot was taken, fetched or deleted"
_CREATED, _DELETED = "created", "deleted"


@check(
    "Q14-log-starts-at-a-snapshot",
    applies=traced,
    source="SIM SnapshotAtLogStart, KIP-630",
    rests_on=(Kind.TRACES,),
)
def log_starts_at_a_snapshot(evidence: Evidence) -> CheckResult:
    """Q14: A log starts at 0 or at the end of one of its node's snapshots, and not behind the
    oldest one.

    From q.snapshot of each process, which has the log start offset. Also no traced snapshot is
    found damaged later (n.damaged), unless a fault damages disks. (SIM SnapshotAtLogStart, KIP-630)
    """
    looked_at = 0
    violations: list[Violation] = []
    rots = any(fault.damages_bytes or fault.wipes for fault in evidence.faults)
    for life in evidence.lives:
        for process in life.processes:
            events = process.events("q.snapshot")
            looked_at += len(events)
            if process.gap is None:
                violations += _starts(events)
        if not rots:
            violations += [_damaged(event) for event in life.events("n.damaged")]
    return conclude(
        looked_at=looked_at,
        unit="snapshots that were added or deleted",
        violations=violations,
        needs=NEED,
        holds="each log started where one of them ended, or at 0",
        algorithm="ends of the snapshots of a disk, against the log's start in each line",
        gaps=gaps(evidence.lives),
        nothing=_NONE if evidence.lives else "",
    )


def _starts(events: list[NodeEvent]) -> Iterator[Violation]:
    """For one process, which traces first all snapshots that it found.

    The deletions that go with a moved log start are traced at the end of the next step, a line
    each. So those lines do not judge the oldest snapshot, nor does the first one with a log start.
    """
    ends: set[int] = set()
    before: object = 0
    for event in events:
        start, what = event.more.get("start"), event.more.get("what")
        if what != _DELETED:
            ends.add(event.log_end)
        if isinstance(start, int) and start > 0:
            text = f"the log of node {event.node} starts at {start}, "
            shown = [witness(event, f"{what}; the log starts at {start}")]
            if start not in ends:
                yield Violation(text + "where no snapshot ends", shown)
            elif what != _DELETED and start == before and min(ends) < start:
                yield Violation(text + f"but its oldest snapshot ends at {min(ends)}", shown)
        if what == _DELETED:
            ends.discard(event.log_end)
        before = start


def _damaged(event: NodeEvent) -> Violation:
    file, reason = event.more.get("file"), event.more.get("reason")
    text = f"node {event.node} found its snapshot {file} damaged, but no fault damages disks"
    return Violation(text, [witness(event, f"{reason}")])


@check(
    "Q15-snapshots-of-committed",
    applies=traced,
    source="SIM, KIP-630",
    rests_on=(Kind.TRACES,),
)
def snapshots_of_committed(evidence: Evidence) -> CheckResult:
    """Q15: A snapshot ends within the records that its node knows to be committed, and holds the
    image of exactly that offset.

    From q.snapshot (created), c.image and q.hwm of each process. (SIM, KIP-630)
    """
    looked_at = 0
    violations: list[Violation] = []
    for life in evidence.lives:
        for process in life.processes:
            if process.gap is None:
                found, bad = _created(process)
                looked_at += found
                violations += bad
    return conclude(
        looked_at=looked_at,
        unit="snapshots that were taken",
        violations=violations,
        needs=NEED,
        holds="each ended at its image's offset, which was committed",
        algorithm="the highest high watermark and the last image of a process, before each",
        gaps=gaps(evidence.lives),
        nothing=_NONE if evidence.lives else "",
    )


def _created(process: Process) -> tuple[int, list[Violation]]:
    traces, found = process.traces, 0
    violations: list[Violation] = []
    marks, images = process.rows("q.hwm"), process.rows("c.image")
    highest = np.maximum.accumulate(traces.column("hwm")[marks])
    offsets = traces.column("offset")[images]
    rows = process.rows("q.snapshot")
    for row, event in zip(rows.tolist(), traces.lines(rows), strict=True):
        if event.more.get("what") == _CREATED:
            found += 1
            end = event.log_end
            committed, image = _last(highest, marks, row), _last(offsets, images, row)
            told = f"node {event.node} took a snapshot that ends at {end}"
            if end > committed:
                shown = [witness(event, f"committed below {committed}")]
                violations.append(Violation(f"{told}, above all that is committed", shown))
            if end != image:
                shown = [witness(event, f"the image was that of {image}")]
                violations.append(Violation(f"{told}, of the image at {image}", shown))
    return found, violations


def _last(values: Ints, rows: Ints, row: int) -> int:
    """The value of the last of these rows before another one; -1: there is none."""
    before = int(np.searchsorted(rows, row))
    return int(values[before - 1]) if before else -1


@check(
    "Q16-leader-loads-none",
    applies=traced,
    source="SIM LeaderNeverLoadSnapshot",
    rests_on=(Kind.TRACES,),
)
def leader_loads_none(evidence: Evidence) -> CheckResult:
    """Q16: A leader does not replace its log by a snapshot: it has all that is committed.

    From q.loaded and q.state of each process. (SIM LeaderNeverLoadSnapshot)
    """
    looked_at = 0
    violations: list[Violation] = []
    for life in evidence.lives:
        for process in life.processes:
            state: NodeEvent | None = None
            for event in process.events("q.state", "q.loaded"):
                if event.event == "q.state":
                    state = event
                    continue
                looked_at += 1
                if state is not None and state.state == "leader" and process.gap is None:
                    text = f"node {event.node} led epoch {state.epoch}, but replaced its log by a "
                    shown = [witness(state, "leads"), witness(event, "loads a snapshot")]
                    violations.append(Violation(f"{text}snapshot at {event.log_end}", shown))
    return conclude(
        looked_at=looked_at,
        unit="logs that a snapshot replaced",
        violations=violations,
        needs=NEED,
        holds="none was a leader's",
        algorithm="the last state of a process before each",
        gaps=gaps(evidence.lives),
        nothing="no log was replaced" if evidence.lives else "",
    )


@check("M2-equal-images", applies=traced, source="KIP-630; ours", rests_on=(Kind.TRACES,))
def equal_images(evidence: Evidence) -> CheckResult:
    """M2: Controllers that have replayed up to the same offset have the same image, from log and
    snapshot alike.

    From c.image, with the digest of the image of which a snapshot is taken, and of the one that was
    loaded from a snapshot.
    """
    first: dict[int, NodeEvent] = {}
    looked_at = 0
    violations: list[Violation] = []
    for life in evidence.lives:
        for event in life.events("c.image"):
            known = first.setdefault(event.offset, event)
            looked_at += 1
            if known.more.get("digest") != event.more.get("digest"):
                text = f"for all below offset {event.offset} node {known.node} and node "
                shown = [witness(known, "one image"), witness(event, "another image")]
                violations.append(Violation(f"{text}{event.node} hold different images", shown))
    return conclude(
        looked_at=looked_at,
        unit="images",
        violations=violations,
        needs=NEED,
        holds="those of the same offset were the same",
        algorithm="offset -> digest",
        nothing="no image was traced" if evidence.lives else "",
    )


@check("M2-equal-voters", applies=traced, source="KIP-856; KIP-630", rests_on=(Kind.TRACES,))
def equal_voters(evidence: Evidence) -> CheckResult:
    """M2: Nodes with the same record at an offset in their logs have the same voters from there on,
    whether from the record or from a snapshot that covers it.

    From q.voters of all nodes, by offset and epoch of the record; a set from a snapshot (no epoch,
    and an offset) is compared with the committed log's. (KIP-856, "Snapshots")
    """
    first: dict[tuple[int, int], TracedVoters] = {}
    looked_at = 0
    violations: list[Violation] = []
    for event in (event for life in evidence.lives for event in life.events("q.voters")):
        told = TracedVoters.of(event)
        if event.epoch > 0:
            looked_at += 1
            known = first.setdefault((event.offset, event.epoch), told)
            if known.voters != told.voters:
                violations.append(_other_voters(known, told))
        elif event.offset > 0 and event.offset >= evidence.voters.known:
            looked_at += 1
            voters = evidence.voters.at(event.offset)
            if voters.keys != told.voters.keys and _are_known(voters):
                violations.append(_by_snapshot(told, voters))
    return conclude(
        looked_at=looked_at,
        unit="sets of voters",
        violations=violations,
        needs=NEED,
        holds="those of the same record were the same, and a snapshot's those of the log",
        algorithm="offset and epoch -> set",
        gaps=gaps(evidence.lives),
        nothing="no record named voters" if evidence.lives else "",
    )


def _are_known(voters: VoterSet) -> bool:
    return all(key.directory != NO_DIRECTORY for key in voters.keys)


def _other_voters(known: TracedVoters, told: TracedVoters) -> Violation:
    text = f"by the record at {told.offset} of epoch {told.line.epoch} node {told.line.node} takes "
    text += f"{told.in_words} for voters, but node {known.line.node} {known.in_words}"
    return Violation(text, [witness(known.line, "one set"), witness(told.line, "another set")])


def _by_snapshot(told: TracedVoters, voters: VoterSet) -> Violation:
    by_log = ", ".join(f"node {key.node}" for key in sorted(voters.keys))
    text = f"by a snapshot, node {told.line.node} has voters {told.in_words} at {told.offset}, but "
    return Violation(
        f"{text}by the log they are {by_log}", [witness(told.line, "voters of a snapshot")]
    )
