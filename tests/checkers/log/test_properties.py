"""Random histories of a log that keeps its promises are valid; what is planted in them is found."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.history.sealed_run import Run
from checkers.log.checks import log_offsets, log_polls, log_sends
from checkers.log.durability import log_durability, log_final_reads
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import Row
from tests.support.logs import LogRun
from tests.support.simulated_log import SimulatedLog

CHECKS = (log_offsets, log_polls, log_sends, log_durability, log_final_reads)
Check = Callable[[Run], CheckResult | None]
STEPS = 600
SEEDS = st.integers(0, 1 << 32)


@settings(max_examples=60)
@given(seed=SEEDS, steps=st.integers(0, 400))
def test_a_log_that_keeps_its_promises(seed: int, steps: int) -> None:
    run = SimulatedLog(random.Random(seed)).live(steps).run()
    for check in CHECKS:
        result = check(run)
        if result is not None and (steps > 100 or result.looked_at):
            assert result.verdict is Verdict.VALID, result.message


@settings(max_examples=10)
@given(seed=SEEDS)
def test_offsets_and_values_far_apart_are_judged_alike(seed: int) -> None:
    """Where tables would be too large, places are found by sorting."""
    near = SimulatedLog(random.Random(seed)).live(STEPS)
    again(near, random.Random(seed))
    found = [check(near.run()) for check in CHECKS]
    for span in near.spans:
        value = int(str(span["value"]))
        span["value"] = (value >> 32 << 32) + (value & 0xFFFF) * 50_000
        for name in ("offset", "high_watermark"):
            if span.get(name) is not None:
                span[name] = int(str(span[name])) * 1_000_000
    far = [check(near.run()) for check in CHECKS]
    assert [one and (one.verdict, one.count) for one in far] == [
        one and (one.verdict, one.count) for one in found
    ]


def final_polls(log: LogRun, key: str = "t-0") -> list[list[Row]]:
    """The spans of each final poll of a key that was given any."""
    ops = {row["op_id"] for row in log.ops if row["phase"] == "final" and row["key"] == key}
    spans: dict[object, list[Row]] = {}
    for span in log.spans:
        if span["op_id"] in ops:
            spans.setdefault(span["op_id"], []).append(span)
    return list(spans.values())


def sender_of(log: LogRun, value: object) -> Row:
    op_id = next(span["op_id"] for span in log.spans if span["sent"] and span["value"] == value)
    return next(row for row in log.ops if row["op_id"] == op_id)


def drop(log: LogRun, spans: list[Row]) -> None:
    log.spans = [span for span in log.spans if all(span is not gone for gone in spans)]


def any_record(log: LogRun, rng: random.Random) -> Row:
    return rng.choice(rng.choice(final_polls(log)))


def acknowledged(log: LogRun, rng: random.Random) -> Row:
    """A record of a final read that was acknowledged, and is not the last."""
    polls = [span for poll in final_polls(log) for span in poll][:-1]
    return rng.choice([one for one in polls if sender_of(log, one["value"])["outcome"] == "ok"])


def lost(log: LogRun, rng: random.Random) -> None:
    drop(log, [acknowledged(log, rng)])


def damaged(log: LogRun, rng: random.Random) -> None:
    any_record(log, rng)["value"] = -1


def made_up(log: LogRun, rng: random.Random) -> None:
    any_record(log, rng)["value"] = 77 << 32


def aborted(log: LogRun, rng: random.Random) -> None:
    sender_of(log, any_record(log, rng)["value"])["outcome"] = "fail"


def sent_later(log: LogRun, rng: random.Random) -> None:
    row = sender_of(log, any_record(log, rng)["value"])
    row |= {"invoke_index": log.events, "complete_index": log.events + 1}


def another_value(log: LogRun, rng: random.Random) -> None:
    """A poll is given, at an offset that others have seen, what stands elsewhere."""
    first, second = rng.sample(final_polls(log), 2)
    first[0]["value"] = second[0]["value"]


def moved(log: LogRun, rng: random.Random) -> None:
    one, two = acknowledged(log, rng), acknowledged(log, rng)
    if one is two:
        one = next(span for poll in final_polls(log) for span in poll if span is not two)
    one["value"] = two["value"]


def skipped(log: LogRun, rng: random.Random) -> None:
    """A poll whose records were acknowledged: others may never have been there to skip."""
    sure = [
        poll
        for poll in final_polls(log)[1:-1]
        if any(sender_of(log, span["value"])["outcome"] == "ok" for span in poll)
    ]
    drop(log, rng.choice(sure))


def again(log: LogRun, rng: random.Random) -> None:
    """Two polls in a row are given the same."""
    polls = final_polls(log)
    at = rng.randrange(len(polls) - 1)
    for span in polls[at + 1][1:]:
        drop(log, [span])
    polls[at + 1][0] |= {name: polls[at][0][name] for name in ("offset", "value")}


def skipped_inside(log: LogRun, rng: random.Random) -> None:
    polls = [poll for poll in final_polls(log) if len(poll) > 2]
    middles = [poll[1] for poll in polls if sender_of(log, poll[1]["value"])["outcome"] == "ok"]
    drop(log, [rng.choice(middles)])


def turned_round(log: LogRun, rng: random.Random) -> None:
    poll = rng.choice([poll for poll in final_polls(log) if len(poll) > 1])
    places = [{name: span[name] for name in ("offset", "value")} for span in poll]
    for span, place in zip(poll, reversed(places), strict=True):
        span |= place


def uncommitted(log: LogRun, rng: random.Random) -> None:
    """What was polled highest is above all that anybody was told was committed."""
    key = any_record(log, rng)["key"]
    polled = [each for each in log.spans if each["key"] == key and not each["sent"]]
    last = max(int(str(each["offset"])) for each in polled)
    for each in polled:
        each["high_watermark"] = min(last, int(str(each["high_watermark"])))


def not_yet_committed(log: LogRun, rng: random.Random) -> None:
    """Somebody is given what its leader says is not committed, and says so to the next one too."""
    last = final_polls(log)[-1][-1]
    offset, epoch = int(str(last["offset"])), int(str(last["epoch"])) + 1
    first, second = 4000 << 32, 4000 << 32 | 1
    log.send(first, offset + 1)
    log.send(second, offset + 2)
    polled = [(offset + 1, first), (offset + 2, second)] + [(offset + 1, first)] * rng.randint(1, 3)
    for number, place in enumerate(polled):
        process = 3000 + number
        log.poll(place, process=process, epoch=epoch, high_watermark=offset + 2)
    log.poll((offset + 2, second), process=3009, epoch=epoch, high_watermark=offset + 3)


def watermark_back(log: LogRun, rng: random.Random) -> None:
    """Told to two consumers, one after the other; then something is sent in the same epoch."""
    last = final_polls(log)[-1][-1]
    offset, epoch = int(str(last["offset"])), int(str(last["epoch"]))
    high_watermark = 900 + rng.randrange(9)
    place = (offset, int(str(last["value"])))
    log.poll(place, process=3000, epoch=epoch, high_watermark=high_watermark)
    log.poll(place, process=3001, epoch=epoch, high_watermark=high_watermark - 1)
    value = 4000 << 32
    log.send(value, offset + 1)
    log.poll((offset + 1, value), process=3002, epoch=epoch, high_watermark=high_watermark)


def sent_after_its_successors(log: LogRun, rng: random.Random) -> None:
    row = sender_of(log, acknowledged(log, rng)["value"])
    row |= {"invoke_index": log.events, "complete_index": log.events + 1}


def sent_backwards(log: LogRun, rng: random.Random) -> None:
    """Two acknowledgements that one producer got, one after the other, are exchanged."""
    last: dict[tuple[object, object], Row] = {}
    ops = {row["op_id"]: row for row in log.ops}
    pairs = []
    for span in log.spans:
        op = ops[span["op_id"]]
        if span["sent"] and op["outcome"] != "fail":
            track = (op["process"], span["key"])
            before = last.get(track)
            if before is not None and before["offset"] is not None and span["offset"] is not None:
                pairs.append((before, span))
            last[track] = span
    one, two = rng.choice(pairs)
    one["offset"], two["offset"] = two["offset"], one["offset"]


PLANTED: list[tuple[str, Check, Callable[[LogRun, random.Random], None]]] = [
    ("lost", log_durability, lost),
    ("corrupt", log_polls, damaged),
    ("phantom", log_polls, made_up),
    ("G1a", log_polls, aborted),
    ("future-read", log_polls, sent_later),
    ("inconsistent-offsets", log_offsets, moved),
    ("duplicate", log_offsets, another_value),
    ("poll-skip", log_polls, skipped),
    ("nonmonotonic-poll", log_polls, again),
    ("int-poll-skip", log_polls, skipped_inside),
    ("int-nonmonotonic-poll", log_polls, turned_round),
    ("poll-past-high-watermark", log_polls, uncommitted),
    ("poll-past-high-watermark", log_polls, not_yet_committed),
    ("nonmonotonic-high-watermark", log_polls, watermark_back),
    ("nonmonotonic-send", log_sends, sent_backwards),
    ("nonmonotonic-send-realtime", log_sends, sent_after_its_successors),
]


@pytest.mark.parametrize(
    ("name", "check", "plant"), PLANTED, ids=[one[2].__name__ for one in PLANTED]
)
@settings(max_examples=10)
@given(seed=SEEDS)
def test_what_is_planted_is_found(
    name: str, check: Check, plant: Callable[[LogRun, random.Random], None], seed: int
) -> None:
    rng = random.Random(seed)
    log = SimulatedLog(rng).live(STEPS)
    plant(log, rng)
    result = check(log.run())
    assert result is not None
    assert result.verdict is Verdict.INVALID, (name, result.message)
    assert int(str(result.facts[name])) > 0
    assert 0 < len(result.witness) <= 20
