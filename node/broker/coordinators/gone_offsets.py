"""What was committed of topics that are no more: it is found, and forgotten, a piece a step.

Thousands of groups may have read a topic that is deleted, and to write and replay a tombstone takes
some forty microseconds. Kafka writes all of one coordinator in one operation
(`GroupCoordinatorService.onPartitionsDeleted`), but on a thread that answers nobody else.

All that has been committed is looked through, by the image as it is then, when a topic goes and
when another broker begins to coordinate: so nothing has to outlive a coordinator. A look begins
when all is replayed that the log had by then, and a piece is written when the last one is replayed:
what is not yet, with what others commit meanwhile, is of topics that there are. Nobody waits for
it: what is left is told to nobody (`is_of_topic_that_is`).
"""

from collections.abc import Iterator

from node.broker.coordinators.group_log import GroupLog, GroupRecord
from node.controller.image import Image
from node.controller.image.topics import Topics
from node.ids import ZERO_UUID, Now, Offset
from node.records.group_records import GroupKey, OffsetCommitKey, OffsetCommitValue

# Of one step, which is to take less than a tenth of the fetch time-out.
MAX_FORGOTTEN = 1_000
MAX_LOOKED_AT = 10_000
_RECORD_BYTES = 40  # of a tombstone, beside names
PART_OF_A_BATCH = 8  # characters are up to three bytes, and the last name goes beyond it


class GoneOffsets:
    def __init__(self, log: GroupLog, message_bytes: int) -> None:
        self._log = log
        self._topics = Image().topics  # of the newest image
        self._batch_bytes = message_bytes // PART_OF_A_BATCH
        self._pieces: Iterator[list[GroupRecord]] | None = None  # of the look that is under way
        self._next_from: Offset | None = log.end  # another look begins once all below is replayed
        self._written = Offset(0)  # where the last piece ends

    def look(self) -> None:
        """A topic has gone."""
        self._next_from = self._log.end

    @property
    def may_go_on(self) -> bool:
        """Where nothing can be written, all stays until it can."""
        begins = self._next_from is not None and self._log.has_replayed(self._next_from)
        is_at_it = self._pieces is not None or begins
        return is_at_it and self._log.has_replayed(self._written) and self._log.may_append

    def go_on(self, topics: Topics, now: Now) -> None:
        """Forget some, if there are any and it may be done."""
        if not self.may_go_on:
            return
        self._topics = topics
        if self._pieces is None:
            self._next_from = None
            self._pieces = self._looked_through()
        piece = next(self._pieces, None)
        if piece is None:
            self._pieces = None
        elif piece:
            _, self._written = self._log.append(piece, now)

    def _looked_through(self) -> Iterator[list[GroupRecord]]:
        """What of it is gone, as far as one step gets."""
        piece: list[GroupRecord] = []
        looked, size = 0, 0
        for key, value in self._all():
            looked += 1
            if not is_of_topic_that_is(self._topics, key.topic, value) and (
                not self._log.is_on_its_way(key)
            ):
                piece.append((key, None))
                size += tombstone_bytes(key)
            is_full = len(piece) >= MAX_FORGOTTEN or size >= self._batch_bytes
            if is_full or looked >= MAX_LOOKED_AT:
                yield piece
                piece, looked, size = [], 0, 0
        yield piece

    def _all(self) -> Iterator[tuple[OffsetCommitKey, OffsetCommitValue]]:
        """As it is when it is come to."""
        for group in list(self._log.offsets):
            for topic, partition in list(self._log.offsets.get(group, ())):
                value = self._log.offsets.get(group, {}).get((topic, partition))
                if value is not None:
                    yield OffsetCommitKey(group=group, topic=topic, partition=partition), value


def tombstone_bytes(key: GroupKey) -> int:
    """About, at most."""
    topic = key.topic if isinstance(key, OffsetCommitKey) else ""
    return len(key.group) + len(topic) + _RECORD_BYTES


def is_of_topic_that_is(topics: Topics, name: str, value: OffsetCommitValue) -> bool:
    """Not of one that had its name before (`OffsetMetadataManager.isMismatchedTopicId`)."""
    found = topics.named(name)
    return found is not None and value.topic_id in (ZERO_UUID, found.id)
