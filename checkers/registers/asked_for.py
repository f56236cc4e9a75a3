"""When the values of registers were asked for, by the operations that may have happened."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from checkers.evidence.evidence import Evidence

NEVER = (1 << 63) - 1  # after every event
_CHANGES = pa.array(["write", "delete"])
Asked = tuple[str, str | None]  # key and value as in records; None is a deletion


class OpSpan(NamedTuple):
    """The events with which an operation began, and was known to have happened (or NEVER)."""

    begun: int
    done: int


def attempts(evidence: Evidence) -> Mapping[Asked, Sequence[OpSpan]]:
    """All operations that asked for a value, except those that were refused."""
    ops = evidence.tables["ops"]
    changes = pc.is_in(ops["f"], _CHANGES)
    mine = ops.filter(pc.and_(changes, pc.not_equal(ops["outcome"], "fail")))
    names = ("key", "value", "outcome", "invoke_index", "complete_index")
    found: dict[Asked, list[OpSpan]] = defaultdict(list)
    for key, value, outcome, begun, done in zip(
        *(mine[name].to_pylist() for name in names), strict=True
    ):
        asked = (key, None if value is None else str(value))
        found[asked].append(OpSpan(begun, done if outcome == "ok" else NEVER))
    return dict(found)


def first_begun(evidence: Evidence, asked: Asked) -> int:
    """When a client first asked for that value; NEVER, if none did."""
    found = evidence.once(attempts).get(asked, ())
    return min((each.begun for each in found), default=NEVER)
