"""Durable before counted: Q18; and before votes are asked for.

A Fetch with offset x says: everything below x is durable here. There is no common order between
the leader that counted it and the follower's own trace, so what is compared needs none:

* the Fetch carried the leader's epoch, so it was sent while the follower was in that epoch: at some
  moment of that time its durable end must have reached x;
* a batch that the follower appends at x answers the Fetch at x, which was sent before: at that
  append, the durable end must have reached x (left aside where x may have been fetched again
  later: after a truncation or a restart in that epoch);
* where a process still ran when its trace was collected, the trace may lack its last lines: what
  was durable at best is not known then of the epoch it was in;
* what was durable stays: a new process, and the disk after the run, end no lower than that, unless
  a leader told the replica to truncate (the crash may have kept the truncation out of the trace).

(KAFKA-10533)

A vote is asked for by a candidate, with the end of its log as the voter traces it: at some moment
of the candidacy its durable end must have reached that.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from checkers.check import check, traced_quorum
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, Life, NodeEvent, gaps, witness
from checkers.evidence.planned import Kind
from checkers.verdict import CheckResult

COUNTED = "valid"  # the outcome of a q.fetch that moved the replica's end at the leader

_Replica = tuple[int, str]


@dataclass(slots=True)
class _Epoch:
    """A follower's time in one epoch, as far as durability goes."""

    durable: int  # the highest durable end at any moment of it
    is_open: bool = False  # more may have happened in it than its trace tells
    appends: dict[int, list[tuple[int, NodeEvent]]] = field(default_factory=dict)

    def answered(self, offset: int) -> tuple[int, NodeEvent] | None:
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
    """Q18: a voter is counted with an end offset only after those bytes are durable on it.

    A quorum of one counts nobody else.
    """
    found = evidence.lives
    fetches: dict[_Replica, list[NodeEvent]] = defaultdict(list)
    for life in found:
        for event in life.events():
            if event.event == "q.fetch" and event.replica != life.node:
                fetches[(event.replica, event.replica_directory)].append(event)
    ends = {(row["node"], row["directory"]): row for row in evidence.tables["disks"].to_pylist()}
    looked_at = 0
    violations: list[Violation] = []
    for life in found:
        replica = (life.node, life.directory)
        if life.gap is not None:
            continue
        epochs = _epochs(life)
        for fetch in fetches[replica]:
            if fetch.outcome == COUNTED and fetch.epoch in epochs:
                early = list(_too_early(fetch, epochs[fetch.epoch]))
                looked_at += bool(early) or not _is_open_to(fetch, epochs[fetch.epoch])
                violations += early
        end = ends[replica]["log_end"] if replica in ends else None
        violations += _lost(life, fetches[replica], end)
    return conclude(
        looked_at=looked_at,
        unit="counted fetches",
        violations=violations,
        needs=NEED,
        holds="what they vouched for was durable, and stayed",
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
    """A candidate asks for votes with the end of what is durable on it.

    One that boasts of more may lose it, be a candidate of the same epoch again, and lead without.
    """
    found = evidence.lives
    asked: dict[_Replica, list[NodeEvent]] = defaultdict(list)
    for event in (event for life in found for event in life.events()):
        if event.event == "q.vote" and event.log_end is not None:
            asked[(event.replica, event.replica_directory)].append(event)
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
        holds="what candidates named was durable",
        algorithm="highest durable end per candidacy, against the ends that voters were told",
        gaps=gaps(found),
    )


def _candidacies(life: Life) -> dict[int, int]:
    """By epoch, the highest durable end while a candidate; but for one whose end is not told."""
    highest: dict[int, int] = {}
    candidate: int | None = None
    durable = 0
    for event in life.events():
        durable = _durable_after(event, durable)
        if event.event == "n.start":
            candidate = None
        elif event.event == "q.state":
            candidate = event.epoch if event.state == "candidate" else None
        if candidate is not None:
            highest[candidate] = max(highest.get(candidate, 0), durable)
    if candidate is not None and life.processes[-1].events[-1].event != "n.stop":
        del highest[candidate]
    return highest


def _epochs(life: Life) -> dict[int, _Epoch]:
    epochs: dict[int, _Epoch] = {}
    now, durable = -1, 0
    for event in life.events():
        durable = _durable_after(event, durable)
        if event.event in ("q.state", "n.start") and event.epoch > now:
            now = event.epoch
            epochs[now] = _Epoch(durable)
        if now < 0:
            continue
        here = epochs[now]
        here.durable = max(here.durable, durable)
        if event.event in ("n.start", "q.truncate"):
            here.appends.clear()
        elif event.event == "q.append" and event.state == "follower":
            here.appends.setdefault(event.base, []).append((durable, event))
    if epochs:
        epochs[now].is_open = life.processes[-1].events[-1].event != "n.stop"
    return epochs


def _is_open_to(fetch: NodeEvent, epoch: _Epoch) -> bool:
    """Lines that the trace lacks may tell that so much was durable."""
    return epoch.is_open and fetch.offset > epoch.durable


def _durable_after(event: NodeEvent, durable: int) -> int:
    """The durable end after this line; a process begins with what it found on its disk."""
    match event.event:
        case "n.start":
            return event.log_end
        case "q.fsync":
            return max(durable, event.log_end)
        case "q.truncate":
            return min(durable, event.log_end)
        case _:
            return durable


def _too_early(fetch: NodeEvent, epoch: _Epoch) -> Iterator[Violation]:
    text = f"node {fetch.replica} fetched offset {fetch.offset} in epoch {fetch.epoch}, when it "
    if fetch.offset > epoch.durable and not epoch.is_open:
        text += f"was durable up to {epoch.durable} only, at best"
        yield Violation(text, [witness(fetch, "the leader counted this")])
        return
    answered = epoch.answered(fetch.offset)
    if answered is not None and answered[0] < fetch.offset:
        text += f"was durable up to {answered[0]} only"
        shown = [
            witness(fetch, "the leader counted this"),
            witness(answered[1], f"its answer came while durable up to {answered[0]}"),
        ]
        yield Violation(text, shown)


def _lost(life: Life, fetches: list[NodeEvent], disk_end: int | None) -> Iterator[Violation]:
    """Durable bytes that a later process, or the disk at the end, does not have.

    Only what was flushed is promised: what a process finds when it starts may still be unflushed.
    """
    durable, epoch = 0, 0
    last: NodeEvent | None = None
    for event in life.events():
        if event.event == "n.start" and last is not None:
            told = _told_to_truncate(fetches, min(epoch, event.epoch))
            if event.log_end < durable and not told:
                text = f"node {life.node} was durable up to {durable}; restarted, its log ends at "
                shown = [witness(last, "durable"), witness(event, "restarted with less")]
                yield Violation(f"{text}{event.log_end}", shown)
        before = durable
        durable = _durable_after(event, durable)
        if event.event == "n.start":
            durable = min(before, event.log_end)
        epoch = max(epoch, event.epoch or 0) if event.event in ("q.state", "n.start") else epoch
        last = event if durable != before or last is None else last
    told = _told_to_truncate(fetches, epoch)
    if last is not None and disk_end is not None and disk_end < durable and not told:
        text = f"node {life.node} was durable up to {durable}; the log on its disk ends at "
        yield Violation(f"{text}{disk_end}", [witness(last, "durable")])


def _told_to_truncate(fetches: list[NodeEvent], epoch: int) -> bool:
    return any(fetch.outcome != COUNTED and fetch.epoch >= epoch for fetch in fetches)
