"""A record that was in the log when a send began has a lower offset, whichever client sent it.
Ours, not Jepsen's."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.array_types import Codes, Ints
from checkers.history.calls import Outcome
from checkers.log.anomalies import Anomaly, Cases, cases
from checkers.log.arrays import Acks, LogArrays
from checkers.log.version_order import UNKNOWN, VersionOrder

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """Committed records, each with an operation that showed, when it completed, that it is in the
    log."""

    op: Codes
    key: Codes
    rank: Ints
    offset: Ints
    value: Codes


def realtime(log: LogArrays, order: VersionOrder) -> Iterator[Cases]:
    """nonmonotonic-send-realtime: a record got an offset below one that was in the log when it was
    sent."""
    yield _sends(log, order)


def _known(log: LogArrays, order: VersionOrder) -> _Known:
    """By the acknowledgement of all replicas, or by a poll: of each poll the last record of a
    key."""
    ok = log.ops.outcome == Outcome.OK
    sent, polled = log.sent, log.polled
    rank = order.first_rank[: len(sent)]
    told = np.flatnonzero(ok[sent.op] & (sent.acks == Acks.ALL) & (rank != UNKNOWN))
    seen = ends(polled.op, polled.key)
    seen = seen[ok[polled.op[seen]] & (order.polled_rank[seen] != UNKNOWN)]
    return _Known(
        op=np.concatenate([sent.op[told], polled.op[seen]]),
        key=np.concatenate([sent.key[told], polled.key[seen]]),
        rank=np.concatenate([rank[told], order.polled_rank[seen]]),
        offset=np.concatenate([sent.offset[told], polled.offset[seen]]),
        value=np.concatenate([told.astype(np.int32), polled.value[seen]]),
    )


def ends(op: Codes, key: Codes) -> Ints:
    """The last row of each operation on each key."""
    last = np.ones(len(op), np.bool_)
    last[:-1] = (op[1:] != op[:-1]) | (key[1:] != key[:-1])
    return np.flatnonzero(last)


def _sends(log: LogArrays, order: VersionOrder) -> Cases:
    """For each rank, the moment when a client first knew of it. No record above it may be older:
    the earliest such moment is a running minimum from the end."""
    sent, known = log.sent, _known(log, order)
    complete = log.ops.complete[known.op]
    span = 1 + max(int(complete.max(initial=0)), int(log.ops.invoke.max(initial=0)))
    # Ranks of later keys are higher. Their moments are made later too, so that they never count.
    moment = known.key.astype(np.int64) * span + complete
    first = np.full(order.ranks + 1, _NEVER, np.int64)
    np.minimum.at(first, known.rank, moment)
    behind = np.minimum.accumulate(first[::-1])[::-1]
    asked = np.flatnonzero(order.first_rank[: len(sent)] != UNKNOWN)
    sent_at = sent.key[asked].astype(np.int64) * span + log.ops.invoke[sent.op[asked]]
    earliest = behind[order.first_rank[asked] + 1]
    late = earliest < sent_at
    code, teller = asked[late].astype(np.int32), _rows_at(moment, earliest[late])
    return cases(
        Anomaly.REALTIME_SEND,
        sent.key[code],
        one=known.op[teller],
        other=sent.op[code],
        one_offset=known.offset[teller],
        other_offset=sent.offset[code],
        one_value=known.value[teller],
        other_value=code,
    )


def _rows_at(moments: Ints, wanted: Ints) -> Ints:
    """A row for each wanted moment, all of which exist."""
    if not len(wanted):
        return np.empty(0, np.int64)
    order = np.argsort(moments, kind="stable")
    return order[np.searchsorted(moments[order], wanted, side="right") - 1]
