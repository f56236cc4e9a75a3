"""The order in which one process sends and polls, within an operation and from one to the next.

Ranks are compared, not offsets: offsets without a known record are no gap. If a rank is not known,
nothing is judged.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.array_types import Codes, Flags, Ints
from checkers.history.calls import Outcome
from checkers.log.anomalies import Anomaly, Cases, cases
from checkers.log.arrays import EVERY_KEY, Acks, LogArrays
from checkers.log.dependencies import UNKNOWN, VersionOrder

# A record that was in the log when a send began has a lower offset, whichever client sent it. Ours,
# not Jepsen's.


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Steps:
    """What operations did to keys, in order: sent, or polled."""

    op: Codes
    key: Codes
    rank: Ints
    offset: Ints
    value: Codes


def positions(log: LogArrays, order: VersionOrder) -> Iterator[Cases]:
    """{int-,}nonmonotonic-{poll,send}: at or before the previous position. {int-,}{poll,send}-skip:
    past an existing record. Without `int-`: from an operation to the next of the same process.

    A poll continues from the last one that succeeded, unless the consumer was given another
    position in between; sends of all outcomes follow each other, except those that failed.
    """
    polled, sent = log.polled, log.sent
    polls = _Steps(
        op=polled.op,
        key=polled.key,
        rank=order.polled_rank,
        offset=polled.offset,
        value=polled.value,
    )
    kept = np.flatnonzero(log.ops.outcome[sent.op] != Outcome.FAIL)
    codes = kept.astype(np.int32)
    sends = _Steps(
        op=sent.op[kept],
        key=sent.key[kept],
        rank=order.first_rank[kept],
        offset=sent.offset[kept],
        value=codes,
    )
    yield from _inside(
        polls, polled.rebalanced, Anomaly.INT_POLL_SKIP, Anomaly.INT_NONMONOTONIC_POLL
    )
    nothing = np.zeros(len(kept), np.bool_)
    yield from _inside(sends, nothing, Anomaly.INT_SEND_SKIP, Anomaly.INT_NONMONOTONIC_SEND)
    ok = log.ops.outcome == Outcome.OK
    first, then, delta = _successive(log, polls, advances=ok)
    yield _steps(polls, Anomaly.POLL_SKIP, first, then, delta > 1)
    yield _steps(polls, Anomaly.NONMONOTONIC_POLL, first, then, delta < 1)
    first, then, delta = _successive(log, sends, advances=None)
    yield _steps(sends, Anomaly.NONMONOTONIC_SEND, first, then, delta < 1)


def _inside(steps: _Steps, excused: Flags, skip: Anomaly, nonmonotonic: Anomaly) -> Iterator[Cases]:
    same = (steps.op[1:] == steps.op[:-1]) & (steps.key[1:] == steps.key[:-1])
    then = np.flatnonzero(same & ~excused[1:]) + 1
    delta = _delta(steps.rank[then - 1], steps.rank[then])
    yield _steps(steps, skip, then - 1, then, delta > 1)
    yield _steps(steps, nonmonotonic, then - 1, then, delta < 1)


def _delta(before: Ints, after: Ints) -> Ints:
    """The distance between two ranks; 1, which is right, if one of them is not known."""
    return np.where((before == UNKNOWN) | (after == UNKNOWN), 1, after - before)


def _successive(
    log: LogArrays, steps: _Steps, *, advances: Flags | None
) -> tuple[Ints, Ints, Ints]:
    """Last step of an operation, first of the next one of the same process on the key, distance.

    Pairs that go back or stay; or that advance by more than 1, if `advances` says which operations
    the next one continues from. Without it, others may come between, and all count.
    """
    begins = np.ones(len(steps.op), np.bool_)
    begins[1:] = (steps.op[1:] != steps.op[:-1]) | (steps.key[1:] != steps.key[:-1])
    first = np.flatnonzero(begins)
    last = np.append(first[1:] - 1, len(steps.op) - 1)[: len(first)]
    track = log.ops.process[steps.op[first]].astype(np.int64) * len(log.keys) + steps.key[first]
    sort = _by_track(track)
    first, last, track = first[sort], last[sort], track[sort]
    then = np.arange(len(first))
    before = then - 1
    if advances is not None:
        place = np.where(advances[steps.op[first]], then, -1)
        before = np.append(-1, np.maximum.accumulate(place)[:-1])[: len(first)]
    follows = np.flatnonzero((before >= 0) & (track[before] == track))
    before, then = last[before[follows]], first[then[follows]]
    delta = _delta(steps.rank[before], steps.rank[then])
    odd = np.flatnonzero(delta < 1 if advances is None else delta != 1)
    before, then, delta = before[odd], then[odd], delta[odd]
    goes_on = ~_reset_between(log, steps, before, then)
    return before[goes_on], then[goes_on], delta[goes_on]


def _by_track(track: Ints) -> Ints:
    """Stable; small numbers are sorted by their digits, several times as fast."""
    small = track.max(initial=0) < 1 << 16
    return np.argsort(track.astype(np.uint16) if small else track, kind="stable")


def _reset_between(log: LogArrays, steps: _Steps, before: Ints, then: Ints) -> Flags:
    """Whether the process gave up the key, or all keys, from one of its operations to another."""
    resets, process, keys = log.resets, log.ops.process.astype(np.int64), len(log.keys)
    every = resets.key == EVERY_KEY
    start, end = steps.op[before], steps.op[then]
    consumer = process[end]
    key = consumer * keys + steps.key[then]

    def count(op: Codes, track: Ints, asked: Ints) -> Ints:
        return _between(len(process), track, op, asked, start, end)

    of_all, of_one = resets.op[every], resets.op[~every]
    all_but = count(resets.kept_by, process[resets.kept_by] * keys + resets.kept, key)
    let_go = count(of_all, process[of_all], consumer) > all_but
    return let_go | (count(of_one, process[of_one] * keys + resets.key[~every], key) > 0)


def _between(ops: int, track: Ints, op: Codes, asked: Ints, start: Codes, end: Codes) -> Ints:
    """How many marks there are on the given track from `start` to `end`."""
    if not len(track) or not len(asked):
        return np.zeros(len(asked), np.int64)
    marks = np.sort(track * ops + op)
    base = asked * ops
    after = np.searchsorted(marks, base + end, side="right")
    return after - np.searchsorted(marks, base + start)


def _steps(steps: _Steps, anomaly: Anomaly, first: Ints, then: Ints, chosen: Flags) -> Cases:
    one, other = first[chosen], then[chosen]
    return cases(
        anomaly,
        steps.key[other],
        one=steps.op[one],
        other=steps.op[other],
        one_offset=steps.offset[one],
        other_offset=steps.offset[other],
        one_value=steps.value[one],
        other_value=steps.value[other],
    )
