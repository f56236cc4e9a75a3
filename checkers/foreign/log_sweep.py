"""Does a log keep its promises? One sweep over sends and polls, the offsets giving the order.

After Jepsen's Kafka workload, whose names the anomalies have. A poll may lag behind the end of the
log, so it can always be placed as late as its return allows: what it saw binds it, not what it did
not. Gaps between offsets are allowed (transaction markers). Only processes that were assigned their
keys must poll on from where they were; cycles between transactions are not looked for.
"""

import bisect
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from checkers.foreign.logs import ASSIGN, POLL, SEND, TXN, Log, LogCall, Record
from checkers.history.calls import NEVER
from checkers.history.events import EventType

ALGORITHM = "sweep of offsets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """A broken promise, and the calls that show it with the part each plays."""

    name: str
    message: str
    key: str
    calls: tuple[tuple[LogCall, str], ...]


Place = tuple[str, int]
Named = tuple[str, str]


@dataclass(slots=True)
class _Seen:
    """Whatever anybody was told about records."""

    value_at: dict[Place, tuple[str, LogCall]] = field(default_factory=dict)
    offset_of: dict[Named, tuple[int, LogCall]] = field(default_factory=dict)
    sender: dict[Named, LogCall] = field(default_factory=dict)
    polled: set[Named] = field(default_factory=set)
    offsets: dict[str, list[int]] = field(default_factory=dict)  # sorted


def sent_twice(log: Log) -> Record | None:
    """A record whose value was sent before: what is polled then names no writer."""
    seen: set[Named] = set()
    for call in log.calls:
        for record in call.sent:
            if (record.key, record.value) in seen:
                return record
            seen.add((record.key, record.value))
    return None


def anomalies(log: Log) -> Iterator[Anomaly]:
    """All of them, the most basic kinds first."""
    seen = _Seen()
    yield from _collect(log, seen)
    yield from _reads(log, seen)
    yield from _lost(log, seen)
    yield from _real_time(log, seen)
    yield from _positions(log, seen)


def _collect(log: Log, seen: _Seen) -> Iterator[Anomaly]:
    offsets: dict[str, set[int]] = defaultdict(set)
    for call in log.calls:
        for record in call.sent:
            seen.sender[record.key, record.value] = call
        seen.polled.update((record.key, record.value) for record in call.polled)
        for record in (*call.sent, *call.polled):
            if record.offset is not None:
                offsets[record.key].add(record.offset)
                yield from _placed(record, record.offset, call, seen)
    seen.offsets = {key: sorted(known) for key, known in offsets.items()}


def _placed(record: Record, offset: int, call: LogCall, seen: _Seen) -> Iterator[Anomaly]:
    value, first = seen.value_at.setdefault((record.key, offset), (record.value, call))
    if value != record.value:
        yield Anomaly(
            name="inconsistent-offsets",
            message=f"offset {offset} holds both {value} and {record.value}",
            key=record.key,
            calls=((first, f"{value} at {offset}"), (call, f"{record.value} at {offset}")),
        )
    named = (record.key, record.value)
    before, first = seen.offset_of.setdefault(named, (offset, call))
    if before != offset:
        yield Anomaly(
            name="duplicate",
            message=f"{record.value} is at the offsets {before} and {offset}",
            key=record.key,
            calls=((first, f"at {before}"), (call, f"at {offset}")),
        )


def _reads(log: Log, seen: _Seen) -> Iterator[Anomaly]:
    for call in log.calls:
        for record in call.polled:
            writer = seen.sender.get((record.key, record.value))
            what = f"{record.value} was polled"
            calls = ((call, f"polled {record.value}"),)
            if writer is None:
                message = f"{what}, which nobody sent"
                yield Anomaly(name="phantom", message=message, key=record.key, calls=calls)
            elif writer.type is EventType.FAIL:
                yield Anomaly(
                    name="aborted-read",
                    message=f"{what}, the sending of which failed",
                    key=record.key,
                    calls=((writer, f"did not send {record.value}"), *calls),
                )
            elif call.pair.completed < writer.pair.invoked:
                yield Anomaly(
                    name="future-read",
                    message=f"{what} before it was sent",
                    key=record.key,
                    calls=(*calls, (writer, f"sent {record.value} later")),
                )


def _lost(log: Log, seen: _Seen) -> Iterator[Anomaly]:
    """Acknowledged, below what somebody polled, and polled by nobody."""
    highest: dict[str, tuple[int, LogCall]] = {}
    for call in log.calls:
        for record in call.polled:
            if record.offset is not None:
                before = highest.get(record.key)
                if before is None or record.offset > before[0]:
                    highest[record.key] = (record.offset, call)
    for call in log.calls:
        if call.type is not EventType.OK:
            continue
        for record in call.sent:
            end = highest.get(record.key)
            unread = (record.key, record.value) not in seen.polled
            if unread and end is not None and record.offset is not None and record.offset < end[0]:
                yield Anomaly(
                    name="lost-write",
                    message=f"{record.value} was acknowledged at offset {record.offset} and never "
                    f"polled, though offset {end[0]} was",
                    key=record.key,
                    calls=((call, "acknowledged"), (end[1], f"polled past it, to {end[0]}")),
                )


def _real_time(log: Log, seen: _Seen) -> Iterator[Anomaly]:
    """What was sent after something was there is behind it."""
    ended = sorted(
        (call for call in log.calls if call.type is EventType.OK),
        key=lambda call: call.pair.completed,
    )
    highest: dict[str, tuple[int, LogCall]] = {}
    next_ended = 0
    for call in log.calls:
        while next_ended < len(ended) and ended[next_ended].pair.completed < call.pair.invoked:
            _raise_highest(highest, ended[next_ended], seen)
            next_ended += 1
        for record in call.sent:
            offset = seen.offset_of.get((record.key, record.value), (None, call))[0]
            end = highest.get(record.key)
            if offset is not None and end is not None and offset < end[0]:
                yield Anomaly(
                    name="nonmonotonic-send",
                    message=f"{record.value} went to offset {offset} when {end[0]} was there",
                    key=record.key,
                    calls=((end[1], f"knew of {end[0]}"), (call, f"then sent to {offset}")),
                )


def _raise_highest(highest: dict[str, tuple[int, LogCall]], call: LogCall, seen: _Seen) -> None:
    assert call.pair.completed != NEVER
    for record in (*call.sent, *call.polled):
        offset = seen.offset_of.get((record.key, record.value), (-1, call))[0]
        if record.key not in highest or offset > highest[record.key][0]:
            highest[record.key] = (offset, call)


def _positions(log: Log, seen: _Seen) -> Iterator[Anomaly]:
    """An assigned consumer polls every record once, in order."""
    last: dict[int, dict[str, tuple[int, LogCall]]] = {}  # of assigned processes
    for call in sorted(log.calls, key=lambda call: call.pair.completed):
        process = call.pair.invoke.process
        if call.f == ASSIGN and call.type is EventType.OK:
            last[process] = {}
        elif call.type is not EventType.OK or call.f not in (SEND, POLL, TXN):
            last.pop(process, None)
        elif process in last:
            yield from _in_order(call, last[process], seen)


def _in_order(
    call: LogCall, last: dict[str, tuple[int, LogCall]], seen: _Seen
) -> Iterator[Anomaly]:
    for record in call.polled:
        assert record.offset is not None
        before = last.get(record.key)
        last[record.key] = (record.offset, call)
        if before is None:
            continue
        known = seen.offsets[record.key]
        gap = bisect.bisect_left(known, record.offset) - bisect.bisect_left(known, before[0])
        if gap == 1:
            continue
        name, how = ("nonmonotonic-poll", "back") if gap < 1 else ("poll-skip", "past others")
        yield Anomaly(
            name=name,
            message=f"process {call.pair.invoke.process} went {how} from offset {before[0]} "
            f"to {record.offset}",
            key=record.key,
            calls=((before[1], f"polled {before[0]}"), (call, f"polled {record.offset}")),
        )
