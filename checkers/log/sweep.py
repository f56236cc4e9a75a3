"""Runs all kernels over one history, with the simpler kernels: losses, conflicts of offsets,
reads.

The high watermarks in answers to polls, against each other and against the records in them.

Only if they were recorded. A leader's high watermark never goes back, and no record at or above it
is given to a consumer (P13). Another leader may begin with a lower one, which it learned late, so
two answers contradict each other only if one leader gave both. A leader that is cut off goes on
appending in its epoch, and its records stay if it is elected again later (KIP-966), whatever
another one answered meanwhile: only a record that the same broker got later tells that it led.
"""

from collections.abc import Iterator

import numpy as np

from checkers.array_types import Codes, Flags, Ints
from checkers.history.calls import Outcome
from checkers.log.anomalies import Anomaly, Cases, Isolation, cases, in_order
from checkers.log.arrays import CORRUPT, NONE, Acks, LogArrays
from checkers.log.cycles import cycles
from checkers.log.dependencies import UNKNOWN, Entries, VersionOrder, version_order
from checkers.log.positions import ends, positions, realtime

_NEVER = np.iinfo(np.int64).max
_FEW = 1 << 16  # up to so many tracks, no search for the existing ones is needed


def high_watermarks(log: LogArrays) -> Iterator[Cases]:
    """poll-past-high-watermark: a consumer was given an uncommitted record.

    nonmonotonic-high-watermark: a leader answered with a lower one than before, in one epoch.
    """
    yield _past(log)
    yield _back(log)


def _past(log: LogArrays) -> Cases:
    """A record at offset o, in an answer that came at the event c, was not committed if

    - no answer in the whole history has a high watermark above o; or
    - none that may have been given by then does, and a later one of the same leader contradicts it.

    *By then* are the answers to all polls that were invoked before c: one that was under way may
    have left the broker first, though it came later. An answer's own high watermark is no measure:
    a broker reads its high watermark before it reads records, and sends what was committed in
    between (`Partition.fetchRecords`). So another answer has to say that o was not committed: to a
    poll that was invoked after c, with a high watermark of o or less. Its leader is the same if no
    client heard of a higher leader epoch than that of the record, or if the same broker answered,
    and a record that was sent to it afterwards got that very epoch.
    """
    answers, polled = log.answers, log.polled
    above = np.flatnonzero(polled.offset[answers.row] >= answers.high_watermark)
    row = answers.row[above]
    key, offset = polled.key[row], polled.offset[row]
    at_all, by_then = _told(log, above)
    past = offset >= by_then
    early = np.flatnonzero(past & (offset < at_all))
    past[early] = _contradicted(log, above[early])
    return cases(
        Anomaly.PAST_HIGH_WATERMARK,
        key[past],
        other=polled.op[row[past]],
        one_offset=by_then[past],
        other_offset=offset[past],
        other_value=polled.value[row[past]],
    )


def _told(log: LogArrays, chosen: Ints) -> tuple[Ints, Ints]:
    """By chosen answer: the highest high watermark in any answer about its log, and in those by
    then."""
    answers, polled = log.answers, log.polled
    if not len(chosen):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    key = polled.key[answers.row]
    at_all = np.full(len(log.keys), -1, np.int64)
    np.maximum.at(at_all, key, answers.high_watermark)
    invoke = log.ops.invoke[polled.op[answers.row]]
    came = log.ops.complete[polled.op[answers.row[chosen]]]
    by_then = np.empty(len(chosen), np.int64)
    for each in np.unique(key[chosen]).tolist():
        here, asked = np.flatnonzero(key == each), np.flatnonzero(key[chosen] == each)
        here = here[np.argsort(invoke[here], kind="stable")]
        highest = np.maximum.accumulate(answers.high_watermark[here])
        # At least its own: it was invoked before it came.
        by_then[asked] = highest[np.searchsorted(invoke[here], came[asked]) - 1]
    return at_all[key[chosen]], by_then


def _contradicted(log: LogArrays, chosen: Ints) -> Flags:
    """By chosen answer: whether its own leader answered later that its records are not
    committed."""
    if not len(chosen):
        return np.zeros(0, np.bool_)
    answers, ops = log.answers, log.ops
    op, key = log.polled.op[answers.row], log.polled.key[answers.row]
    offset = log.polled.offset[answers.row[chosen]]
    node = ops.node_of(op)
    track, until = _led_until(log)
    contradicted = np.zeros(len(chosen), np.bool_)
    for each in np.unique(track[chosen]).tolist():
        asked = np.flatnonzero(track[chosen] == each)
        one = chosen[asked[0]]
        same = (key == key[one]) & ((node == node[one]) | (until[each] == _NEVER))
        here = np.flatnonzero(same & (ops.complete[op] < until[each]))
        here = here[np.argsort(ops.invoke[op[here]], kind="stable")]
        lowest = np.minimum.accumulate(answers.high_watermark[here][::-1])[::-1]
        came = ops.complete[op[chosen[asked]]]
        after = np.searchsorted(ops.invoke[op[here]], came)
        contradicted[asked] = np.append(lowest, _NEVER)[after] <= offset[asked]
    return contradicted


def _led_until(log: LogArrays) -> tuple[Ints, Ints]:
    """The track of each answer: its key, its leader epoch and the broker that gave it. And by track
    the event up to which that broker surely led in that epoch.

    Up to the last invocation of a send to it that got the epoch. For ever, if no client heard of a
    higher epoch. Unknown epochs and brokers never.
    """
    answers, polled = log.answers, log.polled
    key = polled.key[answers.row]
    track, until = _sent_later(log, np.arange(len(answers.row)))
    newest = log.epochs.copy()
    np.maximum.at(newest, key, answers.epoch)
    last = (answers.epoch >= 0) & (answers.epoch == newest[key])
    until[track[last]] = _NEVER
    return track, until


def _sent_later(log: LogArrays, chosen: Ints) -> tuple[Ints, Ints]:
    """The tracks of chosen answers, and by track the last invocation of a send to that broker that
    got that epoch; -1 if none is known."""
    answers, polled, ops = log.answers, log.polled, log.ops
    row = answers.row[chosen]
    key, epoch, code = polled.key[row], answers.epoch[chosen], polled.value[row]
    known = np.flatnonzero((epoch >= 0) & (code >= 0) & (code < len(log.sent)))
    send = log.sent.op[code[known]]
    known, send = known[ops.node_of(send) >= 0], send[ops.node_of(send) >= 0]
    tracks = _tracks(
        np.append(key, key[known]),
        np.append(epoch, epoch[known]),
        np.append(ops.node_of(polled.op[row]), ops.node_of(send)),
    )
    latest = np.full(int(tracks.max(initial=-1)) + 1, -1, np.int64)
    np.maximum.at(latest, tracks[len(row) :], ops.invoke[send])
    return tracks[: len(row)], latest


def _back(log: LogArrays) -> Cases:
    """A high watermark that went back, as far as clients can see it.

    An answer has the epoch of a batch, and its sender may lead in a later one. But if a record that
    was sent to the same broker after the answer got that same epoch and was polled, that broker led
    in that epoch by then.
    """
    row, track = _of_certain_epoch(log)
    answers, polled = log.answers, log.polled
    last = answers.row[row]
    op, level = polled.op[last], answers.high_watermark[row]
    before = _highest_before(track, log.ops.complete[op], level, log.ops.invoke[op])
    back = before >= 0
    one, other = before[back], np.flatnonzero(back)
    return cases(
        Anomaly.HIGH_WATERMARK_BACK,
        polled.key[last[other]],
        one=op[one],
        other=op[other],
        one_offset=level[one],
        other_offset=level[other],
    )


def _of_certain_epoch(log: LogArrays) -> tuple[Ints, Ints]:
    """Rows of answers, the last of each operation on a key, with a sender that led in their epoch;
    and their tracks."""
    answers, ops = log.answers, log.ops
    last = ends(log.polled.op[answers.row], log.polled.key[answers.row])
    op = log.polled.op[answers.row[last]]
    last, op = last[ops.outcome[op] == Outcome.OK], op[ops.outcome[op] == Outcome.OK]
    track, latest = _sent_later(log, last)
    certain = (answers.epoch[last] >= 0) & (ops.complete[op] < latest[track])
    return last[certain], track[certain]


def _tracks(key: Codes, epoch: Codes, node: Codes) -> Ints:
    """A small number for each key with an epoch and a broker."""
    brokers, epochs = int(node.max(initial=-1)) + 2, int(epoch.max(initial=-1)) + 2
    at = key.astype(np.int64) * brokers + node + 1
    if epochs * (int(at.max(initial=-1)) + 1) <= _FEW:
        return at * epochs + epoch + 1
    pairs = at << 32 | (epoch.astype(np.int64) + 1)
    tracks: Ints = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return tracks


def _highest_before(track: Ints, complete: Ints, level: Ints, invoke: Ints) -> Ints:
    """For each answer, the one with the highest level of its track that came before it began.

    -1 if there is none, or if it is no higher.
    """
    found = np.full(len(track), -1, np.int64)
    if not len(track):
        return found
    # Answers come nearly in order, and tracks are few: two sorts that hardly move anything.
    sort = np.argsort(complete, kind="stable")
    few = int(track.max()) < _FEW
    sort = sort[np.argsort(track[sort].astype(np.uint16 if few else np.int64), kind="stable")]
    height = track[sort] * (1 + int(level.max())) + level[sort]
    highest = np.maximum.accumulate(height)
    lower = np.flatnonzero(height < highest)  # than one of its track that came before it came
    if not len(lower):
        return found
    holder = np.maximum.accumulate(np.where(height == highest, np.arange(len(sort)), 0))
    span = 1 + int(complete.max())
    asked = sort[lower]
    moment = track[sort] * span + complete[sort]
    place = np.searchsorted(moment, track[asked] * span + invoke[asked]) - 1
    before = sort[holder[place]]
    is_before = (place >= 0) & (track[before] == track[asked]) & (level[before] > level[asked])
    found[asked[is_before]] = before[is_before]
    return found


# Acknowledged records that were never polled, by Jepsen's two definitions. They use polls only.
#
# The disks decide whether a record is lost or late: see `fates`.


def losses(log: LogArrays, order: VersionOrder) -> Iterator[Cases]:
    """lost-write: it must have happened, a consumer polled past it, and none polled it.

    unseen: acknowledged, never polled, and not even shown to be lost.
    """
    bound = _bound(log, order)
    rank = order.last_rank[: len(log.sent)]
    unread = ~order.read[: len(log.sent)]
    lost = unread & order.committed & (rank != UNKNOWN) & (rank <= bound[log.sent.key])
    codes = np.flatnonzero(lost).astype(np.int32)
    past = _reader_past(log, order, bound)[log.sent.key[codes]]
    yield cases(
        Anomaly.LOST_WRITE,
        log.sent.key[codes],
        one=log.sent.op[codes],
        other=log.polled.op[past],
        one_offset=log.sent.offset[codes],
        other_offset=log.polled.offset[past],
        one_value=codes,
        other_value=log.polled.value[past],
    )
    acknowledged = (log.ops.outcome[log.sent.op] == Outcome.OK) & (log.sent.acks == Acks.ALL)
    codes = np.flatnonzero(unread & acknowledged & ~lost).astype(np.int32)
    yield cases(
        Anomaly.UNSEEN,
        log.sent.key[codes],
        other=log.sent.op[codes],
        other_offset=log.sent.offset[codes],
        other_value=codes,
    )


def _bound(log: LogArrays, order: VersionOrder) -> Ints:
    """By key: the highest of the first ranks of all values read; every value below it had to be
    seen."""
    bound = np.full(len(log.keys), NONE, np.int64)
    good = np.flatnonzero(log.ops.outcome[log.polled.op] == Outcome.OK)
    good = good[order.polled_rank[good] != UNKNOWN]
    np.maximum.at(bound, log.polled.key[good], order.first_rank[log.polled.value[good]])
    return bound


def _reader_past(log: LogArrays, order: VersionOrder, bound: Ints) -> Codes:
    """By key: a row of `PolledRecords` that read the value at the bound."""
    reader = np.zeros(len(log.keys), np.int32)
    ok = log.ops.outcome[log.polled.op] == Outcome.OK
    at_bound = np.flatnonzero(ok & (order.polled_rank == bound[log.polled.key]))
    reader[log.polled.key[at_bound]] = at_bound
    return reader


# One offset, one record: which record is at which offset, and which operations contradict it.


def offset_conflicts(log: LogArrays, order: VersionOrder) -> Iterator[Cases]:
    """inconsistent-offsets: an offset holds two values. duplicate: a value is at two offsets."""
    entries = order.entries
    told_first = order.first_at[entries.slot]
    differ = np.flatnonzero(entries.value[told_first] != entries.value)
    yield _pairs(entries, Anomaly.INCONSISTENT_OFFSETS, *_firsts(entries.slot, differ, told_first))
    seen_first = np.empty(log.values, np.int32)
    rows = np.arange(len(entries.value), dtype=np.int32)
    seen_first[entries.value[::-1]] = rows[::-1]
    before = seen_first[entries.value]
    moved = np.flatnonzero(entries.slot[before] != entries.slot)
    yield _pairs(entries, Anomaly.DUPLICATE, *_firsts(entries.value, moved, before))


def _firsts(group: Ints | Codes, rows: Ints, before: Codes) -> tuple[Codes, Codes]:
    """One case per place or value: the first of `rows`, and the entry that it contradicts."""
    chosen = rows[np.unique(group[rows], return_index=True)[1]]
    chosen.sort()
    return before[chosen], chosen.astype(np.int32)


def _pairs(entries: Entries, anomaly: Anomaly, one: Codes, other: Codes) -> Cases:
    return cases(
        anomaly,
        entries.key[one],
        one=entries.op[one],
        other=entries.op[other],
        one_offset=entries.offset[one],
        other_offset=entries.offset[other],
        one_value=entries.value[one],
        other_value=entries.value[other],
    )


# What a poll returned, against what was sent.


def reads(log: LogArrays) -> Iterator[Cases]:
    """corrupt, phantom: no client sent it. G1a: its send failed. future-read: it was sent only
    later.

    precommitted-read: a transaction polls its own record before any consumer may see it.
    """
    polled, sent = log.polled, log.sent
    value = polled.value
    yield _alone(log, Anomaly.CORRUPT, value == CORRUPT)
    yield _alone(log, Anomaly.PHANTOM, value >= len(sent))
    rows = np.flatnonzero((value != CORRUPT) & (value < len(sent)))
    writer = sent.op[value[rows]]
    reader = polled.op[rows]
    ok = log.ops.outcome[reader] == Outcome.OK
    aborted = ok & (log.ops.outcome[writer] == Outcome.FAIL)
    yield _with_writer(log, Anomaly.G1A, rows, writer, aborted)
    early = log.ops.complete[reader] < log.ops.invoke[writer]
    yield _with_writer(log, Anomaly.FUTURE_READ, rows, writer, early)
    yield _with_writer(log, Anomaly.PRECOMMITTED_READ, rows, writer, reader == writer)


def _alone(log: LogArrays, anomaly: Anomaly, chosen: Flags) -> Cases:
    polled = log.polled
    return cases(
        anomaly,
        polled.key[chosen],
        other=polled.op[chosen],
        other_offset=polled.offset[chosen],
        other_value=polled.value[chosen],
    )


def _with_writer(
    log: LogArrays, anomaly: Anomaly, rows: np.ndarray, writer: Codes, chosen: Flags
) -> Cases:
    polled, row = log.polled, rows[chosen]
    return cases(
        anomaly,
        polled.key[row],
        one=writer[chosen],
        other=polled.op[row],
        other_offset=polled.offset[row],
        one_value=polled.value[row],
        other_value=polled.value[row],
    )


ALGORITHM = "version order from offsets, then one pass of array operations for each anomaly"


def sweep(log: LogArrays, isolation: Isolation) -> tuple[VersionOrder, list[Cases]]:
    """Every anomaly that has cases, whether it fails a test or not, except those that nothing
    forbids: rw dependencies are only looked at if the isolation asks for it."""
    order = version_order(log)
    found = in_order(
        [
            *reads(log),
            *offset_conflicts(log, order),
            *losses(log, order),
            *realtime(log, order),
            *high_watermarks(log),
            *positions(log, order),
            *cycles(log, order, anti=isolation.anti),
        ]
    )
    return order, found
