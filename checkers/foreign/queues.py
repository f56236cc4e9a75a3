"""Queues: `enqueue` of a value, `dequeue` of one, `drain` of many; a dequeue of nil found none.

    {:type :invoke, :f :enqueue, :value 3, :process 0}
    {:type :ok, :f :dequeue, :value 3, :process 1}

If each value is put in once, a history is linearizable if four things cannot be shown (Henzinger,
Sezgin and Vafeiadis, Aspect-oriented linearizability proofs, 2013): that a value came out that was
not put in, or not yet; that it came out twice; that it came out before, or without, a value that
was put in ahead of it (for a queue that is first in, first out); that a queue was found empty while
at every moment a value was surely in it. Each is one sweep over the history in order of time. An
enqueue of unknown outcome may have put in any value that comes out; a dequeue of unknown outcome
may have taken any value that is left. If a value is put in more often, its n-th must go in before
its n-th comes out; beyond that, and for order, such a history is not judged.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from checkers.foreign.foreign_values import ABSENT, MalformedError, Value, excerpt, render
from checkers.foreign.keyed_calls import KeyedCall
from checkers.foreign.sets import Accused
from checkers.history.calls import NEVER, Model, Outcome
from checkers.verdict import Verdict


@dataclass(slots=True)
class Traffic:
    """What went in and out of one queue."""

    put: dict[str, list[KeyedCall]] = field(default_factory=dict)
    failed: dict[str, KeyedCall] = field(default_factory=dict)
    taken: dict[str, list[KeyedCall]] = field(default_factory=dict)
    empty: list[KeyedCall] = field(default_factory=list)  # found nothing
    unknown: list[KeyedCall] = field(default_factory=list)  # may each have taken one value
    drained: list[tuple[KeyedCall, tuple[str, ...]]] = field(default_factory=list)
    unknown_drains: list[KeyedCall] = field(default_factory=list)  # any number of values


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """A value that was put in once. `taken` is None if it is not known to have been taken out."""

    value: str
    put: KeyedCall
    taken: KeyedCall | None

    @property
    def surely_in(self) -> int:
        """From then on."""
        return self.put.pair.completed

    @property
    def may_be_out(self) -> int:
        return NEVER if self.taken is None else self.taken.pair.invoked


def refute_queue(calls: Sequence[KeyedCall], model: Model, *, declared: bool) -> Accused | None:
    """Why no order explains the calls on one queue; None if one does.

    Unless it was declared, a queue that keeps no order, and loses nothing, is unknown.
    """
    traffic = traffic_of(calls)
    accused = _by_value(traffic)
    if accused is not None:
        return accused
    repeated = next((those for those in traffic.put.values() if len(those) > 1), None)
    if repeated is not None:
        if model is Model.UNORDERED_QUEUE and not traffic.empty:
            return None
        return Accused(
            message=f"{render(repeated[0].given)} was put in more than once, so it is unknown "
            "which of them came out",
            parts=((repeated[0], "first"), (repeated[1], "again")),
            verdict=Verdict.UNKNOWN,
        )
    items = list(_items(traffic))
    accused = _never_empty(traffic, items)
    if accused is not None and accused.verdict is Verdict.INVALID:
        return accused
    out_of_order = _out_of_order(traffic, items) if model is Model.QUEUE else None
    if out_of_order is None or declared:
        return out_of_order or accused
    return Accused(
        message=f"{out_of_order.message}; nothing else is wrong: --model queue if it promises "
        "first in, first out, --model unordered-queue if not",
        parts=out_of_order.parts,
        verdict=Verdict.UNKNOWN,
    )


def traffic_of(calls: Sequence[KeyedCall]) -> Traffic:
    """Raises MalformedError."""
    traffic = Traffic()
    for call in calls:
        if call.f == "enqueue":
            _enqueued(traffic, call)
        elif call.outcome is Outcome.FAIL:
            continue
        elif call.f == "drain":
            _drained(traffic, call)
        elif call.outcome is Outcome.INFO:
            traffic.unknown.append(call)
        elif call.result is ABSENT:
            raise MalformedError(call.line, "the value that was dequeued, or nil", "none")
        elif call.result is None:
            traffic.empty.append(call)
        else:
            traffic.taken.setdefault(render(call.result), []).append(call)
    return traffic


def _enqueued(traffic: Traffic, call: KeyedCall) -> None:
    if call.given is ABSENT or call.given is None:
        raise MalformedError(call.pair.invoke.line, "a value to enqueue", "none")
    value = render(call.given)
    if call.outcome is Outcome.FAIL:
        traffic.failed[value] = call
    else:
        traffic.put.setdefault(value, []).append(call)


def _drained(traffic: Traffic, call: KeyedCall) -> None:
    if call.outcome is Outcome.INFO:
        traffic.unknown_drains.append(call)
        return
    told: Value = () if call.result is None else call.result
    if not isinstance(told, tuple):
        found = "none" if told is ABSENT else excerpt(render(told))
        raise MalformedError(call.line, "the values drained, as [1 2]", found)
    values = tuple(map(render, told))
    traffic.drained.append((call, values))
    for value in values:
        traffic.taken.setdefault(value, []).append(call)


def _by_value(traffic: Traffic) -> Accused | None:
    """For each value, the n-th that comes out was put in, and before that was over."""
    for value, taken in traffic.taken.items():
        put = sorted(traffic.put.get(value, ()), key=lambda one: one.pair.invoked)
        if not put:
            failed = traffic.failed.get(value)
            why = "which was never put in" if failed is None else "the enqueueing of which failed"
            parts = (*(((failed, "failed"),) if failed else ()), (taken[0], f"took {value}"))
            return Accused(message=f"{value} came out, {why}", parts=parts)
        taken = sorted(taken, key=lambda one: one.pair.completed)
        if len(taken) > len(put):
            times = "once" if len(put) == 1 else f"{len(put)} times"
            parts = tuple((one, f"took {value}") for one in taken[: len(put) + 1])
            message = f"{value} came out {len(taken)} times, and was put in {times}"
            return Accused(message=message, parts=parts)
        for into, out in zip(put, taken, strict=False):
            if out.pair.completed < into.pair.invoked:
                parts = ((out, f"took {value}"), (into, "began only then"))
                return Accused(message=f"{value} came out before it was put in", parts=parts)
    return None


def _items(traffic: Traffic) -> Iterator[_Item]:
    """Values that were put in for sure, or that came out."""
    for value, (put,) in traffic.put.items():
        taken = traffic.taken.get(value, [None])[0]
        if taken is not None or put.outcome is Outcome.OK:
            yield _Item(value=value, put=put, taken=taken)


def _out_of_order(traffic: Traffic, items: Sequence[_Item]) -> Accused | None:
    accused = _overtaken(items) or _drained_out_of_order(traffic, items)
    return accused or _left_behind(traffic, items)


def _overtaken(items: Sequence[_Item]) -> Accused | None:
    """A value that was surely put in first came out surely later."""
    ahead = sorted((one for one in items if one.taken is not None), key=lambda one: one.surely_in)
    last: _Item | None = None  # to come out, of those put in before
    at = 0
    for item in sorted(ahead, key=lambda one: one.put.pair.invoked):
        while at < len(ahead) and ahead[at].surely_in < item.put.pair.invoked:
            if last is None or ahead[at].may_be_out > last.may_be_out:
                last = ahead[at]
            at += 1
        assert item.taken is not None
        if last is not None and item.taken.pair.completed < last.may_be_out:
            assert last.taken is not None
            return Accused(
                message=f"{item.value} came out before {last.value}, which had been put in first",
                parts=(
                    (last.put, f"put {last.value} in first"),
                    (item.put, f"put {item.value} in when that had ended"),
                    (item.taken, f"took {item.value} first"),
                    (last.taken, f"took {last.value} only then"),
                ),
            )
    return None


def _drained_out_of_order(traffic: Traffic, items: Sequence[_Item]) -> Accused | None:
    """One drain takes values out in their order."""
    by_value = {item.value: item for item in items}
    for call, values in traffic.drained:
        first: _Item | None = None  # to be put in for sure, of those taken out later
        for value in reversed(values):
            item = by_value[value]
            if first is not None and first.surely_in < item.put.pair.invoked:
                return Accused(
                    message=f"{item.value} came out before {first.value}, which had been put in "
                    "first",
                    parts=(
                        (first.put, f"put {first.value} in first"),
                        (item.put, f"put {item.value} in when that had ended"),
                        (call, f"took {item.value} before {first.value}"),
                    ),
                )
            if first is None or item.surely_in < first.surely_in:
                first = item
    return None


def _left_behind(traffic: Traffic, items: Sequence[_Item]) -> Accused | None:
    """A value that was surely put in first never came out, though a later one did. Operations of
    unknown outcome may have taken some of those: as many as there are, each by one that began in
    time."""
    taken = sorted(
        (item for item in items if item.taken is not None), key=lambda one: one.put.pair.invoked
    )
    begins = [item.put.pair.invoked for item in taken]
    soonest: list[_Item] = []  # of those from each index on, the first to be surely out
    for item in reversed(taken):
        out = _out(item)
        soonest.append(item if not soonest or out < _out(soonest[-1]) else soonest[-1])
    soonest.reverse()
    left = []
    for item in items:
        place = bisect_left(begins, item.surely_in)
        if item.taken is None and place < len(taken):
            left.append((_out(soonest[place]), item, soonest[place]))
    left.sort(key=lambda one: one[0])
    drains = min((one.pair.invoked for one in traffic.unknown_drains), default=NEVER)
    helpers = sorted(one.pair.invoked for one in traffic.unknown)
    for number, (deadline, item, later) in enumerate(left, start=1):
        if deadline < drains and bisect_left(helpers, deadline) < number:
            assert later.taken is not None
            return Accused(
                message=f"{item.value} never came out, though {later.value} did, which was put in "
                "later",
                parts=(
                    (item.put, f"put {item.value} in first"),
                    (later.put, f"put {later.value} in when that had ended"),
                    (later.taken, f"took {later.value}, and {item.value} is left"),
                ),
            )
    return None


def _out(item: _Item) -> int:
    assert item.taken is not None
    return item.taken.pair.completed


def _never_empty(traffic: Traffic, items: Sequence[_Item]) -> Accused | None:
    """A dequeue found nothing, though at every moment of it a value was surely there."""
    if not traffic.empty:
        return None
    helpers = [one.pair.invoked for one in (*traffic.unknown, *traffic.unknown_drains)]
    for soonest, verdict in (
        (min(helpers, default=NEVER), Verdict.INVALID),
        (NEVER, Verdict.UNKNOWN),
    ):
        spans = [
            (item.surely_in, min(item.may_be_out, max(item.surely_in, soonest)))
            if item.taken is None
            else (item.surely_in, item.may_be_out)
            for item in items
        ]
        covered = _merged(spans)
        for call in traffic.empty:
            at = bisect_left(covered, (call.pair.invoked, NEVER)) - 1
            if at >= 0 and covered[at][1] > call.pair.completed:
                return _not_empty(call, items, covered[at], verdict)
    return None


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches of time in which a value was surely there."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _not_empty(
    call: KeyedCall, items: Sequence[_Item], stretch: tuple[int, int], verdict: Verdict
) -> Accused:
    inside = [
        item
        for item in items
        if item.surely_in < call.pair.completed
        and item.may_be_out > call.pair.invoked
        and stretch[0] <= item.surely_in < item.may_be_out
    ]
    perhaps = "" if verdict is Verdict.INVALID else ", unless something of unknown outcome took it"
    return Accused(
        message=f"a dequeue found nothing, though something was there all the while{perhaps}",
        parts=(
            *((item.put, f"put {item.value} in") for item in inside[:18]),
            (call, "found nothing"),
        ),
        verdict=verdict,
    )
