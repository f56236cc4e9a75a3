"""What the kernels found in a run, once for all checks, and which of it accuses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.array_types import Codes, Flags, Ints
from checkers.evidence.evidence import Evidence
from checkers.evidence.isr_history import FOREVER_NS
from checkers.evidence.loss_budget import LossBudget, loss_budget
from checkers.log.allowances import Isolation, held_against
from checkers.log.anomalies import Anomaly, Cases
from checkers.log.arrays import NONE, LogArrays
from checkers.log.circles import Cycle
from checkers.log.dependencies import Dependency
from checkers.log.fates import Fates, fates
from checkers.log.run_arrays import arrays_of
from checkers.log.sweep import sweep
from checkers.log.version_order import VersionOrder

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
