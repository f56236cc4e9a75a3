"""Durable before counted: Q18; and before votes are requested.

A Fetch at offset x states that everything below x is durable on the follower. The trace of the
leader that counted it and the follower's own have no common order, so the comparison uses none:

* the Fetch carried the leader's epoch, so it was sent while the follower was in that epoch: at some
  moment of that time its durable end must have reached x;
* a batch that the follower appends at x answers the Fetch at x, which was sent before: at that
  append, the durable end must have reached x (left out if x may have been fetched again
  later: after a truncation or a restart in that epoch);
* if a process still ran when its trace was collected, the trace may lack its last lines: the
  highest durable end in its last epoch is then unknown;
* durable records stay: a new process' log, and that on the disk after the run, end no lower, unless
  a leader told the replica to truncate (the crash may have kept the truncation out of the trace).

(KAFKA-10533)

A candidate requests votes with the end of its log, which the voter traces: at some moment of the
candidacy its durable end must have reached that.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from checkers.check import check, traced_quorum
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.lives import (
    NEED,
    Life,
    NodeEvent,
    TraceColumns,
    gaps,
    traced_directory,
    witness,
)
from checkers.history.tables import NO_DIRECTORY
from checkers.verdict import CheckResult

UNLIMITED = sys.maxsize  # an offset
COUNTED = "valid"  # the outcome of a q.fetch that moved the replica's end at the leader
# The events by which durability is judged.
_DURABLE = ("n.start", "q.state", "q.fsync", "q.truncate", "q.loaded")
_APPEND = "q.append"

_Replica = tuple[int, str | None]


class TracedFetch(NamedTuple):
    """A q.fetch: a replica's fetch offset, as its leader traced it."""

    row: int
    offset: int
    epoch: int
    counted: bool


class _Line(NamedTuple):
    """A line about a replica's log. `log_end` is NONE if it has none."""

    row: int
    event: str
    epoch: int
    log_end: int
    base: int
    state: str | None  # of a replica, or its role when it appended


@dataclass(slots=True)
class _Epoch:
    """A follower's time in one epoch, as far as durability goes."""

    durable: int  # the highest durable end at any moment of it
    is_open: bool = False  # more may have happened in it than its trace has
    # By base, the durable end at each append, and its row.
    appends: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def answered(self, offset: int) -> tuple[int, int] | None:
        """The durable end at the one append that answered a Fetch at `offset`, and that append."""
        found = self.appends.get(offset, [])
        return found[0] if len(found) == 1 else None


@check(
    "Q18-durable-before-counted",
    applies=traced_quorum,
    source="KAFKA-10533",
    rests_on=(Kind.TRACES, Kind.METADATA_LOGS),
)
def durable_before_counted(evidence: Evidence) -> CheckResult:
    """Q18: A voter is counted with an end offset only after its bytes up to there are durable on
    it.

    A quorum of one counts no other node.
    """
    found = evidence.lives
    told = evidence.once(fetches)
    ends = {(row["node"], row["directory"]): row for row in evidence.tables["disks"].to_pylist()}
    looked_at = 0
    violations: list[Violation] = []
    for life in found:
        replica = (life.node, life.directory)
        if life.gap is not None:
            continue
        epochs, mine = _epochs(life, _APPEND), told.get(replica, [])
        for fetch in mine:
            if fetch.counted and fetch.epoch in epochs:
                early = list(_too_early(life.traces, fetch, epochs[fetch.epoch]))
                looked_at += bool(early) or not _is_open_to(fetch, epochs[fetch.epoch])
                violations += early
        end = ends[replica]["log_end"] if replica in ends else None
        violations += _lost(life, mine, end)
    return conclude(
        looked_at=looked_at,
        unit="counted fetches",
        violations=violations,
        needs=NEED,
        holds="the counted records were durable, and stayed",
        algorithm="highest durable end per replica and epoch, against counted offsets",
        gaps=gaps(found),
    )


@check(
    "durable-before-asked",
    applies=traced_quorum,
    source="Raft thesis 3.8, KIP-595",
    rests_on=(Kind.TRACES,),
)
def durable_before_asked(evidence: Evidence) -> CheckResult:
    """A candidate asks for votes with the end of what is durable in its log.

    One that advertises unflushed records may lose them, be a candidate of the same epoch again, and
    lead without them.
    """
    found = evidence.lives
    asked: dict[_Replica, list[NodeEvent]] = defaultdict(list)
    for event in (event for life in found for event in life.events("q.vote")):
        if event.log_end is not None:
            place = traced_directory(found, event.replica, event.replica_directory, event.t)
            asked[(event.replica, place)].append(event)
    looked_at = 0
    violations: list[Violation] = []
    for life in (life for life in found if life.gap is None):
        candidacies = _candidacies(life)
        for vote in asked[(life.node, life.directory)]:
            durable = candidacies.get(vote.epoch)
            if durable is None:
                continue
            looked_at += 1
            if vote.log_end > durable:
                text = f"node {life.node} asked for votes in epoch {vote.epoch} with a log that "
                text += f"ends at {vote.log_end}, when it was durable up to {durable} at best"
                shown = witness(vote, f"asked with a log that ends at {vote.log_end}")
                violations.append(Violation(text, [shown]))
    return conclude(
        looked_at=looked_at,
        unit="answered votes",
        violations=violations,
        needs=NEED,
        holds="the log ends of candidates were durable",
        algorithm="highest durable end per candidacy, against the ends in vote requests",
        gaps=gaps(found),
    )


def _candidacies(life: Life) -> dict[int, int]:
    """By epoch, the highest durable end while a candidate; without those with an unknown end."""
    highest: dict[int, int] = {}
    candidate: int | None = None
    durable = 0
    for line in _lines(life):
        durable = _durable_after(line, durable)
        if line.event == "n.start":
            candidate = None
        elif line.event == "q.state":
            candidate = line.epoch if line.state == "candidate" else None
        if candidate is not None:
            highest[candidate] = max(highest.get(candidate, 0), durable)
    if candidate is not None and _is_cut_short(life):
        del highest[candidate]
    return highest


def fetches(evidence: Evidence) -> Mapping[_Replica, list[TracedFetch]]:
    """By replica, its fetches as other nodes traced them, in the order of their lines."""
    traces, found = evidence.traces, defaultdict(list)
    rows = traces.rows("q.fetch")
    rows = rows[traces.column("replica")[rows] != traces.column("node")[rows]]
    names = ("replica", "offset", "epoch")
    for row, place, counted, replica, offset, epoch in zip(
        rows.tolist(),
        traces.texts("replica_directory", rows),
        traces.has("outcome", COUNTED, rows).tolist(),
        *(traces.column(name)[rows].tolist() for name in names),
        strict=True,
    ):
        if place == NO_DIRECTORY:
            place = traced_directory(
                evidence.lives, replica, NO_DIRECTORY, int(traces.column("t")[row])
            )
        found[(replica, place)].append(TracedFetch(row, offset, epoch, counted))
    return found


def _lines(life: Life, *more: str) -> Iterator[_Line]:
    """The lines that durability is judged by, and those of these kinds."""
    traces = life.traces
    rows = life.rows(*_DURABLE, *more)
    columns = (traces.column(name)[rows].tolist() for name in ("epoch", "log_end", "base"))
    states = traces.texts("state", rows)
    return map(_Line, rows.tolist(), traces.events(rows), *columns, states)


def _is_cut_short(life: Life) -> bool:
    """Whether its last process may have done more than its trace has."""
    return life.traces.line(life.end - 1).event != "n.stop"


def _epochs(life: Life, *more: str) -> dict[int, _Epoch]:
    """The replica's time in each epoch; its `appends` are filled if `more` asks for their lines."""
    epochs: dict[int, _Epoch] = {}
    now, durable = -1, 0
    for line in _lines(life, *more):
        durable = _durable_after(line, durable)
        if line.event in ("q.state", "n.start") and line.epoch > now:
            now = line.epoch
            epochs[now] = _Epoch(durable)
        if now < 0:
            continue
        here = epochs[now]
        here.durable = max(here.durable, durable)
        if line.event in ("n.start", "q.truncate", "q.loaded"):
            here.appends.clear()
        elif line.event == _APPEND and line.state == "follower":
            here.appends.setdefault(line.base, []).append((durable, line.row))
    if epochs:
        epochs[now].is_open = _is_cut_short(life)
    return epochs


def durable_in_epochs(life: Life) -> dict[int, int]:
    """The highest durable end of a replica in each epoch that it was in; UNLIMITED if more may have
    happened in it than its trace has."""
    return {
        epoch: UNLIMITED if found.is_open else found.durable
        for epoch, found in _epochs(life).items()
    }


def _is_open_to(fetch: TracedFetch, epoch: _Epoch) -> bool:
    """Whether lines missing in the trace may say that so much was durable."""
    return epoch.is_open and fetch.offset > epoch.durable


def _durable_after(line: _Line, durable: int) -> int:
    """The durable end after this line; a process begins with what it found on its disk."""
    match line.event:
        case "n.start" | "q.loaded":
            return line.log_end
        case "q.fsync":
            return max(durable, line.log_end)
        case "q.truncate":
            return min(durable, line.log_end)
        case _:
            return durable


def _too_early(traces: TraceColumns, fetch: TracedFetch, epoch: _Epoch) -> Iterator[Violation]:
    answered = epoch.answered(fetch.offset)
    beyond = fetch.offset > epoch.durable and not epoch.is_open
    if not beyond and (answered is None or answered[0] >= fetch.offset):
        return
    counted = traces.line(fetch.row)
    shown = [witness(counted, "the leader counted this")]
    text = f"node {counted.replica} fetched offset {fetch.offset} in epoch {fetch.epoch}, when it "
    if beyond or answered is None:
        yield Violation(f"{text}was durable up to {epoch.durable} only, at best", shown)
        return
    what = f"its answer came while durable up to {answered[0]}"
    shown.append(witness(traces.line(answered[1]), what))
    yield Violation(f"{text}was durable up to {answered[0]} only", shown)


def _lost(life: Life, fetches: list[TracedFetch], disk_end: int | None) -> Iterator[Violation]:
    """Durable bytes that a later process, or the disk at the end, does not have.

    Only flushed bytes are promised: those that a process finds when it starts may still be
    unflushed.
    """
    durable, epoch = 0, 0
    last: int | None = None  # the row with the durable end
    for line in _lines(life):
        has_less = line.event == "n.start" and last is not None and line.log_end < durable
        if has_less and not _told_to_truncate(fetches, min(epoch, line.epoch)):
            text = f"node {life.node} was durable up to {durable}; restarted, its log ends at "
            was, now = life.traces.lines([last or 0, line.row])
            shown = [witness(was, "durable"), witness(now, "restarted with less")]
            yield Violation(f"{text}{line.log_end}", shown)
        before = durable
        durable = _durable_after(line, durable)
        if line.event == "n.start":
            durable = min(before, line.log_end)
        epoch = max(epoch, line.epoch) if line.event in ("q.state", "n.start") else epoch
        last = line.row if durable != before or last is None else last
    told = _told_to_truncate(fetches, epoch)
    if last is not None and disk_end is not None and disk_end < durable and not told:
        text = f"node {life.node} was durable up to {durable}; the log on its disk ends at "
        yield Violation(f"{text}{disk_end}", [witness(life.traces.line(last), "durable")])


def _told_to_truncate(fetches: list[TracedFetch], epoch: int) -> bool:
    return any(not fetch.counted and fetch.epoch >= epoch for fetch in fetches)
