"""What in the log this node cannot replay, so that it may follow and vote, and not lead.

In a quorum of several implementations, or of several releases, a leader writes records that others
do not know. Whoever only replicates them needs to know no more than their bytes. A controller that
left one out of its image would decide from another state than the one that was committed; so a node
with such a record in its log, committed or not, does not stand for election (Kafka's controllers
end there).
"""

from collections.abc import Iterable, Sequence

from node.ids import Offset
from node.lazy_dataclass import dataclass
from node.records.batch import Batch
from node.records.metadata import UnknownRecord, all_known, unknown_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreplayable:
    """The first such record of the log."""

    offset: Offset
    record: UnknownRecord


def first_unreplayable(batches: Iterable[Batch]) -> Unreplayable | None:
    """Of batches that were found sound (`node.records.contents`)."""
    for batch in batches:
        values = () if batch.header.is_control else batch.values()
        found = first_unknown(values)
        if found is not None:
            place, record = found
            return Unreplayable(offset=Offset(batch.header.base_offset + place), record=record)
    return None


def first_unknown(values: Sequence[bytes | None]) -> tuple[int, UnknownRecord] | None:
    """Which of them, counted from 0, and what it is."""
    if not all_known(values):
        for place, value in enumerate(values):
            unknown = unknown_record(value)
            if unknown is not None:
                return place, unknown
    return None
