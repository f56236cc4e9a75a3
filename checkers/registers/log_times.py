"""The committed log of registers against the time of clients: what held when?

Of a record it is known when the operation began that asked for it, and when it was answered. What
stands behind it was appended later, so each record was written no earlier than any operation began
whose record stands before it, and no later than any was answered whose record stands behind it
(`earliest` and `latest`, events). Between two records of a register it had one state. A deletion
has no value that tells whose it is, so only its neighbours tell when it was.
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

    offset: int  # of the record with which it began; -1 of what was before all
    state: RegisterState
    earliest: int
    latest: int
    outlived: bool  # another led when it ended than when it began


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTimes:
    """`records` in the order of the log, with a number each in all other columns."""

    records: Sequence[StoredRecord]
    begun: Ints  # of the operation that asked for it; BEFORE_ALL where several may have
    done: Ints  # NEVER where several may have, or none was answered
    earliest: Ints
    latest: Ints
    # Up to which event a register may have had any state, below where the log begins.
    unknown_until: Mapping[str, int]
    stretches: Sequence[Stretch]  # by register, and within it in the order of the log
    complete: bool  # no disk that could not be read may hold more

    def may_be_below(self, key: str, begun: int) -> bool:
        """Whether what was asked for at that event may stand before all that the log tells."""
        return begun <= self.unknown_until.get(key, BEFORE_ALL)


def log_times(evidence: Evidence) -> LogTimes | None:
    """None where the committed log cannot be read."""
    log, snapshots = evidence.committed_log, evidence.first_snapshots
    if log is None and not snapshots:
        return None
    # Nothing may have been written since all snapshots were taken.
    node = log.node if log is not None else max(snapshots, key=lambda each: snapshots[each].end)
    voters = evidence.voters.newest
    complete = voters.count(evidence.once(whole_disks)) >= len(voters.keys)
    # A snapshot is of what is committed, also on a disk that has nothing behind it.
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
    """What lay on one of the disks that were lost, behind all that is on one that is left; of that
    which had the most."""
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
    """Of whatever asked for a record, as far as it is known what did."""
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
    """Also up to which event the state of a register may have been any."""
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
    """By register, when it had no value; by what stands below this offset."""
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
