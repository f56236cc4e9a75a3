"""What the kernels found in a run, once for all checks; which of it accuses; the fate of every
record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.array_types import Codes, Flags, Ints
from checkers.evidence.evidence import Evidence
from checkers.evidence.isr_history import FOREVER_NS
from checkers.evidence.log_starts import AskedStarts
from checkers.evidence.loss_budget import LossBudget, loss_budget
from checkers.history.calls import Outcome
from checkers.history.sealed_run import Run
from checkers.log.anomalies import Anomaly, Cases, Cycle, Isolation, held_against
from checkers.log.arrays import CORRUPT, NO_OFFSET, NONE, Acks, LogArrays
from checkers.log.dependencies import Dependency, VersionOrder
from checkers.log.run_arrays import arrays_of
from checkers.log.sweep import sweep

# The fate of every record that was sent: by the final reads, and then by the disks.
#
# A promised record that the final reads did not return is lost if they reached its offset, or if
# every replica's disk was read completely, from before its offset on, and none has it. If a disk
# has it, it is late: not read so far. Otherwise it is undecided.


@dataclass(frozen=True, slots=True, kw_only=True)
class Fates:
    """Flags by row of `SentRecords`. `gone`, `late` and `undecided` divide the records that are not
    `kept`."""

    acknowledged: Flags  # by all replicas in the ISR
    promised: Flags  # acknowledged so, or given to a consumer: committed for ever
    kept: Flags  # read at the end
    gone: Flags
    late: Flags  # on a disk, and not read
    undecided: Flags
    offset: Ints  # by answer or poll; NO_OFFSET if unknown
    reached: Ints  # by key: the highest offset of the final reads; NONE without one

    @property
    def lost(self) -> Flags:
        return self.gone & self.promised


def fates(evidence: Evidence, log: LogArrays) -> Fates:
    """Needs: ops, spans; replicas and replica_spans for records that the final reads did not
    reach."""
    run, sent, outcome = evidence.run, log.sent, log.ops.outcome[log.sent.op]
    starts = _log_starts(evidence, log)
    kept, reached = _final_reads(log)
    offset = _offsets(log)
    missing = ~kept & (outcome != Outcome.FAIL)
    passed = missing & (offset >= starts[sent.key]) & (offset <= reached[sent.key])
    on_disk, off_disk = _on_disks(run, log, offset, missing & ~passed, starts)
    acknowledged = (outcome == Outcome.OK) & (sent.acks == Acks.ALL)
    return Fates(
        acknowledged=acknowledged,
        promised=acknowledged | _given(log),
        kept=kept,
        gone=passed | off_disk,
        late=on_disk,
        undecided=missing & ~passed & ~on_disk & ~off_disk,
        offset=offset,
        reached=reached,
    )


def _given(log: LogArrays) -> Flags:
    """All records that any poll returned, also one that failed over another partition."""
    given = np.zeros(log.values, np.bool_)
    given[log.polled.value[log.polled.value != CORRUPT]] = True
    return given[: len(log.sent)]


def _final_reads(log: LogArrays) -> tuple[Flags, Ints]:
    """The records that they returned, and the offsets that they reached."""
    polled = log.polled
    final = log.ops.final[polled.op] & (log.ops.outcome[polled.op] == Outcome.OK)
    kept = np.zeros(log.values, np.bool_)
    kept[polled.value[final & (polled.value != CORRUPT)]] = True
    reached = np.full(len(log.keys), NONE, np.int64)
    np.maximum.at(reached, polled.key[final], polled.offset[final])
    return kept[: len(log.sent)], reached


def _log_starts(evidence: Evidence, log: LogArrays) -> Ints:
    """By key: records below it may have been dropped on purpose, if the disks show that any were.
    If a log begins later than was asked for, its missing records are lost."""
    asked, replicas = evidence.once(AskedStarts), evidence.tables["replicas"]
    starts = replicas.group_by("key").aggregate([("log_start", "max")]).to_pylist()
    known = {row["key"]: row["log_start_max"] or 0 for row in starts}
    found = [min(known.get(key, 0), asked.at_the_end(key)) for key in log.keys]
    return np.array(found, np.int64)


def _offsets(log: LogArrays) -> Ints:
    """The offset of each record: by an answer to its producer, or by a poll."""
    polled = log.polled
    known = (polled.value != CORRUPT) & (polled.value < len(log.sent))
    offset = log.sent.offset.copy()
    offset[polled.value[known]] = polled.offset[known]
    return offset


def _on_disks(
    run: Run, log: LogArrays, offset: Ints, missing: Flags, starts: Ints
) -> tuple[Flags, Flags]:
    """The missing records that some disk has, and those that surely none has."""
    found, absent = np.zeros_like(missing), np.zeros_like(missing)
    replicas, spans = run.tables["replicas"], run.tables["replica_spans"]
    for code in np.unique(log.sent.key[missing]):
        rows = np.flatnonzero(missing & (log.sent.key == code))
        name = log.keys[code]
        own = replicas.filter(pc.equal(replicas["key"], name))
        begins, ends = _runs(_readable(spans.filter(pc.equal(spans["key"], name)), own))
        stored = _covered(log.sent.value[rows], begins, ends)
        found[rows] = stored
        if _all_read(run, own):
            start = starts[code]
            since = np.where(offset[rows] == NO_OFFSET, 0, offset[rows])
            absent[rows] = ~stored & (since >= start)
    return found, absent


def _runs(spans: pa.Table) -> tuple[Ints, Ints]:
    """The beginnings of runs of values, rising, and the highest end of those that begin up to
    there."""
    spans = spans.filter(pc.not_equal(spans["value"], CORRUPT))
    begins: Ints = spans["value"].to_numpy()
    ends = begins + spans["records"].to_numpy()
    order = np.argsort(begins, kind="stable")
    return begins[order], np.maximum.accumulate(ends[order])


def _covered(values: Ints, begins: Ints, ends: Ints) -> Flags:
    """Whether each value lies in one of the runs."""
    if not len(begins):
        return np.zeros(len(values), np.bool_)
    place = np.searchsorted(begins, values, side="right") - 1
    return (place >= 0) & (ends[place] > values)


def _readable(spans: pa.Table, replicas: pa.Table) -> pa.Table:
    """For one partition: records below its log start on a replica are given to no consumer."""
    starts = {row["node"]: row["log_start"] or 0 for row in replicas.to_pylist()}
    start = pa.array([starts.get(node, 0) for node in spans["node"].to_pylist()], pa.int64())
    return spans.filter(pc.greater(pc.add(spans["offset"], spans["records"]), start))


def _all_read(run: Run, replicas: pa.Table) -> bool:
    """Whether every replica of a partition was read, and none is damaged."""
    wanted = int(run.info.settings.get("replication", 3))
    rows: int = replicas.num_rows
    return rows >= wanted and replicas["problem"].null_count == rows


# No loss explains these: they were wrong before anything was lost, or regardless of it.
_WITHOUT_EXCUSE = frozenset(
    {
        Anomaly.CORRUPT,
        Anomaly.PHANTOM,
        Anomaly.FUTURE_READ,
        Anomaly.G1A,
        Anomaly.PRECOMMITTED_READ,
        Anomaly.PAST_HIGH_WATERMARK,
        Anomaly.HIGH_WATERMARK_BACK,
    }
)

_SKIPS = frozenset({Anomaly.POLL_SKIP, Anomaly.INT_POLL_SKIP})

_Allowing = Callable[[Sequence[str], Codes, Ints, Ints], Flags]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    log: LogArrays
    order: VersionOrder
    found: tuple[Cases, ...]
    isolation: Isolation  # what was promised of transactions
    budget: LossBudget
    fates: Fates
    began_ns: Ints  # by operation
    ended_ns: Ints  # FOREVER_NS if it has not returned

    def accusing(self, found: Cases) -> Flags:
        """The cases that break a promise: allowed neither by the kind of workload nor by the
        budget."""
        held = held_against(self.log, found, self.isolation)
        if found.anomaly in _WITHOUT_EXCUSE:
            return held
        return held & ~self._excused(found, self.budget.may_allow) & ~self._over_lost(found)

    def _over_lost(self, found: Cases) -> Flags:
        """The polls that skipped only records that may be lost: their offsets need not be given
        again. The bytes of a segment may be lost while the name of the next one is kept."""
        if found.anomaly not in _SKIPS:
            return np.zeros(len(found), np.bool_)
        lost, key, offset = self.lost_beyond_budget(), self.log.sent.key, self.fates.offset
        over = [
            lost[(key == where) & (offset > first) & (offset < then)].all()
            for where, first, then in zip(
                found.key, found.one_offset, found.other_offset, strict=True
            )
        ]
        return np.array(over, np.bool_)

    def undecided(self, found: Cases) -> Flags:
        """The cases that break a promise unless an undecided loss was allowed."""
        if found.anomaly in _WITHOUT_EXCUSE:
            return np.zeros(len(found), np.bool_)
        sure = self._excused(found, self.budget.allows)
        untold = self._excused(found, self.budget.may_allow) & ~sure
        held = held_against(self.log, found, self.isolation)
        return held & untold & ~self._over_lost(found)

    def _excused(self, found: Cases, allowing: _Allowing) -> Flags:
        if found.cycles:
            excused = [self._cycle_excused(cycle, allowing) for cycle in found.cycles]
            return np.array(excused, np.bool_)
        return allowing(self.log.keys, found.key, *self._when(found))

    def _cycle_excused(self, cycle: Cycle, allowing: _Allowing) -> bool:
        """Offsets that were given again may have reversed the order of sends."""
        steps = [step for step in cycle.steps if step.kind in (Dependency.WW, Dependency.RW)]
        key = np.array([step.key for step in steps], np.int32)
        rows = np.array([step.before for step in cycle.steps], np.int64)
        begin = np.full(len(steps), self.began_ns[rows].min())
        end = np.full(len(steps), self.ended_ns[rows].max())
        return bool(allowing(self.log.keys, key, begin, end).any())

    def _when(self, found: Cases) -> tuple[Ints, Ints]:
        one = np.where(found.one == NONE, found.other, found.one)
        begin = np.minimum(self.began_ns[one], self.began_ns[found.other])
        return begin, np.maximum(self.ended_ns[one], self.ended_ns[found.other])

    def lost_within_budget(self) -> Flags:
        """By row of `SentRecords`: promised records that are lost, though the budget was kept."""
        times = self._sent_and_acknowledged()
        keys = self.log.keys, self.log.sent.key
        return self.fates.lost & ~self.budget.may_allow_loss(*keys, *times)

    def lost_beyond_budget(self) -> Flags:
        """By row of `SentRecords`: records that are lost, and were surely allowed to be."""
        times = self._sent_and_acknowledged()
        keys = self.log.keys, self.log.sent.key
        return self.fates.lost & self.budget.allows_loss(*keys, *times)

    def _sent_and_acknowledged(self) -> tuple[Ints, Ints]:
        """Times by row of `SentRecords`. A record that was never acknowledged may have been written
        late."""
        op = self.log.sent.op
        return self.began_ns[op], np.where(self.fates.acknowledged, self.ended_ns[op], FOREVER_NS)


def findings_of(evidence: Evidence) -> Findings:
    """Ask for it by `evidence.once(findings_of)`: several checks share it."""
    log = arrays_of(evidence.run)
    isolation = Isolation(evidence.info.settings.get("isolation", Isolation.KAFKA))
    order, found = sweep(log, isolation)
    ops = evidence.tables["ops"]
    return Findings(
        log=log,
        order=order,
        found=tuple(found),
        isolation=isolation,
        budget=evidence.once(loss_budget),
        fates=fates(evidence, log),
        began_ns=ops["t0"].to_numpy(),
        ended_ns=ops["t1"].fill_null(FOREVER_NS).to_numpy(),
    )
