"""Once no majority of the voters' disks is left, the quorum stops rather than forgets (KIP-856)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, several_nodes
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import witness
from checkers.evidence.planned import Kind
from checkers.evidence.voters_left import LostMajority
from checkers.history.sealed_run import LINEARIZABLE_READS
from checkers.history.tables import VOTER_CHANGES
from checkers.quorum.leadership import SECOND, bounds_of
from checkers.quorum.moments import processes_of
from checkers.verdict import CheckResult, EventValue

# What a leader may acknowledge only when a majority has it.
_COMMITTED = ("write", "delete", "create-topic", "delete-topic", *VOTER_CHANGES)
_SHOWN = ("f", "key", "value", "node", "process")


@check(
    "stops-without-a-majority",
    applies=several_nodes,
    source="KIP-856, Motivation",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS),
)
def stops_without_a_majority(evidence: Evidence) -> CheckResult:
    """Once no majority of the voters' disks is left, no leader is elected, and no operation that
    was asked for later is acknowledged.

    The losses are taken from the faults, which have the directory ids of the lost disks, and the
    voters from the newest log; a run in which a majority is left has nothing to judge. Elections
    are those of candidates that stood for election later, by traces; reads count if the target
    promises linearizable ones. `durability` judges what the remaining disks have to hold. (KIP-856,
    Motivation)
    """
    lost = evidence.lost_majority
    if lost is None:
        return conclude(
            looked_at=0,
            unit="operations",
            violations=(),
            needs="faults",
            holds="",
            algorithm="",
            nothing="a majority of the voters' disks was left",
        )
    ops = evidence.tables["ops"]
    later = ops.filter(pc.greater(ops["t0"], lost.since_ns))
    stood_s = (evidence.info.duration_ns - lost.since_ns) / SECOND
    return conclude(
        looked_at=later.num_rows,
        unit="operations that were asked for later",
        violations=[*_elected(evidence, lost), *_acknowledged(evidence, lost, later)],
        needs="clients that go on",
        holds=f"none was acknowledged and no node elected for {stood_s:.1f} s, since {lost}",
        algorithm="operations and candidacies after the loss",
        gaps=_gaps(evidence, stood_s),
    )


def _gaps(evidence: Evidence, stood_s: float) -> Sequence[str]:
    """A forbidden election would have taken its time."""
    within_s = bounds_of(evidence).leader_within_s
    if stood_s >= within_s:
        return ()
    return (f"the run ended {stood_s:.1f} s later, but an election may take {within_s:g} s",)


def _acknowledged(evidence: Evidence, lost: LostMajority, later: pa.Table) -> Iterator[Violation]:
    reads = ("read",) if LINEARIZABLE_READS in evidence.info.promises else ()
    decided = pc.is_in(later["f"], pa.array([*_COMMITTED, *reads]))
    done = later.filter(pc.and_(decided, pc.equal(later["outcome"], "ok")))
    for row in done.to_pylist():
        after_s = (row["t0"] - lost.since_ns) / SECOND
        text = f"node {row['node']} acknowledged a {row['f']} of {row['key']} that was asked for "
        text += f"{after_s:.1f} s after no majority was left: {lost}"
        shown = {"what": "acknowledged", "t_ns": row["t1"], **{n: row[n] for n in _SHOWN}}
        yield Violation(text, [_shown(lost), shown])


def _elected(evidence: Evidence, lost: LostMajority) -> Iterator[Violation]:
    """Leaders by votes that were all asked for when no majority was left to grant them."""
    for process in evidence.once(processes_of):
        for stood, event in pairwise(process.events("q.state")):
            if (stood.state, event.state) != ("candidate", "leader") or stood.t <= lost.since_ns:
                continue
            after_s = (event.t - lost.since_ns) / SECOND
            text = f"node {event.node} was elected for epoch {event.epoch} {after_s:.1f} s "
            text += f"after no majority was left: {lost}"
            rows = [witness(stood, "stands for election"), witness(event, "leads")]
            yield Violation(text, [_shown(lost), *rows])


def _shown(lost: LostMajority) -> Mapping[str, EventValue]:
    return lost.last.fault.shown("the disk without which no majority was left", lost.since_ns)
