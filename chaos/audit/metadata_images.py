"""The metadata logs of disks, compared record by record up to where they were committed.

What a log replays to, its image, follows from its records: as long as every committed one is there,
at its offset and byte for byte, no topic, configuration, broker, voter or feature can be another.
How far it was committed is what the leader told just before the cut. Afterwards the newest log
must have all of that, whichever node has it: so it is for a leader that is elected (KIP-595).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chaos.audit.questions import ComparedAnswer
from checkers.disk.batches import Record, batches_of, read_records
from checkers.disk.fields import DamagedError
from checkers.disk.metadata_log import METADATA_LOG
from checkers.disk.records import decode_control, decode_metadata
from checkers.disk.segments import LogFiles

NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMetadataRecord:
    """Two are the same if they have the same epoch, key and value."""

    epoch: int
    control: bool
    record: Record

    @property
    def told(self) -> str:
        """For people: its type, and what is known of its content."""
        try:
            found = (decode_control if self.control else decode_metadata)(self.record)
        except DamagedError as error:
            return f"epoch {self.epoch}: {error}"
        words = (found.type, found.resource, found.name, found.value, found.detail)
        return f"epoch {self.epoch}: {' '.join(word for word in words if word)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMetadata:
    """One metadata log; below `start` only a snapshot tells."""

    start: int
    records: Mapping[int, StoredMetadataRecord]  # by offset

    @property
    def newest(self) -> tuple[int, int]:
        """Epoch and offset of its last record: the node with more of these is elected."""
        last = max(self.records, default=-1)
        return (self.records[last].epoch, last) if last >= 0 else (-1, -1)


def committed_records(said: Path, now: Path, end: int) -> list[ComparedAnswer]:
    """How many of the records below `end` are there, and each that is another one now.

    `said` and `now` hold a copy of each disk, before the cut and after the start.
    """
    before, after = newest_of(said), newest_of(now)
    first = max(before.start, after.start)
    offsets = range(first, end)
    if not offsets:
        return []
    other = [
        each
        for each in offsets
        if each not in before.records or before.records[each] != after.records.get(each)
    ]
    there = f"all {len(offsets)}"
    kept = there if not other else f"{len(offsets) - len(other)} of {len(offsets)}"
    return [
        _answer(f"metadata records {first} to {end - 1}", there, kept),
        *(_changed(each, before, after) for each in other),
    ]


def newest_of(copies: Path) -> StoredMetadata:
    """The metadata log that has most, of all disks; an empty one where there is none."""
    found = [stored_metadata(path) for path in sorted(copies.glob(f"*/*/{METADATA_LOG}"))]
    nothing = StoredMetadata(start=0, records={})
    return max(found, key=lambda each: each.newest, default=nothing)


def stored_metadata(directory: Path) -> StoredMetadata:
    """Up to the first batch that is damaged."""
    files = LogFiles(directory)
    records: dict[int, StoredMetadataRecord] = {}
    for _, data, scanned in files.segments():
        for batch in batches_of(data, scanned):
            try:
                found = list(read_records(batch)) if batch.crc_ok else None
            except DamagedError:
                found = None
            if found is None:
                return StoredMetadata(start=files.start, records=records)
            for record in found:
                records[record.offset] = StoredMetadataRecord(
                    epoch=batch.epoch, control=batch.control, record=record
                )
    return StoredMetadata(start=files.start, records=records)


def _changed(offset: int, before: StoredMetadata, after: StoredMetadata) -> ComparedAnswer:
    was, now = before.records.get(offset), after.records.get(offset)
    told = [each.told if each else NOTHING for each in (was, now)]
    return _answer(f"metadata record {offset}", *told)


def _answer(question: str, acknowledged: str, answered: str) -> ComparedAnswer:
    return ComparedAnswer(
        question=question,
        rests_on=(METADATA_LOG,),
        acknowledged=acknowledged,
        answered=answered,
        promised=True,
    )
