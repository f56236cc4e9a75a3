"""Makes arrays from the sealed tables of a run."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.array_types import Codes, Flags, Ints
from checkers.history.calls import NEVER, Outcome
from checkers.history.events import NUMBER_BITS, NUMBERS, value_name
from checkers.history.sealed_run import Run
from checkers.log.arrays import (
    CORRUPT,
    EVERY_KEY,
    NO_OFFSET,
    Acks,
    Answers,
    LogArrays,
    LogOperations,
    PolledRecords,
    Resets,
    SentRecords,
    addresses,
    no_steps,
    silent_subscriptions,
)


def arrays_of(run: Run) -> LogArrays:
    """Raises ValueError if a value was sent twice: a polled value then names no sender."""
    ops = run.tables["ops"]
    deleted = _deleted_topics(ops)
    spans = _without(run.tables["spans"], deleted)
    encoded = spans["key"].combine_chunks().dictionary_encode()
    key = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    op = _rows(ops["op_id"].to_numpy(), spans["op_id"].to_numpy())
    is_sent = spans["sent"].to_numpy(zero_copy_only=False).astype(np.bool_, copy=False)
    step = _steps(op, is_sent, ops.num_rows)
    sent = _sent(spans, op, step, key, is_sent)
    polled, answers, strangers = _polled(spans, op, step, key, ~is_sent, sent)

    def name(code: int) -> str:
        value = int(sent.value[code] if code < len(sent) else strangers[code - len(sent)])
        return value_name(value)

    keys = encoded.dictionary.to_pylist()
    return LogArrays(
        ops=_operations(ops),
        sent=sent,
        polled=polled,
        answers=answers,
        resets=_resets(ops, keys),
        keys=keys,
        epochs=_epochs(run.tables["probes"], keys),
        values=len(sent) + len(strangers),
        name=name,
        silent=_silent(ops),
    )


def _operations(ops: pa.Table) -> LogOperations:
    outcome = np.full(ops.num_rows, Outcome.INFO, np.int8)
    outcome[_equal(ops["outcome"], "ok")] = Outcome.OK
    outcome[_equal(ops["outcome"], "fail")] = Outcome.FAIL
    return LogOperations(
        process=ops["process"].to_numpy().astype(np.int32, copy=False),
        outcome=outcome,
        invoke=ops["invoke_index"].to_numpy(),
        complete=ops["complete_index"].fill_null(NEVER).to_numpy(),
        final=_equal(ops["phase"], "final"),
        node=ops["node"].fill_null(-1).to_numpy().astype(np.int32, copy=False),
    )


def _equal(column: pa.ChunkedArray, text: str) -> Flags:
    equal: Flags = pc.fill_null(pc.equal(column, text), False).to_numpy(zero_copy_only=False)
    return equal


def _silent(ops: pa.Table) -> Flags:
    """The group's assignments are either recorded as such or not at all."""
    happened = ~_equal(ops["outcome"], "fail")
    return silent_subscriptions(
        ops["process"].to_numpy().astype(np.int32, copy=False),
        subscribed=np.flatnonzero(_equal(ops["f"], "subscribe") & happened),
        assigned=np.flatnonzero(_equal(ops["f"], "assign") & happened),
        told=np.empty(0, np.int64),
    )


def _deleted_topics(ops: pa.Table) -> list[str]:
    """Topics that may have been deleted: their partitions promise nothing any more."""
    deletes = ops.filter(
        pc.and_(pc.equal(ops["f"], "delete-topic"), pc.not_equal(ops["outcome"], "fail"))
    )
    return sorted(set(deletes["key"].to_pylist()))


def _without(spans: pa.Table, topics: list[str]) -> pa.Table:
    if not topics:
        return spans
    topic = pc.replace_substring_regex(spans["key"], r"-\d+$", "")
    return spans.filter(pc.invert(pc.is_in(topic, pa.array(topics))))


def _rows(op_ids: Ints, wanted: Ints) -> Codes:
    """Rows of the operations with these ids. Raises ValueError for an unknown one."""
    if not len(wanted):
        return np.empty(0, np.int32)
    if len(op_ids) and int(wanted.max()) < len(op_ids) and (op_ids == np.arange(len(op_ids))).all():
        return wanted.astype(np.int32)
    order = np.argsort(op_ids, kind="stable")
    place = np.searchsorted(op_ids[order], wanted)
    if place.max() >= len(order) or (op_ids[order[place]] != wanted).any():
        raise ValueError("not a history: a span belongs to an unknown operation")
    return order[place].astype(np.int32)


def _expand(spans: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """For each record its span, and its index in it."""
    if (counts == 1).all():
        return spans, np.zeros(len(spans), np.int64)
    ends = np.cumsum(counts)
    row = np.repeat(spans, counts)
    return row, np.arange(len(row)) - np.repeat(ends - counts, counts)


def _column(spans: pa.Table, name: str, null: int) -> Ints:
    values: Ints = spans[name].fill_null(null).to_numpy(zero_copy_only=False)
    return values


def _steps(op: Codes, is_sent: Flags, ops: int) -> Codes:
    """By span: the micro-operation that it belongs to. A send is one, and so are polls between
    sends."""
    sends = np.zeros(ops, np.bool_)
    sent = op[is_sent]
    sends[sent] = True
    if not sends[op[~is_sent]].any() and (sent[1:] != sent[:-1]).all():
        return no_steps(len(op))
    first = np.ones(len(op), np.bool_)
    first[1:] = op[1:] != op[:-1]
    begins = first | is_sent
    begins[1:] |= is_sent[:-1]
    number = np.cumsum(begins) - 1
    begun = np.maximum.accumulate(np.where(first, np.arange(len(op)), 0))
    steps: Ints = number - number[begun]
    return steps.astype(np.int32)


def _sent(spans: pa.Table, op: Codes, step: Codes, key: Codes, chosen: Flags) -> SentRecords:
    rows = _grouped(np.flatnonzero(chosen), op, key)
    row, place = _expand(rows, _column(spans, "records", 0)[rows])
    first = _column(spans, "offset", NO_OFFSET)[row]
    return SentRecords(
        op=op[row],
        step=step[row],
        key=key[row],
        value=_column(spans, "value", CORRUPT)[row] + place,
        offset=np.where(first == NO_OFFSET, NO_OFFSET, first + place),
        acks=_column(spans, "acks", Acks.ALL)[row].astype(np.int8, copy=False),
    )


def _grouped(rows: Ints, op: Codes, key: Codes) -> Ints:
    """Rows of spans in the order of their operations and, within one, key by key."""
    place = (op[rows].astype(np.int64) << 32) | key[rows]
    return rows if (place[1:] >= place[:-1]).all() else rows[np.argsort(place, kind="stable")]


def _polled(
    spans: pa.Table, op: Codes, step: Codes, key: Codes, chosen: Flags, sent: SentRecords
) -> tuple[PolledRecords, Answers, Ints]:
    """The records polled, the high watermarks in the answers, and values that no client sent."""
    rows = _grouped(np.flatnonzero(chosen), op, key)
    counts = _column(spans, "records", 0)[rows]
    row, place = _expand(rows, counts)
    first = _column(spans, "value", CORRUPT)[row]
    value = np.where(first == CORRUPT, CORRUPT, first + place)
    code, strangers = _codes(value, key[row], sent)
    polled = PolledRecords(
        op=op[row],
        step=step[row],
        key=key[row],
        offset=_column(spans, "offset", NO_OFFSET)[row] + place,
        value=code,
        rebalanced=np.zeros(len(row), np.bool_),
    )
    high_watermark = _column(spans, "high_watermark", -1)[rows]
    told = np.flatnonzero((high_watermark >= 0) & (counts > 0))
    answers = Answers(
        row=(np.cumsum(counts) - 1)[told].astype(np.int32),
        epoch=_column(spans, "epoch", -1)[rows][told].astype(np.int32, copy=False),
        high_watermark=high_watermark[told],
    )
    return polled, answers, strangers


def _codes(value: Ints, key: Codes, sent: SentRecords) -> tuple[Codes, Ints]:
    """Value codes of polled records, and the values that no client sent to their key."""
    code = _senders(value, sent)
    known = np.flatnonzero(code >= 0)
    code[known[sent.key[code[known]] != key[known]]] = CORRUPT
    strange = np.flatnonzero((code == CORRUPT) & (value != CORRUPT))
    pairs = np.stack([key[strange].astype(np.int64), value[strange]], axis=1)
    distinct, which = np.unique(pairs, axis=0, return_inverse=True)
    code[strange] = len(sent) + which.reshape(-1)
    return code, distinct[:, 1]


def _senders(value: Ints, sent: SentRecords) -> Codes:
    """The row in `sent` of each value; -1 if there is none. Raises ValueError."""
    rows = np.arange(len(sent), dtype=np.int32)
    process, number = sent.value >> NUMBER_BITS, sent.value & NUMBERS
    table = addresses(process, number, int(process.max(initial=-1)) + 1)
    if table is None:
        return _searched(value, sent)
    place = table.of_known(process, number)
    row_at = np.full(table.size + 1, -1, np.int32)  # the last is NOWHERE's
    row_at[place] = rows
    _refuse_repeated(sent.value[row_at[place] != rows])
    if not table.size:
        return np.full(len(value), -1, np.int32)
    return row_at[table.find(value >> NUMBER_BITS, value & NUMBERS)]


def _searched(value: Ints, sent: SentRecords) -> Codes:
    """The same by search, for values that no process counted up."""
    order = np.argsort(sent.value, kind="stable").astype(np.int32)
    ordered = sent.value[order]
    _refuse_repeated(ordered[1:][ordered[1:] == ordered[:-1]])
    place = np.minimum(np.searchsorted(ordered, value), len(ordered) - 1)
    return np.where(ordered[place] == value, order[place], np.int32(-1))


def _refuse_repeated(values: Ints) -> None:
    if len(values):
        raise ValueError(f"not a history of logs: the value {values[0]} was sent twice")


def _resets(ops: pa.Table, keys: Sequence[str]) -> Resets:
    """Consumers that take up a partition again, or whatever a group assigns to them."""
    anew = pc.is_in(ops["f"], pa.array(["assign", "subscribe", "seek"]))
    rows = np.flatnonzero(anew.to_numpy(zero_copy_only=False) & ~_equal(ops["outcome"], "fail"))
    codes = {key: code for code, key in enumerate(keys)}
    named = ops["key"].take(rows).to_pylist()
    key = np.array([codes.get(name, EVERY_KEY) for name in named], np.int32)
    none = np.empty(0, np.int32)
    return Resets(op=rows.astype(np.int32), key=key, kept_by=none, kept=none)


def _epochs(probes: pa.Table, keys: Sequence[str]) -> Codes:
    """By key: the highest leader epoch of a partition in any probe."""
    if not probes.num_rows:
        return np.full(len(keys), -1, np.int32)
    told = probes.filter(pc.equal(probes["kind"], "partition"))
    told = told.filter(pc.is_valid(told["epoch"]))
    rows = told.group_by("key").aggregate([("epoch", "max")]).to_pylist()
    highest = {row["key"]: row["epoch_max"] for row in rows}
    return np.array([highest.get(key, -1) for key in keys], np.int32)
