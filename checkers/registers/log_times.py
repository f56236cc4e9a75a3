"""The committed log of registers on the clients' time line: which state held when?

It is known when the operation that asked for a record began, and when it was answered. Later
records were appended later, so each record was written no earlier than the start of any operation
with a record before it, and no later than the answer of any with a record after it (`earliest` and
`latest`, events). Between two records of a register it had one state. A deletion has no value that
identifies its operation, so only its neighbours bound its time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from checkers.array_types import Ints
from checkers.evidence.evidence import Evidence
from checkers.registers.asked_for import NEVER, OpSpan, attempts
from checkers.registers.stored_records import StoredRecord, lost_records, stored_records
from checkers.registers.stored_values import whole_disks

BEFORE_ALL = -1  # an event
RegisterState = tuple[str, str | None]  # a register and its value; None: it has none


class Stretch(NamedTuple):
    """A register had one state from an event at the earliest to one at the latest."""

    offset: int  # of the record with which it began; -1 for the state before all
    state: RegisterState
    earliest: int
    latest: int
    outlived: bool  # it ended under another leader than it began


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTimes:
    """`records` in the order of the log; the other columns have one number for each."""

    records: Sequence[StoredRecord]
    begun: Ints  # of the operation that asked for it; BEFORE_ALL if several may have
    done: Ints  # NEVER if several may have, or none was answered
    earliest: Ints
    latest: Ints
    # The event up to which a register may have had any state, below the log's start.
    unknown_until: Mapping[str, int]
    stretches: Sequence[Stretch]  # by register, and within it in the order of the log
    complete: bool  # no disk that could not be read may hold more

    def may_be_below(self, key: str, begun: int) -> bool:
        """Whether a write that was asked for at that event may be below all that the log has."""
        return begun <= self.unknown_until.get(key, BEFORE_ALL)


def log_times(evidence: Evidence) -> LogTimes | None:
    """None if the committed log cannot be read."""
    log, snapshots = evidence.committed_log, evidence.first_snapshots
    if log is None and not snapshots:
        return None
    # Nothing may have been written since all snapshots were taken.
    node = log.node if log is not None else max(snapshots, key=lambda each: snapshots[each].end)
    voters = evidence.voters.newest
    complete = voters.count(evidence.once(whole_disks)) >= len(voters.keys)
    # A snapshot holds committed records, also on a disk without any record after it.
    ends = [each.end for each in snapshots.values()] + ([log.end] if log is not None else [])
    end = max(ends) if complete else NEVER
    stored = [each for each in evidence.once(stored_records) if each.node == node]
    mine = [each for each in stored if not each.in_snapshot and each.offset < end]
    mine += _on_lost_disks(evidence, mine[-1].offset if mine else -1)
    snapshot = snapshots.get(node)
    begins = log.batches[0].base if log is not None and log.batches else 0
    begins = begins or (snapshot.end if snapshot is not None else 0)
    image = None
    if snapshot is not None and snapshot.end == begins:
        image = {each.key: each.value for each in stored if each.in_snapshot}
    keys = [key for key in evidence.tables["ops"]["key"].unique().to_pylist() if key is not None]
    first_epoch = log.batches[0].epoch if log is not None and log.batches else 0
    return _timed(
        mine,
        first_epoch,
        evidence.once(attempts),
        keys,
        cut=begins > 0,
        image=image,
        complete=complete,
    )


def _on_lost_disks(evidence: Evidence, last: int) -> list[StoredRecord]:
    """The records on a lost disk above those on all disks that are left; of the disk that had the
    most."""
    if evidence.lost_majority is None:
        return []
    beyond: dict[object, list[StoredRecord]] = {}
    for replica, record in evidence.once(lost_records):
        if record.offset > last:
            beyond.setdefault(replica, []).append(record)
    return max(beyond.values(), key=lambda records: records[-1].offset, default=[])


def _timed(
    records: Sequence[StoredRecord],
    first_epoch: int,
    asked: Mapping[RegisterState, Sequence[OpSpan]],
    keys: Sequence[str],
    *,
    cut: bool,
    image: Mapping[str, str | None] | None,
    complete: bool,
) -> LogTimes:
    times: dict[RegisterState, int] = {}
    for record in records:
        times[record.key, record.value] = times.get((record.key, record.value), 0) + 1
    spans = [_span(each, asked, times) for each in records]
    begun = np.array([span.begun for span in spans], np.int64)
    done = np.array([span.done for span in spans], np.int64)
    earliest = np.maximum.accumulate(begun) if len(begun) else begun
    latest = np.minimum.accumulate(done[::-1])[::-1] if len(done) else done
    stretches, unknown = _stretches(
        records, first_epoch, earliest.tolist(), latest.tolist(), asked, keys, cut=cut, image=image
    )
    return LogTimes(
        records=records,
        begun=begun,
        done=done,
        earliest=earliest,
        latest=latest,
        unknown_until=unknown,
        stretches=stretches,
        complete=complete,
    )


def _span(
    record: StoredRecord,
    asked: Mapping[RegisterState, Sequence[OpSpan]],
    times: Mapping[RegisterState, int],
) -> OpSpan:
    """The time of the operation that asked for a record, as far as it is known which one did."""
    state = (record.key, record.value)
    known = asked.get(state, ())
    if record.value is None or not known:
        return OpSpan(BEFORE_ALL, NEVER)
    if len(known) == 1 == times[state]:
        return known[0]
    return OpSpan(min(each.begun for each in known), NEVER)


def _stretches(
    records: Sequence[StoredRecord],
    first_epoch: int,
    earliest: Sequence[int],
    latest: Sequence[int],
    asked: Mapping[RegisterState, Sequence[OpSpan]],
    keys: Sequence[str],
    *,
    cut: bool,
    image: Mapping[str, str | None] | None,
) -> tuple[list[Stretch], dict[str, int]]:
    """And the event up to which the state of a register may have been any."""
    rows: dict[str, list[int]] = {}
    for row, record in enumerate(records):
        rows.setdefault(record.key, []).append(row)
    found: list[Stretch] = []
    unknown: dict[str, int] = {}
    begins = latest[0] if latest else NEVER
    for key in sorted(rows.keys() | set(image or ()) | set(keys)):
        own = rows.get(key, [])
        until = latest[own[0]] if own else NEVER
        outlived = bool(own) and records[own[0]].epoch > first_epoch
        if not cut:
            found.append(Stretch(-1, (key, None), BEFORE_ALL, until, outlived))
        elif image is None:
            unknown[key] = until
        else:
            value = image.get(key)
            known = asked.get((key, value), ()) if value is not None else ()
            began = min((each.begun for each in known), default=BEFORE_ALL)
            unknown[key] = min(begins, known[0].done if len(known) == 1 else NEVER)
            found.append(Stretch(-1, (key, value), began, until, outlived))
        for row, after in zip_longest(own, own[1:]):
            ends = NEVER if after is None else latest[after]
            record = records[row]
            outlived = after is not None and records[after].epoch > record.epoch
            state = (key, record.value)
            found.append(Stretch(record.offset, state, earliest[row], ends, outlived))
    return found, unknown


def stretches_without(times: LogTimes, below: int) -> Mapping[str, Sequence[Stretch]]:
    """By register, when it had no value; by the records below this offset."""
    found: dict[str, list[Stretch]] = {}
    for each in times.stretches:
        if each.state[1] is None and each.offset < below:
            found.setdefault(each.state[0], []).append(each)
    return found


def deletions(times: LogTimes) -> Iterator[tuple[str, Sequence[int]]]:
    """Each register that was deleted, with the rows of its deletions."""
    found: dict[str, list[int]] = {}
    for row, record in enumerate(times.records):
        if record.value is None:
            found.setdefault(record.key, []).append(row)
    yield from found.items()
