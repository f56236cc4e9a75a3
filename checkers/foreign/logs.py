"""Histories of logs with offsets, as Jepsen's Kafka workload writes them, read and made into
arrays.

    {:type :ok, :f :send, :value [[:send k [offset v]]]}       invoked as [[:send k v]]
    {:type :ok, :f :poll, :value [[:poll {k [[offset v] ...]}]]}    invoked as [[:poll]]
    {:type :ok, :f :assign, :value [k ...]}                    and :subscribe, :crash and others

`txn` mixes sends and polls. What an operation sent and polled is read from its completion, whatever
its outcome: a consumer must only ever be given safe data. `assign` and `subscribe` give up the keys
that they do not name, `seek` gives up all. `:rebalance-log` names keys that changed hands
meanwhile: a client that has one anywhere in a subscription is taken to record all of them. JSON has
the same in arrays and objects.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

import numpy as np

from checkers.array_types import Codes, Flags, Ints
from checkers.foreign.entries import HistoryLine, Pair, process_codes
from checkers.foreign.foreign_values import (
    ABSENT,
    MalformedError,
    Map,
    Value,
    excerpt,
    name_of,
    plain,
    render,
)
from checkers.history.calls import Model, Outcome
from checkers.history.events import EventType
from checkers.log.arrays import (
    EVERY_KEY,
    NO_ANSWERS,
    NO_OFFSET,
    Acks,
    LogArrays,
    LogOperations,
    PolledRecords,
    Resets,
    SentRecords,
    silent_subscriptions,
)

SEND, POLL, TXN, ASSIGN, SUBSCRIBE, SEEK = "send", "poll", "txn", "assign", "subscribe", "seek"

_RECORDS = (SEND, POLL)
_LAST_OFFSET = 2**63 - 1  # Kafka counts them in 64 bits
_OTHERS = ("crash", "debug-topic-partitions", SEEK, "commit")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """`offset` is None if the producer got none. `step` is its micro-operation, from 0."""

    key: str
    offset: int | None
    value: str
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCall:
    """An operation with what it sent and polled, each in its order.

    `held`: the keys that an assign or subscribe names. `rebalanced`: keys of partitions that were
    given to others, or taken from them, while it ran; `tells` if the file records that for it,
    though there may have been none.
    """

    pair: Pair
    f: str
    sent: tuple[LogRecord, ...] = ()
    polled: tuple[LogRecord, ...] = ()
    held: tuple[str, ...] = ()
    rebalanced: tuple[str, ...] = ()
    tells: bool = False

    @property
    def type(self) -> EventType:
        return self.pair.complete.type if self.pair.complete is not None else EventType.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A history of logs, in the order of invocation.

    `may_lose`: the run was planned so that records may be lost that the history does not show; a
    breach that such a loss explains is only a suspicion.
    """

    model: Model
    calls: tuple[LogCall, ...]
    keys: tuple[str, ...]
    may_lose: bool = False


def is_log(pairs: Sequence[Pair]) -> bool:
    """Whether anything is sent or polled."""
    return any(
        pair.invoke.f in _RECORDS
        or (pair.invoke.f in (TXN, None) and _has_records(pair.invoke.value))
        for pair in pairs
    )


def _has_records(value: Value) -> bool:
    return isinstance(value, tuple) and any(
        isinstance(item, tuple) and bool(item) and name_of(item[0]) in _RECORDS for item in value
    )


def read_log(pairs: Sequence[Pair]) -> Log:
    """Raises MalformedError at the first operation that is none of a log."""
    calls = tuple(_with_rebalances(_call(pair)) for pair in pairs)
    keys = {record.key for call in calls for record in (*call.sent, *call.polled)}
    return Log(model=Model.LOG, calls=calls, keys=tuple(sorted(keys)))


def _call(pair: Pair) -> LogCall:
    f = pair.invoke.f or TXN
    if f in (ASSIGN, SUBSCRIBE):
        return LogCall(pair=pair, f=f, held=tuple(_held(pair.invoke)))
    if f in _OTHERS:
        return LogCall(pair=pair, f=f)
    if f not in (TXN, *_RECORDS):
        names = ", ".join((*_RECORDS, TXN, ASSIGN, SUBSCRIBE, *_OTHERS))
        raise MalformedError(pair.invoke.line, f"an operation of a log ({names})", excerpt(f))
    asked = _sent(pair.invoke)
    complete = pair.complete
    if complete is None or (complete.type is not EventType.OK and not _has_records(complete.value)):
        return LogCall(pair=pair, f=f, sent=asked)
    done = _sent(complete)
    if [(one.key, one.value) for one in asked] != [(one.key, one.value) for one in done]:
        found = excerpt(render(complete.value))
        raise MalformedError(complete.line, f"what line {pair.invoke.line} sent", found)
    return LogCall(pair=pair, f=f, sent=done, polled=_polled(complete))


def _with_rebalances(call: LogCall) -> LogCall:
    complete = call.pair.complete
    if complete is None or complete.rebalances is ABSENT:
        return call
    return replace(call, rebalanced=tuple(_rebalanced(complete.rebalances)), tells=True)


def _held(entry: HistoryLine) -> Iterator[str]:
    """Raises MalformedError: without the keys it is unknown which of them were given up."""
    if not isinstance(entry.value, tuple):
        found = "no value" if entry.value is ABSENT else excerpt(render(entry.value))
        raise MalformedError(entry.line, f"the keys that are {entry.f}ed, as [k ...]", found)
    yield from map(plain, entry.value)


def _rebalanced(log: Value) -> Iterator[str]:
    for event in log if isinstance(log, tuple) else ():
        keys = event.get(":keys", event.get("keys")) if isinstance(event, dict) else None
        if isinstance(keys, tuple):
            yield from map(plain, keys)


def _steps(entry: HistoryLine) -> list[tuple[Value, ...]]:
    value = entry.value
    if isinstance(value, tuple):
        steps = [item for item in value if isinstance(item, tuple) and item]
        if len(steps) == len(value) and all(name_of(step[0]) in _RECORDS for step in steps):
            return steps
    found = "no value" if value is ABSENT else excerpt(render(value))
    raise MalformedError(entry.line, "sends and polls such as [[:send k v] [:poll]]", found)


def _sent(entry: HistoryLine) -> tuple[LogRecord, ...]:
    records = []
    for number, step in enumerate(_steps(entry)):
        if name_of(step[0]) != SEND:
            continue
        if len(step) != 3:
            raise MalformedError(entry.line, "[:send key value]", excerpt(render(step)))
        records.append(_record(entry.line, number, plain(step[1]), step[2]))
    return tuple(records)


def _polled(entry: HistoryLine) -> tuple[LogRecord, ...]:
    records: list[LogRecord] = []
    for number, step in enumerate(_steps(entry)):
        if name_of(step[0]) != POLL:
            continue
        if len(step) == 1 and entry.type is not EventType.OK:
            continue  # the operation did not get that far
        if len(step) != 2 or not isinstance(step[1], dict):
            expected = "[:poll {key [[offset value] ...]}]"
            raise MalformedError(entry.line, expected, excerpt(render(step)))
        records += _fetched(entry.line, number, step[1])
    return tuple(records)


def _fetched(line: int, step: int, by_key: Map) -> list[LogRecord]:
    records = []
    for key, fetched in by_key.items():
        for item in fetched if isinstance(fetched, tuple) else (fetched,):
            record = _record(line, step, _unquoted(key), item)
            if record.offset is None:
                raise MalformedError(line, "polled records of [offset value]", render(item))
            records.append(record)
    return records


def _unquoted(key: str) -> str:
    """Keys of EDN maps are rendered: strings have their quotes."""
    return str(json.loads(key)) if key.startswith('"') else key


def _record(line: int, step: int, key: str, item: Value) -> LogRecord:
    """`value`, or `[offset value]`."""
    if not isinstance(item, tuple):
        return LogRecord(key=key, offset=None, value=render(item), step=step)
    if len(item) != 2:
        raise MalformedError(line, "a record of [offset value]", excerpt(render(item)))
    offset, value = item
    if offset is not None and not (type(offset) is int and 0 <= offset <= _LAST_OFFSET):
        expected = f"a record of [offset value], its offset from 0 to {_LAST_OFFSET}"
        raise MalformedError(line, expected, excerpt(render(item)))
    return LogRecord(key=key, offset=offset, value=render(value), step=step)


# A foreign history of logs, as arrays for the kernels.


_OUTCOMES = {EventType.OK: Outcome.OK, EventType.FAIL: Outcome.FAIL, EventType.INFO: Outcome.INFO}


def sent_twice(log: Log) -> LogRecord | None:
    """A record with a value that was sent before: a polled value then names no sender.

    A record that surely failed may be sent again: that is no other record.
    """
    seen: set[tuple[str, str]] = set()
    for call in log.calls:
        for record in call.sent if call.type is not EventType.FAIL else ():
            if (record.key, record.value) in seen:
                return record
            seen.add((record.key, record.value))
    return None


@dataclass(slots=True)
class _Rows:
    """Records as rows of numbers: operation, step, key, offset; for polled ones value and a
    flag."""

    key_codes: dict[str, int]
    lasting: set[tuple[str, str]]  # keys and values of records that did not surely fail
    codes: dict[tuple[int, str], int] = field(default_factory=dict)
    sent: list[tuple[int, int, int, int]] = field(default_factory=list)
    polled: list[tuple[int, int, int, int, int, bool]] = field(default_factory=list)

    def add_sent(self, op: int, call: LogCall) -> None:
        """If a record was sent several times, and all but one failed, that one."""
        for key, record in self._by_key(call.sent):
            if call.type is EventType.FAIL and (
                (key, record.value) in self.codes or (record.key, record.value) in self.lasting
            ):
                continue
            self.codes[key, record.value] = len(self.sent)
            self.sent.append((op, record.step, key, _offset(record)))

    def add_polled(self, op: int, call: LogCall) -> None:
        """After every sent record has its code."""
        rebalanced = frozenset(call.rebalanced)
        for key, record in self._by_key(call.polled):
            value = self.codes.setdefault((key, record.value), len(self.codes))
            moved = record.key in rebalanced
            self.polled.append((op, record.step, key, _offset(record), value, moved))

    def _by_key(self, records: tuple[LogRecord, ...]) -> list[tuple[int, LogRecord]]:
        """Key by key, each in its order."""
        coded = [(self.key_codes[record.key], record) for record in records]
        coded.sort(key=itemgetter(0))
        return coded


def _offset(record: LogRecord) -> int:
    return NO_OFFSET if record.offset is None else record.offset


def arrays_of(log: Log) -> LogArrays:
    """Every send counts as one with acks=all, sent once: as in Jepsen's workload."""
    rows = _Rows({key: code for code, key in enumerate(log.keys)}, _lasting(log))
    for op, call in enumerate(log.calls):
        if call.sent:
            rows.add_sent(op, call)
    for op, call in enumerate(log.calls):
        if call.polled:
            rows.add_polled(op, call)
    names = [value for _, value in rows.codes]
    return LogArrays(
        ops=_operations(log),
        sent=_sent_arrays(rows),
        polled=_polled_arrays(rows),
        answers=NO_ANSWERS,
        resets=_resets(log, rows.key_codes),
        keys=log.keys,
        epochs=np.full(len(log.keys), -1, np.int32),
        values=len(rows.codes),
        name=names.__getitem__,
        silent=_silent(log),
    )


def _lasting(log: Log) -> set[tuple[str, str]]:
    """Keys and values of the records that did not surely fail."""
    return {
        (record.key, record.value)
        for call in log.calls
        if call.type is not EventType.FAIL
        for record in call.sent
    }


def _operations(log: Log) -> LogOperations:
    pairs = [call.pair for call in log.calls]
    process, names = _processes(log)
    return LogOperations(
        process=process,
        processes=names,
        outcome=np.array([_OUTCOMES[call.type] for call in log.calls], np.int8),
        invoke=np.array([one.invoked for one in pairs], np.int64),
        complete=np.array([one.completed for one in pairs], np.int64),
        final=np.zeros(len(pairs), np.bool_),
    )


def _processes(log: Log) -> tuple[Codes, tuple[str, ...]]:
    return process_codes([call.pair.invoke.process for call in log.calls])


def _sent_arrays(rows: _Rows) -> SentRecords:
    op, step, key, offset = np.array(rows.sent, np.int64).reshape(-1, 4).T
    count = len(op)
    return SentRecords(
        op=op.astype(np.int32),
        step=step.astype(np.int32),
        key=key.astype(np.int32),
        value=np.arange(count),
        offset=offset.copy(),
        acks=np.full(count, Acks.ALL, np.int8),
    )


def _polled_arrays(rows: _Rows) -> PolledRecords:
    op, step, key, offset, value, moved = np.array(rows.polled, np.int64).reshape(-1, 6).T
    return PolledRecords(
        op=op.astype(np.int32),
        step=step.astype(np.int32),
        key=key.astype(np.int32),
        offset=offset.copy(),
        value=value.astype(np.int32),
        rebalanced=moved.astype(np.bool_),
    )


def _resets(log: Log, key_codes: dict[str, int]) -> Resets:
    moving = [
        (op, call)
        for op, call in enumerate(log.calls)
        if call.rebalanced or call.f in (SEEK, ASSIGN, SUBSCRIBE)
    ]
    found = [(op, key) for op, call in moving for key in _let_go(call, key_codes)]
    kept = [(op, key) for op, call in moving for key in _held_array(call, key_codes)]
    op, key = np.array(found, np.int32).reshape(-1, 2).T
    kept_by, kept_key = np.array(kept, np.int32).reshape(-1, 2).T
    return Resets(op=op, key=key, kept_by=kept_by, kept=kept_key)


def _silent(log: Log) -> Flags:
    def rows(f: str) -> Ints:
        named = (row for row, call in enumerate(log.calls) if call.f == f)
        return np.array(
            [row for row in named if log.calls[row].type is not EventType.FAIL], np.int64
        )

    return silent_subscriptions(
        _processes(log)[0],
        subscribed=rows(SUBSCRIBE),
        assigned=rows(ASSIGN),
        told=np.array([row for row, call in enumerate(log.calls) if call.tells], np.int64),
    )


def _let_go(call: LogCall, key_codes: dict[str, int]) -> Iterator[int]:
    yield from (key_codes[key] for key in call.rebalanced if key in key_codes)
    if call.type is EventType.FAIL:
        return
    if call.f in (SEEK, ASSIGN, SUBSCRIBE):
        yield EVERY_KEY


def _held_array(call: LogCall, key_codes: dict[str, int]) -> Iterator[int]:
    """The keys that an assignment keeps."""
    if call.type is not EventType.FAIL and call.f in (ASSIGN, SUBSCRIBE):
        yield from (key_codes[key] for key in dict.fromkeys(call.held) if key in key_codes)
