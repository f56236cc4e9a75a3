"""Snapshots stand for what they say they do: Q14, Q15 and Q16, and M2 of images and voters."""

from collections.abc import Iterator

import numpy as np

from checkers.array_types import Ints
from checkers.check import check, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NodeEvent, Process, gaps, witness
from checkers.evidence.planned import Kind
from checkers.evidence.told_voters import ToldVoters
from checkers.evidence.voter_history import VoterSet
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
    """Q14: a log starts at 0 or where a snapshot of its node ends, and not behind the oldest one.

    From q.snapshot of each process, whose lines tell where the log starts then. Also no snapshot
    that was told of is found damaged later (n.damaged), unless a fault damages disks. (SIM
    SnapshotAtLogStart, KIP-630)
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
        unit="snapshots that came or went",
        violations=violations,
        needs=NEED,
        holds="each log started where one of them ended, or at 0",
        algorithm="ends of the snapshots of a disk, against the log's start in each line",
        gaps=gaps(evidence.lives),
        nothing=_NONE if evidence.lives else "",
    )


def _starts(events: list[NodeEvent]) -> Iterator[Violation]:
    """Of one process, which tells of all that it found before all else.

    What goes when a log is cut is told at the end of the next step, a line each. So nothing is said
    of the oldest snapshot by those lines, nor by the first one that tells of a start.
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
                yield Violation(text + f"and its oldest snapshot ends at {min(ends)}", shown)
        if what == _DELETED:
            ends.discard(event.log_end)
        before = start


def _damaged(event: NodeEvent) -> Violation:
    file, reason = event.more.get("file"), event.more.get("reason")
    text = f"node {event.node} found its snapshot {file} damaged, and no fault damages disks"
    return Violation(text, [witness(event, f"{reason}")])


@check(
    "Q15-snapshots-of-committed",
    applies=traced,
    source="SIM, KIP-630",
    rests_on=(Kind.TRACES,),
)
def snapshots_of_committed(evidence: Evidence) -> CheckResult:
    """Q15: a snapshot ends within what its node knows to be committed, and holds the image of
    just that offset.

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
    """What the last of these rows before another one has; -1: there is none."""
    before = int(np.searchsorted(rows, row))
    return int(values[before - 1]) if before else -1


@check(
    "Q16-leader-loads-none",
    applies=traced,
    source="SIM LeaderNeverLoadSnapshot",
    rests_on=(Kind.TRACES,),
)
def leader_loads_none(evidence: Evidence) -> CheckResult:
    """Q16: a leader does not replace its log by a snapshot: it has all that is committed.

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
                    text = f"node {event.node} led epoch {state.epoch}, and replaced its log by a "
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
    """M2: controllers that know all below an offset hold the same, from log and snapshot alike.

    From c.image, whose digest is told of the image that a snapshot is taken of, and of the one
    that was made of a snapshot.
    """
    first: dict[int, NodeEvent] = {}
    looked_at = 0
    violations: list[Violation] = []
    for life in evidence.lives:
        for event in life.events("c.image"):
            known = first.setdefault(event.offset, event)
            looked_at += 1
            if known.more.get("digest") != event.more.get("digest"):
                text = f"of all below offset {event.offset} node {known.node} and node "
                shown = [witness(known, "one image"), witness(event, "another image")]
                violations.append(Violation(f"{text}{event.node} hold different images", shown))
    return conclude(
        looked_at=looked_at,
        unit="images",
        violations=violations,
        needs=NEED,
        holds="those of the same offset were the same",
        algorithm="offset -> digest",
        nothing="no image was told of" if evidence.lives else "",
    )


@check("M2-equal-voters", applies=traced, source="KIP-856; KIP-630", rests_on=(Kind.TRACES,))
def equal_voters(evidence: Evidence) -> CheckResult:
    """M2: nodes whose logs have the same record at an offset have the same voters from there on,
    be it from the record or from a snapshot that ends behind it.

    From q.voters of all nodes, by offset and epoch of the record; one that a snapshot told of
    (no epoch, and an offset) is compared with the committed log's. (KIP-856, "Snapshots")
    """
    first: dict[tuple[int, int], ToldVoters] = {}
    looked_at = 0
    violations: list[Violation] = []
    for event in (event for life in evidence.lives for event in life.events("q.voters")):
        told = ToldVoters.of(event)
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


def _other_voters(known: ToldVoters, told: ToldVoters) -> Violation:
    text = f"by the record at {told.offset} of epoch {told.line.epoch} node {told.line.node} takes "
    text += f"{told.in_words} for voters, and node {known.line.node} {known.in_words}"
    return Violation(text, [witness(known.line, "one set"), witness(told.line, "another set")])


def _by_snapshot(told: ToldVoters, voters: VoterSet) -> Violation:
    by_log = ", ".join(f"node {key.node}" for key in sorted(voters.keys))
    text = f"a snapshot told node {told.line.node} that {told.in_words} vote at {told.offset}, and "
    return Violation(f"{text}by the log {by_log} do", [witness(told.line, "voters of a snapshot")])
