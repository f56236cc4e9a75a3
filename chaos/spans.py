"""From events of operations on logs to rows of SPANS: the records that they sent and polled.

An operation that both sends and polls is a list of micro-operations. Its invocation has the sends;
its completion has everything in the order in which it was done. An entry with the next record to be
sent was sent, all others were polled.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from checkers.history.events import EventType
from checkers.history.tables import SPANS

_Row = dict[str, Any]
_LINE = ("key", "offset", "value", "records", "epoch", "high_watermark")
_POLLED = {"sent": False, "acks": None, "idempotent": None}


def spans_table(events: Sequence[Mapping[str, Any]]) -> pa.Table:
    """One row a run of records, in the order of the operations; events in the order recorded."""
    operations: list[list[_Row]] = []
    open_operations: dict[int, int] = {}
    for event in events:
        lines = event.get("s") or ()
        if event["type"] == EventType.INVOKE:
            op_id = open_operations[event["p"]] = len(operations)
            how = {"sent": True, "acks": event.get("a"), "idempotent": event.get("x")}
            operations.append([_span(line, op_id, how) for line in lines])
        elif lines:
            op_id = open_operations[event["p"]]
            operations[op_id] = list(_done(operations[op_id], lines, op_id))
    return pa.Table.from_pylist([row for rows in operations for row in rows], schema=SPANS)


def _done(sent: Sequence[_Row], lines: Sequence[Sequence[Any]], op_id: int) -> Iterator[_Row]:
    """The rows of an operation in its order; sends without a result come last."""
    told = 0
    for line in lines:
        row = _span(line, op_id, _POLLED)
        if told < len(sent) and _names(row, sent[told]):
            yield {**sent[told], "offset": row["offset"]}
            told += 1
        else:
            yield row
    yield from sent[told:]


def _names(row: _Row, sent: _Row) -> bool:
    return all(row[name] == sent[name] for name in ("key", "value", "records"))


def _span(line: Sequence[Any], op_id: int, how: Mapping[str, Any]) -> _Row:
    return {"op_id": op_id, **how, **dict(zip(_LINE, line, strict=True))}
