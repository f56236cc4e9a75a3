"""What the kernels found in a run, once for all checks, and what of it accuses."""

from dataclasses import dataclass

import numpy as np

from checkers.evidence.evidence import Evidence
from checkers.log.allowances import held_against
from checkers.log.anomalies import NONE, Anomaly, Found
from checkers.log.arrays import Codes, Flags, Ints, LogArrays
from checkers.log.budget import FOREVER, Budget, budget_of
from checkers.log.fates import Fates, fates
from checkers.log.sweep import sweep
from checkers.log.tables import arrays_of
from checkers.log.version_order import VersionOrder

# What no loss explains: these were wrong before anything was lost, or whatever was.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    log: LogArrays
    order: VersionOrder
    found: tuple[Found, ...]
    budget: Budget
    fates: Fates
    began_ns: Ints  # by operation
    ended_ns: Ints  # FOREVER where it has not returned

    def accusing(self, found: Found) -> Flags:
        """Which cases break a promise: not allowed by the kind of workload, nor by the budget."""
        held = held_against(self.log, found)
        if found.anomaly in _WITHOUT_EXCUSE:
            return held
        return held & ~self._after_loss(found.key, found.one, found.other)

    def _after_loss(self, key: Codes, one: Codes, other: Codes) -> Flags:
        one = np.where(one == NONE, other, one)
        begin = np.minimum(self.began_ns[one], self.began_ns[other])
        end = np.maximum(self.ended_ns[one], self.ended_ns[other])
        return self.budget.allows(self.log.keys, key, begin, end)

    def lost_within_budget(self) -> Flags:
        """By row of `Sent`: what was promised and is gone, though the budget was kept."""
        lost, sent = self.fates.lost, self.log.sent
        begin = self.began_ns[sent.op]
        after = np.full(len(sent), FOREVER)
        return lost & ~self.budget.allows(self.log.keys, sent.key, begin, after)


def findings_of(evidence: Evidence) -> Findings:
    """Ask for it by `evidence.once(findings_of)`: several checks read the same."""
    log = arrays_of(evidence.run)
    order, found = sweep(log)
    ops = evidence.tables["ops"]
    return Findings(
        log=log,
        order=order,
        found=tuple(found),
        budget=budget_of(evidence.run, log.keys),
        fates=fates(evidence.run, log),
        began_ns=ops["t0"].to_numpy(),
        ended_ns=ops["t1"].fill_null(FOREVER).to_numpy(),
    )
