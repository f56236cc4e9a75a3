"""What is at which offset of a partition, on one node's disk or in the history of clients.

Offset and value rise together along a span, so value minus offset is one number, its shift.
Consecutive spans with the same shift are one stretch; whether a stretch holds a span is then a
search and two comparisons, for any number of spans at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretches:
    """Runs of records, by first offset; arrays of one length."""

    offset: Ints
    records: Ints
    shift: Ints  # value minus offset

    def holds(self, offset: Ints, value: Ints, records: Ints) -> NDArray[np.bool_]:
        """Whether each of these spans is here, value for value."""
        if not len(self.offset):
            return np.zeros(len(offset), np.bool_)
        at = np.searchsorted(self.offset, offset, side="right") - 1
        same = (at >= 0) & (self.shift[at] == value - offset)
        found: NDArray[np.bool_] = same & (self.offset[at] + self.records[at] >= offset + records)
        return found


def stretches(offset: Ints, value: Ints, records: Ints) -> Stretches:
    """From spans in any order; where two overlap, the first one counts."""
    order = np.argsort(offset, kind="stable")
    first, count, shift = offset[order], records[order], (value - offset)[order]
    begins = np.ones(len(first), np.bool_)
    begins[1:] = (first[1:] != first[:-1] + count[:-1]) | (shift[1:] != shift[:-1])
    starts = np.flatnonzero(begins)
    sums = np.add.reduceat(count, starts) if len(starts) else count
    return Stretches(offset=first[starts], records=sums, shift=shift[starts])


def stored_logs(replica_spans: pa.Table) -> Mapping[tuple[int, str], Stretches]:
    """What each node's disk holds of each partition."""
    return {
        (int(node), str(key)): stretches(*columns(part, "offset", "value", "records"))
        for (node, key), part in split(replica_spans, "node", "key").items()
    }


def columns(table: pa.Table, *names: str) -> tuple[Ints, ...]:
    """Columns without nulls: a null would become a number, the lowest of all."""
    for name in names:
        assert not table[name].null_count, f"{name} is null in {table[name].null_count} rows"
    return tuple(table[name].to_numpy().astype(np.int64) for name in names)


def split(table: pa.Table, *names: str) -> dict[tuple[int | str, ...], pa.Table]:
    """The rows of each combination of values, in order."""
    if not table.num_rows:
        return {}
    code = codes(table, *names)
    if np.any(np.diff(code) < 0):
        order = np.argsort(code, kind="stable")
        table, code = table.take(pa.array(order)), code[order]
    starts = np.flatnonzero(np.diff(code, prepend=code[0] - 1))
    keys = zip(*(table[name].take(pa.array(starts)).to_pylist() for name in names), strict=True)
    sizes = np.diff(np.append(starts, len(code))).tolist()
    return {
        key: table.slice(start, size)
        for key, start, size in zip(keys, starts.tolist(), sizes, strict=True)
    }


def codes(table: pa.Table, *names: str) -> Ints:
    """One number for each row, equal where these columns are equal."""
    found = np.zeros(table.num_rows, np.int64)
    for name in names:
        encoded = table[name].combine_chunks().dictionary_encode()
        found = found * len(encoded.dictionary) + encoded.indices.to_numpy()
    return found


def acknowledged(ops: pa.Table, spans: pa.Table) -> pa.Table:
    """The spans that were sent with acks=all and acknowledged with an offset."""
    ok = ops.filter(pc.equal(ops["outcome"], "ok"))["op_id"]
    sent = spans.filter(pc.and_(spans["sent"], pc.equal(spans["acks"], -1)))
    known = sent.filter(sent["offset"].is_valid())
    return known.filter(pc.is_in(known["op_id"], ok.combine_chunks()))


def polled(spans: pa.Table) -> pa.Table:
    """The spans that consumers were given, without records with bytes that no client sent."""
    given = spans.filter(pc.and_(pc.invert(spans["sent"]), spans["offset"].is_valid()))
    return given.filter(pc.greater_equal(given["value"], 0))
