"""How much of a log is decoded in one step, in which nothing else is heard, no heartbeat either."""

from collections.abc import Iterable, Iterator

from node import limits
from node.records.batch import Batch

_BATCH_IN_RECORDS = 5  # to check a batch takes as long as to decode so many records


def portion(batches: Iterable[Batch]) -> Iterator[Batch]:
    """The first one, and those after it for which there is time in the same step."""
    handled = 0
    for batch in batches:
        cost = batch.header.record_count + _BATCH_IN_RECORDS
        if handled and handled + cost > limits.MAX_RECORDS_PER_STEP:
            return
        handled += cost
        yield batch
