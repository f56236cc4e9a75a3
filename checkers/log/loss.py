"""Acknowledged records that were never polled, by Jepsen's two definitions. They use polls only.

The disks decide whether a record is lost or late: see `fates`.
"""

from collections.abc import Iterator

import numpy as np

from checkers.array_types import Codes, Ints
from checkers.history.calls import Outcome
from checkers.log.anomalies import Anomaly, Cases, cases
from checkers.log.arrays import NONE, Acks, LogArrays
from checkers.log.version_order import UNKNOWN, VersionOrder


def losses(log: LogArrays, order: VersionOrder) -> Iterator[Cases]:
    """lost-write: it must have happened, a consumer polled past it, and none polled it.

    unseen: acknowledged, never polled, and not even shown to be lost.
    """
    bound = _bound(log, order)
    rank = order.last_rank[: len(log.sent)]
    unread = ~order.read[: len(log.sent)]
    lost = unread & order.committed & (rank != UNKNOWN) & (rank <= bound[log.sent.key])
    codes = np.flatnonzero(lost).astype(np.int32)
    past = _reader_past(log, order, bound)[log.sent.key[codes]]
    yield cases(
        Anomaly.LOST_WRITE,
        log.sent.key[codes],
        one=log.sent.op[codes],
        other=log.polled.op[past],
        one_offset=log.sent.offset[codes],
        other_offset=log.polled.offset[past],
        one_value=codes,
        other_value=log.polled.value[past],
    )
    acknowledged = (log.ops.outcome[log.sent.op] == Outcome.OK) & (log.sent.acks == Acks.ALL)
    codes = np.flatnonzero(unread & acknowledged & ~lost).astype(np.int32)
    yield cases(
        Anomaly.UNSEEN,
        log.sent.key[codes],
        other=log.sent.op[codes],
        other_offset=log.sent.offset[codes],
        other_value=codes,
    )


def _bound(log: LogArrays, order: VersionOrder) -> Ints:
    """By key: the highest of the first ranks of all values read; every value below it had to be
    seen."""
    bound = np.full(len(log.keys), NONE, np.int64)
    good = np.flatnonzero(log.ops.outcome[log.polled.op] == Outcome.OK)
    good = good[order.polled_rank[good] != UNKNOWN]
    np.maximum.at(bound, log.polled.key[good], order.first_rank[log.polled.value[good]])
    return bound


def _reader_past(log: LogArrays, order: VersionOrder, bound: Ints) -> Codes:
    """By key: a row of `PolledRecords` that read the value at the bound."""
    reader = np.zeros(len(log.keys), np.int32)
    ok = log.ops.outcome[log.polled.op] == Outcome.OK
    at_bound = np.flatnonzero(ok & (order.polled_rank == bound[log.polled.key]))
    reader[log.polled.key[at_bound]] = at_bound
    return reader
