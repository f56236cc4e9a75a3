"""Logs agree where they must: Q5, Q11 and Q12."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from checkers.check import check, everywhere, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NodeEvent, gaps, witness
from checkers.evidence.metadata_logs import StoredBatch
from checkers.evidence.planned import Kind
from checkers.evidence.traced_logs import Committed, Election
from checkers.verdict import CheckResult, EventValue


class _Seen(NamedTuple):
    """A batch and who has it: by a q.append, or (without one) on the disk after the run."""

    batch: StoredBatch
    node: int
    append: NodeEvent | None

    @property
    def shown(self) -> Mapping[str, EventValue]:
        if self.append is None:
            return _on_disk(self.node, self.batch)
        return witness(self.append, f"appended as {self.append.state}")


@check(
    "Q5-log-matching",
    applies=everywhere,
    source="Raft, Log Matching; KIP-595",
    rests_on=(Kind.METADATA_LOGS,),
)
def log_matching(evidence: Evidence) -> CheckResult:
    """Q5: an epoch and an offset identify one batch, and what stands before it.

    No two batches of one epoch share an offset, in any log at any time; and where two logs hold
    the same batch, they agree on all before it. From q.append and from the logs on the disks.
    (Raft, Log Matching)
    """
    seen: dict[tuple[int, int], _Seen] = {}
    violations = []
    for found in _appended(evidence):
        other = seen.setdefault((found.batch.epoch, found.batch.base), found)
        if other.batch != found.batch:
            violations.append(_two_batches(other, found))
    for one, two in pairwise(seen[place] for place in sorted(seen)):
        if one.batch.epoch == two.batch.epoch and two.batch.base <= one.batch.last:
            violations.append(_two_batches(one, two))
    violations += _different_prefixes(evidence)
    return conclude(
        looked_at=len(seen),
        unit="batches",
        violations=violations,
        needs=f"{NEED}, or disks read after the run",
        holds="the same epoch and offset held the same bytes everywhere",
        algorithm="(epoch, offset) -> batch, intervals per epoch, prefixes of pairs of disks",
    )


def _two_batches(one: _Seen, two: _Seen) -> Violation:
    text = f"epoch {two.batch.epoch}, offset {two.batch.base}: node {one.node} and node {two.node} "
    return Violation(f"{text}hold different batches", [one.shown, two.shown])


def _appended(evidence: Evidence) -> Iterator[_Seen]:
    for life in evidence.lives:
        for event in life.events():
            if event.event == "q.append":
                batch = StoredBatch(event.base, event.last, event.epoch, event.crc)
                yield _Seen(batch, life.node, event)
    for node, batches in evidence.metadata_logs.items():
        for batch in batches:
            yield _Seen(batch, node, None)


def _on_disk(node: int, batch: StoredBatch) -> dict[str, EventValue]:
    return {"what": "on the disk after the run", "node": node, **batch._asdict()}


def _different_prefixes(evidence: Evidence) -> Iterator[Violation]:
    logs = evidence.metadata_logs
    for one, two in combinations(sorted(logs), 2):
        common = {(b.base, b.epoch) for b in logs[one]} & {(b.base, b.epoch) for b in logs[two]}
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
    """Q12: below both their high watermarks, two logs agree, at any time.

    So what any node reported as committed is the same everywhere: followed through the traces
    (append, truncate, high watermark), and compared with the disks at the end below the highest
    high watermark of their node. (SIM ConsistentCommittedData)
    """
    replayed = evidence.traced_logs
    violations = [
        Violation(
            f"offset {rival.batch.base} was committed with different bytes: by node "
            f"{known.batch.node} and by node {rival.batch.node}",
            [
                witness(known.batch, "this batch was committed"),
                witness(known.by, "as this says"),
                witness(rival.batch, "so was this one"),
                witness(rival.by, "as this says"),
            ],
        )
        for known, rival in replayed.conflicts
    ]
    for node, batches in evidence.metadata_logs.items():
        violations += _disk_against(
            replayed.committed, node, replayed.highest.get(node, 0), batches
        )
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
    committed: Mapping[int, Committed], node: int, highest: int, batches: Sequence[StoredBatch]
) -> Iterator[Violation]:
    for batch in batches:
        known = committed.get(batch.base)
        if batch.last >= highest or known is None:
            continue
        if batch != StoredBatch(
            known.batch.base, known.batch.last, known.batch.epoch, known.batch.crc
        ):
            text = f"offset {batch.base}, committed: the disk of node {node} holds other bytes"
            shown = [witness(known.batch, "was committed"), _on_disk(node, batch)]
            yield Violation(f"{text} than node {known.batch.node} appended", shown)


@check(
    "Q11-leader-completeness",
    applies=traced,
    source="Raft, Leader Completeness",
    rests_on=(Kind.TRACES, Kind.METADATA_LOGS),
)
def leader_completeness(evidence: Evidence) -> CheckResult:
    """Q11: every leader's log contains all that was committed in earlier epochs.

    The log of a leader as it was when it was elected, followed through its trace; committed in
    an epoch is what any node reported below a high watermark of that epoch. (Raft, Leader
    Completeness)
    """
    replayed = evidence.traced_logs
    ledger = [replayed.committed[base] for base in sorted(replayed.committed)]
    violations = []
    for election in replayed.elections:
        missing = _missing(election, ledger)
        if missing is not None:
            text = f"node {election.event.node} became leader of epoch {election.event.epoch} "
            text += f"without offset {missing.batch.base}, committed in epoch {missing.by.epoch}"
            shown = [
                witness(missing.batch, "the batch"),
                witness(missing.by, "committed it"),
                witness(election.event, "leads without it"),
            ]
            violations.append(Violation(text, shown))
    return conclude(
        looked_at=len(replayed.elections),
        unit="elected leaders",
        violations=violations,
        needs=NEED,
        holds="each had all that was committed before",
        algorithm="replay of each replica's log; ledger against the log at each election",
        gaps=gaps(evidence.lives),
    )


def _missing(election: Election, ledger: Sequence[Committed]) -> Committed | None:
    """The first batch that was committed in an earlier epoch and is not in the leader's log."""
    log = {batch.base: batch for batch in election.log}
    for entry in ledger:
        if entry.by.epoch >= election.event.epoch:
            continue
        held = log.get(entry.batch.base)
        if held is None and election.unseen(entry.batch.base, entry.batch.last):
            continue
        if held is None or (held.last, held.epoch, held.crc) != (
            entry.batch.last,
            entry.batch.epoch,
            entry.batch.crc,
        ):
            return entry
    return None
