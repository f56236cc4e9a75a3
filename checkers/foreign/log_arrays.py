"""A foreign history of logs, as arrays for the kernels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from checkers.array_types import Codes, Flags, Ints
from checkers.foreign.entries import process_codes
from checkers.foreign.logs import ASSIGN, SEEK, SUBSCRIBE, Log, LogCall, LogRecord
from checkers.history.calls import Outcome
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
)
from checkers.log.subscriptions import silent_subscriptions

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

    def _by_key(self, records: tuple[LogRecord, ...]) -> Iterator[tuple[int, LogRecord]]:
        """Key by key, each in its order."""
        coded = [(self.key_codes[record.key], record) for record in records]
        yield from sorted(coded, key=lambda one: one[0])


def _offset(record: LogRecord) -> int:
    return NO_OFFSET if record.offset is None else record.offset


def arrays_of(log: Log) -> LogArrays:
    """Every send counts as one with acks=all, sent once: as in Jepsen's workload."""
    rows = _Rows({key: code for code, key in enumerate(log.keys)}, _lasting(log))
    for op, call in enumerate(log.calls):
        rows.add_sent(op, call)
    for op, call in enumerate(log.calls):
        rows.add_polled(op, call)
    names = [value for _, value in rows.codes]
    return LogArrays(
        ops=_operations(log),
        sent=_sent(rows),
        polled=_polled(rows),
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


def _sent(rows: _Rows) -> SentRecords:
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


def _polled(rows: _Rows) -> PolledRecords:
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
    found = [(op, key) for op, call in enumerate(log.calls) for key in _let_go(call, key_codes)]
    kept = [(op, key) for op, call in enumerate(log.calls) for key in _held(call, key_codes)]
    op, key = np.array(found, np.int32).reshape(-1, 2).T
    kept_by, kept_key = np.array(kept, np.int32).reshape(-1, 2).T
    return Resets(op=op, key=key, kept_by=kept_by, kept=kept_key)


def _silent(log: Log) -> Flags:
    def rows(chosen: Callable[[LogCall], bool]) -> Ints:
        return np.array([row for row, call in enumerate(log.calls) if chosen(call)], np.int64)

    return silent_subscriptions(
        _processes(log)[0],
        subscribed=rows(lambda call: call.f == SUBSCRIBE and call.type is not EventType.FAIL),
        assigned=rows(lambda call: call.f == ASSIGN and call.type is not EventType.FAIL),
        told=rows(lambda call: call.tells),
    )


def _let_go(call: LogCall, key_codes: dict[str, int]) -> Iterator[int]:
    yield from (key_codes[key] for key in call.rebalanced if key in key_codes)
    if call.type is EventType.FAIL:
        return
    if call.f in (SEEK, ASSIGN, SUBSCRIBE):
        yield EVERY_KEY


def _held(call: LogCall, key_codes: dict[str, int]) -> Iterator[int]:
    """The keys that an assignment keeps."""
    if call.type is not EventType.FAIL and call.f in (ASSIGN, SUBSCRIBE):
        yield from (key_codes[key] for key in dict.fromkeys(call.held) if key in key_codes)
