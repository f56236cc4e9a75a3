"""A run's own `events-*.jsonl.zst`, given as a file: clients' operations on registers, or on logs.

Other operations (voters changed, topics created, the quorum described) are judged with the whole
run only, and named as left out. The file of a log does not show what the run was planned to lose,
so a breach that a loss may explain is a suspicion here, see `Log.may_lose`.
`checkers.history.events` describes the lines.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from checkers.foreign.entries import HistoryLine, Pair
from checkers.foreign.foreign_values import MalformedError, Value, excerpt, render
from checkers.foreign.logs import (
    ASSIGN,
    POLL,
    SEEK,
    SEND,
    SUBSCRIBE,
    TXN,
    Log,
    LogCall,
    LogRecord,
)
from checkers.history.calls import Model
from checkers.history.events import EventType

_REGISTERS = ("read", "write", "delete")
_LOGS = (SEND, POLL, TXN, ASSIGN, SUBSCRIBE, SEEK)
_DELETE_TOPIC, _DELETE_RECORDS = "delete-topic", "delete-records"
_ALL = -1  # the acks of a send that waits for the whole ISR
_NOT_SENT = -1  # the value of a record with bytes that were never sent


def chosen(pairs: Sequence[Pair]) -> tuple[list[Pair], Mapping[str, int]]:
    """The operations of registers or of logs, and how many there are of the others, by name.

    Raises MalformedError if there are some of both.
    """
    of_logs = next((one for one in pairs if one.invoke.f in (SEND, POLL, TXN)), None)
    of_registers = next((one for one in pairs if one.invoke.f in _REGISTERS), None)
    if of_logs is not None and of_registers is not None:
        line = max(of_logs.invoke.line, of_registers.invoke.line)
        raise MalformedError(line, "operations of registers or of logs", "some of both")
    wanted = _REGISTERS if of_logs is None else _LOGS
    left_out = Counter(one.invoke.f or "" for one in pairs if one.invoke.f not in wanted)
    return [one for one in pairs if one.invoke.f in wanted], left_out


def read_log(pairs: Sequence[Pair], everything: Sequence[Pair]) -> Log:
    """The log of the chosen operations; `everything` shows which partitions promise nothing.

    Raises MalformedError.
    """
    gone = _deleted(everything)
    calls = [_call(one, gone) for one in pairs]
    keys = tuple(sorted({record.key for one in calls for record in (*one.sent, *one.polled)}))
    calls = [replace(one, held=keys) if one.f == ASSIGN else one for one in calls]
    return Log(model=Model.LOG, calls=tuple(calls), keys=keys, may_lose=True)


def _deleted(pairs: Sequence[Pair]) -> frozenset[str]:
    """Topics that may have been deleted, and partitions with records that may have been."""
    return frozenset(
        str(one.invoke.key)
        for one in pairs
        if one.invoke.f in (_DELETE_TOPIC, _DELETE_RECORDS)
        and (one.complete is None or one.complete.type is not EventType.FAIL)
    )


def _call(pair: Pair, gone: frozenset[str]) -> LogCall:
    """An assign is of one partition, from its beginning; a subscribe of whatever a group
    assigns."""
    f, key = pair.invoke.f or "", str(pair.invoke.key)
    if f == ASSIGN:
        return LogCall(pair=pair, f=f, rebalanced=(key,))
    if f in (SUBSCRIBE, SEEK):
        return LogCall(pair=pair, f=f)
    asked = [
        record
        for step, span in enumerate(_spans(pair.invoke))
        for record in _records(pair.invoke.line, step, span, told=False)
    ]
    sent, polled = _done(asked, pair.complete) if pair.complete is not None else (asked, [])
    return LogCall(
        pair=_as_acknowledged(pair),
        f=f,
        sent=tuple(each for each in sent if not _is_gone(each.key, gone)),
        polled=tuple(each for each in polled if not _is_gone(each.key, gone)),
    )


def _is_gone(key: str, gone: frozenset[str]) -> bool:
    return key in gone or key.rpartition("-")[0] in gone


def _as_acknowledged(pair: Pair) -> Pair:
    """A send that only a leader acknowledged, or no broker, may have happened: nothing is promised
    of it."""
    own, complete = pair.invoke.own or {}, pair.complete
    if complete is None or complete.type is not EventType.OK or own.get("a", _ALL) == _ALL:
        return pair
    return replace(pair, complete=replace(complete, type=EventType.INFO))


def _done(
    asked: Sequence[LogRecord], complete: HistoryLine
) -> tuple[list[LogRecord], list[LogRecord]]:
    """The contents of a completion: it names what was sent by its key and value; all else was
    polled."""
    wanted = {(each.key, each.value): place for place, each in enumerate(asked)}
    sent, polled = list(asked), list[LogRecord]()
    for step, span in enumerate(_spans(complete)):
        for record in _records(complete.line, step, span, told=True):
            place = wanted.get((record.key, record.value))
            if place is None:
                polled.append(record)
            else:
                sent[place] = record
    return sent, [each for each in polled if each.offset is not None]


def _spans(entry: HistoryLine) -> Sequence[Value]:
    spans = (entry.own or {}).get("s") or ()
    if not isinstance(spans, tuple):
        raise MalformedError(entry.line, "spans of records in s", excerpt(render(spans)))
    return spans


def _records(line: int, step: int, span: Value, *, told: bool) -> Iterator[LogRecord]:
    """`[key, offset, value, records, ...]`: offsets and values rise from record to record."""
    match span:
        case (str() as key, int() | None as offset, int() as value, int() as count, *_):
            for more in range(count):
                yield LogRecord(
                    key=key,
                    offset=offset + more if offset is not None and told else None,
                    value=_name(value, more),
                    step=step,
                )
        case _:
            expected = "a span of [key, offset, value, records, epoch, high watermark]"
            raise MalformedError(line, expected, excerpt(render(span)))


def _name(value: int, more: int) -> str:
    """A value as on the page of a run: process/number."""
    if value == _NOT_SENT:
        return "bytes that no client sent"
    return f"{value + more >> 32}/{value + more & 0xFFFFFFFF}"
