"""The high watermarks in answers to polls, against each other and against the records in them.

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
from checkers.log.anomalies import Anomaly, Cases, cases
from checkers.log.arrays import LogArrays
from checkers.log.positions import ends

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
