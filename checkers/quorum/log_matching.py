"""Logs agree where they must (Q5, Q11, Q12), followers follow, and epochs begin with a leader."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

import numpy as np
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.check import check, everywhere, traced, traced_quorum
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.lives import NEED, NONE, NodeEvent, Process, first_of, gaps, witness
from checkers.evidence.starvation import Suspicion, sort_out
from checkers.evidence.traced_logs import Election, StoredBatch
from checkers.evidence.voter_history import ReplicaKey
from checkers.quorum.elections import leader_changes
from checkers.quorum.leadership import (
    LATENCY_S,
    SECOND,
    Calm,
    bounds_of,
    calms,
    processes_of,
    states_in_time,
    voters_between,
)
from checkers.verdict import CheckResult, EventValue

# Followers follow: one that is up, connected and has a leader gets what the leader appends.


@check(
    "followers-keep-up",
    applies=traced_quorum,
    source="KIP-595: retry back-off is bounded",
    rests_on=(Kind.TRACES, Kind.FAULTS),
)
def followers_keep_up(evidence: Evidence) -> CheckResult:
    """In calm, every connected voter appends what its leader appends, within a bounded time.

    However often it failed to reach the leader before: back-off is bounded. The bound is a fetch
    time-out and two election time-outs, and some latency in real time; it begins with the calm, or
    with the leader.
    """
    bounds, virtual = bounds_of(evidence), evidence.info.runtime == "sim"
    within_s = bounds.steady_s - (LATENCY_S if virtual else 0.0)
    looked_at = 0
    found: list[Suspicion] = []
    for calm in calms(evidence, _load_began(evidence)):
        led = _leader_of(evidence, calm)
        begin = max(calm.begin, led.t) if led is not None else calm.end
        limit = begin + int(within_s * SECOND)
        if led is None or limit > calm.end:
            continue
        wanted = _appended(evidence, led, begin, begin + SECOND)
        for process in _others(evidence, calm, led.node) if wanted is not None else ():
            looked_at += 1
            if wanted is not None and not _has(process, wanted, limit):
                found.append(Suspicion(_behind(led, wanted, process, within_s), begin, limit))
    told = sort_out(evidence.info, found)
    return conclude(
        looked_at=looked_at,
        unit="followers in times of calm",
        violations=told.accused,
        starved=told.starved,
        gaps=told.unmeasured,
        needs=NEED,
        holds=f"each appended what its leader did within {within_s:g} s",
        algorithm="the leader's first append of each calm, against the followers' log ends",
        nothing=f"no leader and its followers were undisturbed for {within_s:g} s"
        if evidence.lives
        else "",
    )


def _load_began(evidence: Evidence) -> int | None:
    """When clients first asked for something, in ns."""
    found = pc.min(evidence.tables["ops"]["t0"]).as_py()
    return int(found) if found is not None else None


def _leader_of(evidence: Evidence, calm: Calm) -> NodeEvent | None:
    """The leader at the end of the calm; None if there was none, or not one of the healthy
    nodes."""
    states = [event for event in evidence.once(states_in_time) if event.t < calm.end]
    elected = max(
        (one for one in states if one.state == "leader"), key=lambda one: one.epoch, default=None
    )
    if elected is None or elected.node not in calm.nodes:
        return None
    moved = any(one.epoch > elected.epoch for one in states)
    return None if moved else elected


def _appended(evidence: Evidence, led: NodeEvent, begin: int, end: int) -> NodeEvent | None:
    """The leader's first append in that time."""
    traces = evidence.traces
    rows = traces.rows("q.append")
    t = traces.column("t")[rows]
    mine = (traces.column("node")[rows] == led.node) & (begin <= t) & (t <= end)
    return next(iter(traces.lines(rows[mine][:1])), None)


def _others(evidence: Evidence, calm: Calm, leader: int) -> Iterator[Process]:
    """Processes of healthy voters that lived all through the calm."""
    sets = voters_between(evidence, calm.begin, calm.end)
    for process in evidence.once(processes_of):
        lived = process.first_ns <= calm.begin and process.last_ns >= calm.end
        replica = ReplicaKey(process.node, process.directory)
        votes = all(voters.includes(replica) for voters in sets)
        if lived and votes and process.node in calm.nodes - {leader}:
            yield process


def _has(process: Process, wanted: NodeEvent, limit: int) -> bool:
    """Whether it appended that batch, or a later one, by the limit."""
    rows = process.rows("q.append")
    t, last, epoch = (process.traces.column(name)[rows] for name in ("t", "last", "epoch"))
    return bool(np.any((t <= limit) & (last >= wanted.last) & (epoch >= wanted.epoch)))


def _behind(led: NodeEvent, wanted: NodeEvent, process: Process, within_s: float) -> Violation:
    text = f"node {process.node} is up and connected, but does not have offset {wanted.last} "
    text += f"{within_s:g} s after node {led.node}, leader of epoch {led.epoch}, appended it"
    return Violation(
        text,
        [
            witness(led, "leads"),
            witness(wanted, f"appended, but node {process.node} does not have it"),
        ],
    )


@check(
    "Q5-log-matching",
    applies=everywhere,
    source="Raft, Log Matching; KIP-595",
    rests_on=(Kind.METADATA_LOGS,),
)
def log_matching(evidence: Evidence) -> CheckResult:
    """Q5: An epoch and an offset identify one batch, and all batches before it.

    No two batches of one epoch share an offset, in any log at any time; and if two logs hold the
    same batch, they agree on all before it. From q.append and from the logs on the disks. (Raft,
    Log Matching)
    """
    seen = _Seen(evidence)
    base, last, epoch, crc = seen.batches.T
    first, which = first_of(epoch, base)
    other = first[which]
    differ = np.flatnonzero((last != last[other]) | (crc != crc[other]))
    violations = [seen.two_batches(other[at], at) for at in differ.tolist()]
    one, two = first[:-1], first[1:]
    overlap = np.flatnonzero((epoch[one] == epoch[two]) & (base[two] <= last[one]))
    violations += [seen.two_batches(first[at], first[at + 1]) for at in overlap.tolist()]
    violations += _different_prefixes(evidence)
    return conclude(
        looked_at=len(first),
        unit="batches",
        violations=violations,
        needs=f"{NEED}, or disks read after the run",
        holds="the same epoch and offset held the same bytes everywhere",
        algorithm="(epoch, offset) -> batch, intervals per epoch, prefixes of pairs of disks",
    )


class _Seen:
    """All batches and the nodes that have them: by a q.append, then those on the disks after the
    run."""

    def __init__(self, evidence: Evidence) -> None:
        self._traces = evidence.traces
        self._rows = self._traces.rows("q.append")
        self._stored = [(n, one) for n, log in evidence.metadata_logs.items() for one in log]
        traced = [self._traces.column(name)[self._rows] for name in StoredBatch._fields]
        stored = np.array([batch for _, batch in self._stored], np.int64).reshape(-1, 4)
        self.batches = np.concatenate([np.stack(traced, axis=1), stored])

    def two_batches(self, one: int, two: int) -> Violation:
        batch = StoredBatch(*self.batches[two].tolist())
        (mine, shown), (other, more) = self._shown(one), self._shown(two)
        text = f"epoch {batch.epoch}, offset {batch.base}: node {mine} and node {other} "
        return Violation(f"{text}hold different batches", [shown, more])

    def _shown(self, at: int) -> tuple[int, Mapping[str, EventValue]]:
        if at >= len(self._rows):
            node, batch = self._stored[at - len(self._rows)]
            return node, _on_disk(node, batch)
        append = self._traces.line(self._rows[at])
        return append.node, witness(append, f"appended as {append.state}")


def _on_disk(node: int, batch: StoredBatch) -> dict[str, EventValue]:
    return {"what": "on the disk after the run", "node": node, **batch._asdict()}


def _different_prefixes(evidence: Evidence) -> Iterator[Violation]:
    logs = evidence.metadata_logs
    held = {node: {(b.base, b.epoch) for b in log} for node, log in logs.items()}
    for one, two in combinations(sorted(logs), 2):
        common = held[one] & held[two]
        if not common:
            continue
        top = max(common)
        start = max(logs[one][0].base, logs[two][0].base)
        prefixes = [_between(logs[node], start, top[0]) for node in (one, two)]
        for a, b in zip(*prefixes, strict=False):
            if a != b:
                text = f"nodes {one} and {two} both hold offset {top[0]} of epoch {top[1]}, but "
                text += f"differ before it, at offset {min(a.base, b.base)}"
                yield Violation(text, [_on_disk(one, a), _on_disk(two, b)])
                break


def _between(log: Sequence[StoredBatch], start: int, top: int) -> list[StoredBatch]:
    return [batch for batch in log if start <= batch.base <= top]


@check(
    "Q12-committed-agree",
    applies=traced,
    source="SIM ConsistentCommittedData, KR NoLogDivergence",
    rests_on=(Kind.TRACES, Kind.METADATA_LOGS),
)
def committed_agree(evidence: Evidence) -> CheckResult:
    """Q12: Below both their high watermarks, two logs agree, at any time.

    So what any node reported as committed is the same everywhere: followed through the traces
    (append, truncate, high watermark), and compared with the disks at the end below the highest
    high watermark of their node. (SIM ConsistentCommittedData)
    """
    replayed, line = evidence.traced_logs, evidence.traces.line
    violations = []
    for known, rival in replayed.conflicts:
        ours, theirs = line(known.appended.row), line(rival.appended.row)
        text = f"offset {theirs.base} was committed with different bytes: by node "
        shown = [
            witness(ours, "this batch was committed"),
            witness(line(known.by), "as this says"),
            witness(theirs, "so was this one"),
            witness(line(rival.by), "as this says"),
        ]
        violations.append(Violation(f"{text}{ours.node} and by node {theirs.node}", shown))
    for node, batches in evidence.metadata_logs.items():
        violations += _disk_against(evidence, node, batches)
    return conclude(
        looked_at=len(replayed.committed),
        unit="committed batches",
        violations=violations,
        needs=NEED,
        holds="every node that committed one holds the same",
        algorithm="replay of each replica's log into one ledger by offset",
        gaps=gaps(evidence.lives),
    )


def _disk_against(
    evidence: Evidence, node: int, batches: Sequence[StoredBatch]
) -> Iterator[Violation]:
    replayed = evidence.traced_logs
    highest = replayed.highest.get(node, 0)
    for batch in batches:
        known = replayed.committed.get(batch.base)
        if batch.last < highest and known is not None and batch != known.appended.batch:
            append = evidence.traces.line(known.appended.row)
            text = f"offset {batch.base}, committed: the disk of node {node} holds other bytes"
            shown = [witness(append, "was committed"), _on_disk(node, batch)]
            yield Violation(f"{text} than node {append.node} appended", shown)


@check(
    "Q11-leader-completeness",
    applies=traced,
    source="Raft, Leader Completeness",
    rests_on=(Kind.TRACES, Kind.METADATA_LOGS),
)
def leader_completeness(evidence: Evidence) -> CheckResult:
    """Q11: Every leader's log contains all that was committed in earlier epochs.

    The leader's log at its election, followed through its trace; committed in an epoch is what any
    node reported below a high watermark of that epoch. (Raft, Leader Completeness)
    """
    replayed, line = evidence.traced_logs, evidence.traces.line
    ledger = [replayed.committed[base] for base in sorted(replayed.committed)]
    columns = np.array([(*one.appended.batch, one.epoch) for one in ledger], np.int64)
    violations = []
    for election in replayed.elections:
        at = _missing(election, columns.reshape(-1, 5))
        if at is not None:
            leads, missing = line(election.row), ledger[at]
            text = f"node {leads.node} became leader of epoch {leads.epoch} "
            text += f"without offset {missing.appended.batch.base}, committed in epoch "
            shown = [
                witness(line(missing.appended.row), "the batch"),
                witness(line(missing.by), "committed it"),
                witness(leads, "leads without it"),
            ]
            violations.append(Violation(f"{text}{missing.epoch}", shown))
    return conclude(
        looked_at=len(replayed.elections),
        unit="elected leaders",
        violations=violations,
        needs=NEED,
        holds="each had all that was committed before",
        algorithm="replay of each replica's log; ledger against the log at each election",
        gaps=gaps(evidence.lives),
    )


def _missing(election: Election, ledger: Ints) -> int | None:
    """The first ledger row that was committed in an earlier epoch and is not in the leader's log. A
    row is a batch, and the epoch that committed it."""
    earlier = np.flatnonzero(ledger[:, 4] < election.epoch)
    wanted, log = ledger[earlier, :4], election.log
    nothing = np.full((1, 4), NONE)  # sorts before all rows
    log = np.concatenate([nothing, log[np.argsort(log[:, 0], kind="stable")]])
    there = log[np.searchsorted(log[:, 0], wanted[:, 0], side="right") - 1]
    for at in np.flatnonzero((there != wanted).any(axis=1)):
        base, last = wanted[at, :2].tolist()
        if there[at, 0] == base or not election.unseen(base, last):
            return int(earlier[at])
    return None


# An epoch that has records had a leader: its first record in any log is the leader's LeaderChange.


@check(
    "epochs-begin-with-a-leader-change",
    applies=everywhere,
    source="KIP-595: LeaderChangeMessage; Raft thesis 6.4, the no-op of a new leader",
    rests_on=(Kind.METADATA_LOGS,),
)
def epochs_begin_with_a_leader_change(evidence: Evidence) -> CheckResult:
    """In each log, the first record of an epoch is a LeaderChange of that epoch.

    Needs: log_batches, log_records.

    Only the leader of an epoch writes in it, and begins with a LeaderChange: without one, the
    records were written by a node that was not elected. The first epoch of a log without its head
    is not judged, nor an epoch after a damaged batch.
    """
    told = {(row["node"], row["offset"], row["epoch"]) for row in evidence.once(leader_changes)}
    looked_at = 0
    violations: list[Violation] = []
    for node, batches in sorted(evidence.metadata_logs.items()):
        for first in _first_batches(batches):
            looked_at += 1
            if (node, first.base, first.epoch) not in told:
                violations.append(_unled(node, first))
    return conclude(
        looked_at=looked_at,
        unit="epochs in logs",
        violations=violations,
        needs="the nodes' disks",
        holds="each begins with its LeaderChange",
        algorithm="first batch of each epoch in each log, against LeaderChange records",
        nothing=evidence.below_snapshots,
    )


def _first_batches(batches: Sequence[StoredBatch]) -> Iterator[StoredBatch]:
    if batches and batches[0].base == 0:
        yield batches[0]
    for before, after in pairwise(batches):
        if after.epoch > before.epoch and after.base == before.last + 1:
            yield after


def _unled(node: int, first: StoredBatch) -> Violation:
    text = f"the log of node {node} has records of epoch {first.epoch} from offset {first.base} "
    text += "on, but no LeaderChange of that epoch: it had no leader"
    shown = {"what": "first batch of the epoch", "node": node, **first._asdict()}
    return Violation(text, [shown])
