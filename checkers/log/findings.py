"""What the kernels found in a run, once for all checks, and what of it accuses."""

import weakref
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from checkers.history.sealed_run import Run, RunInfo
from checkers.log.anomalies import NONE, Anomaly, Found, allowed
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
        if found.anomaly in allowed(subscribes=self.log.subscribes):
            return np.zeros(len(found), np.bool_)
        if found.anomaly in _WITHOUT_EXCUSE:
            return np.ones(len(found), np.bool_)
        return ~self._after_loss(found.key, found.one, found.other)

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


_Table: TypeAlias = weakref.ref[pa.Table]
_USED = ("spans", "ops", "faults", "probes", "replicas", "replica_spans")


@dataclass(frozen=True, slots=True)
class _Kept:
    """Findings with what they were made of."""

    info: RunInfo
    tables: tuple[_Table, ...]
    findings: Findings

    def is_of(self, run: Run) -> bool:
        same = (kept() is run.tables[name] for name, kept in zip(_USED, self.tables, strict=True))
        return self.info is run.info and all(same)


_kept: list[_Kept] = []  # one at most, for as long as the tables are there


def findings_of(run: Run) -> Findings:
    """Several checks read them, so those of the last run are kept until its tables go."""
    if not (_kept and _kept[0].is_of(run)):
        _kept.clear()
        findings = _find(run)
        tables = tuple(weakref.ref(run.tables[name], _forget) for name in _USED)
        _kept.append(_Kept(run.info, tables, findings))
    return _kept[0].findings


def _forget(gone: _Table) -> None:
    if _kept and gone in _kept[0].tables:
        _kept.clear()


def _find(run: Run) -> Findings:
    log = arrays_of(run)
    order, found = sweep(log)
    ops = run.tables["ops"]
    return Findings(
        log=log,
        order=order,
        found=tuple(found),
        budget=budget_of(run, log.keys),
        fates=fates(run, log, order),
        began_ns=ops["t0"].to_numpy(),
        ended_ns=ops["t1"].fill_null(FOREVER).to_numpy(),
    )
