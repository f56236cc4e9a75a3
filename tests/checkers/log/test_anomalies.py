"""One smallest history for each anomaly, and beside it a legal one that must pass."""

from collections.abc import Callable

import pytest

from checkers.history.sealed_run import Run
from checkers.log.checks import log_offsets, log_polls, log_sends
from checkers.verdict import CheckResult, Verdict
from tests.support.logs import LogStory

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
Check = Callable[[Run], CheckResult | None]
Told = Callable[[LogStory], object]
OTHER = 1 << 32  # the first value of process 1


def ended(story: LogStory, *tellings: Told) -> Run:
    for tell in tellings:
        tell(story)
    return story.run()


def three(s: LogStory) -> None:
    """Records 1, 2 and 3 at the offsets 0, 1 and 2, read by somebody."""
    for number in (1, 2, 3):
        s.send(number, number - 1)
    s.poll((0, 1), (1, 2), (2, 3), process=60)


def aborted_read(s: LogStory) -> None:
    s.send(1, None, outcome="fail")
    s.poll((0, 1))


def read_of_an_unknown_send(s: LogStory) -> None:
    s.send(1, None, outcome="info")
    s.poll((0, 1))


def aborted_read_in_a_failed_poll(s: LogStory) -> None:
    s.send(1, None, outcome="fail")
    s.poll((0, 1), outcome="fail")


def future_read(s: LogStory) -> None:
    s.poll((0, 1))
    s.send(1, 0)


def read_while_it_is_sent(s: LogStory) -> None:
    poll = s.begin("poll", 50)
    send = s.begin("send", 0)
    s.sent(send, 1, 0)
    s.polled(poll, [(0, 1)])
    s.end(poll)
    s.end(send)


def damaged(s: LogStory) -> None:
    s.send(1, 0)
    s.poll((0, -1))


def phantom(s: LogStory) -> None:
    s.send(1, 0)
    s.poll((0, 1), (1, 2))


def of_another_partition(s: LogStory) -> None:
    s.send(1, 0, key="t-1")
    s.poll((0, 1))


def read_of_what_was_sent(s: LogStory) -> None:
    s.send(1, 0)
    s.poll((0, 1))


def past_high_watermark(s: LogStory) -> None:
    s.send(1, 0)
    s.poll((0, 1), high_watermark=0)


def below_high_watermark(s: LogStory) -> None:
    """By another's word: the first answer's was a moment older than what it brought."""
    s.send(1, 0)
    s.poll((0, 1), high_watermark=0)
    s.poll((0, 1), process=51, high_watermark=1)


def committed_later(s: LogStory) -> None:
    """Offset 1 is shown when all that anybody was told is 1, and others are told 1 afterwards."""
    s.send(1, 0)
    s.send(2, 1)
    s.poll((0, 1), high_watermark=1)
    s.poll((1, 2), process=51, high_watermark=1)
    s.poll((0, 1), process=52, high_watermark=1)
    s.poll((0, 1), (1, 2), process=53, high_watermark=2)


def committed_later_by_a_leader_that_still_leads(s: LogStory) -> None:
    """A later epoch is known of, but record 3 got epoch 0 after the answer that contradicts."""
    committed_later(s)
    s.send(3, 2)
    s.send(4, 3)
    s.poll((2, 3), process=54, high_watermark=3)
    s.poll((3, 4), process=55, epoch=1, high_watermark=4)


def committed_while_it_was_fetched(s: LogStory) -> None:
    """Nobody had been told of a high watermark of 2, but whoever asks next is."""
    s.send(1, 0)
    s.send(2, 1)
    s.poll((1, 2), process=51, high_watermark=1)
    s.poll((0, 1), process=52, high_watermark=2)


def committed_by_the_word_of_an_answer_under_way(s: LogStory) -> None:
    """It left its broker before the answer that shows offset 1, perhaps, and came after it.

    Whoever asks next is told less by a leader that was slow to learn, which is another promise.
    """
    s.send(1, 0)
    s.send(2, 1)
    slow = s.begin("poll", 50)
    s.poll((1, 2), process=51, high_watermark=1)
    s.polled(slow, [(0, 1)], high_watermark=2)
    s.end(slow)
    s.poll((0, 1), process=52, high_watermark=1)


def committed_under_the_leader_before(s: LogStory) -> None:
    """The one that says 1 afterwards may be another, which learns the high watermark late."""
    committed_later(s)
    s.send(3, 2)
    s.poll((2, 3), process=54, epoch=1, high_watermark=3)


def committed_under_the_leader_before_a_probe(s: LogStory) -> None:
    committed_later(s)
    s.probe(2, 3, epoch=1)


def high_watermark_back(s: LogStory) -> None:
    """The later send was given epoch 3 too: nobody else led in between."""
    s.send(1, 0)
    s.poll((0, 1), epoch=3, high_watermark=5)
    s.poll((0, 1), process=51, epoch=3, high_watermark=4)
    s.send(2, 1)
    s.poll((1, 2), process=52, epoch=3, high_watermark=5)


def high_watermark_back_under_another_leader(s: LogStory) -> None:
    s.send(1, 0)
    s.poll((0, 1), epoch=3, high_watermark=5)
    s.poll((0, 1), process=51, epoch=3, high_watermark=4)
    s.send(2, 1)
    s.poll((1, 2), process=52, epoch=4, high_watermark=5)


def high_watermarks_side_by_side(s: LogStory) -> None:
    s.send(1, 0)
    first, second = s.begin("poll", 50), s.begin("poll", 51)
    s.polled(first, [(0, 1)], epoch=3, high_watermark=5)
    s.polled(second, [(0, 1)], epoch=3, high_watermark=4)
    s.end(first)
    s.end(second)
    s.send(2, 1)
    s.poll((1, 2), process=52, epoch=3, high_watermark=5)


def poll_skip(s: LogStory) -> None:
    three(s)
    s.poll((0, 1))
    s.poll((2, 3))


def poll_over_a_gap(s: LogStory) -> None:
    """Nobody knows of anything at offset 1."""
    s.send(1, 0)
    s.send(3, 2)
    s.poll((0, 1))
    s.poll((2, 3))


def poll_after_an_assign(s: LogStory) -> None:
    three(s)
    s.poll((0, 1))
    s.assign()
    s.poll((2, 3))


def poll_after_another_assign(s: LogStory) -> None:
    """Of another partition only: this one goes on."""
    three(s)
    s.send(2 << 32, 0, key="t-1")
    s.poll((0, 1))
    s.assign(key="t-1")
    s.poll((2, 3))


def poll_after_an_assign_of_the_topic(s: LogStory) -> None:
    three(s)
    s.poll((0, 1))
    s.assign(key="t")
    s.poll((2, 3))


def poll_under_subscribe(s: LogStory) -> None:
    three(s)
    s.assign(f="subscribe")
    s.poll((0, 1))
    s.poll((2, 3))
    s.poll((2, 3))


def poll_beside_a_subscriber(s: LogStory) -> None:
    """Another process subscribed: this one has its partitions to itself."""
    three(s)
    s.assign(70, f="subscribe")
    s.assign()
    s.poll((0, 1))
    s.poll((2, 3))


def poll_after_a_subscription(s: LogStory) -> None:
    """It took up the partition by itself since."""
    three(s)
    s.assign(f="subscribe")
    s.poll((0, 1))
    s.assign()
    s.poll((0, 1))
    s.poll((2, 3))


def poll_before_a_subscription(s: LogStory) -> None:
    three(s)
    s.poll((0, 1))
    s.poll((2, 3))
    s.assign(f="subscribe")


def poll_after_a_subscription_that_failed(s: LogStory) -> None:
    three(s)
    s.end(s.begin("subscribe", 50), "fail")
    s.poll((0, 1))
    s.poll((2, 3))


def nonmonotonic_poll(s: LogStory) -> None:
    three(s)
    s.poll((0, 1), (1, 2))
    s.poll((1, 2))


def poll_again_after_a_failure(s: LogStory) -> None:
    three(s)
    s.poll((0, 1))
    s.poll((1, 2), outcome="fail")
    s.poll((1, 2))


def poll_of_another_process(s: LogStory) -> None:
    three(s)
    s.poll((0, 1), (1, 2))
    s.poll((1, 2), process=51)


def int_poll_skip(s: LogStory) -> None:
    three(s)
    s.poll((0, 1), (2, 3))


def int_nonmonotonic_poll(s: LogStory) -> None:
    three(s)
    s.poll((1, 2), (0, 1))


def poll_of_two_partitions(s: LogStory) -> None:
    """In turns: each of the two is in order."""
    three(s)
    s.send(10, 0, key="t-1")
    s.send(11, 1, key="t-1")
    row = s.begin("poll", 50)
    s.polled(row, [(0, 1)])
    s.polled(row, [(0, 10)], key="t-1")
    s.polled(row, [(1, 2), (2, 3)])
    s.polled(row, [(1, 11)], key="t-1")
    s.end(row)


POLLS: list[tuple[str, Told, Told]] = [
    ("G1a", aborted_read, read_of_an_unknown_send),
    ("G1a", aborted_read, aborted_read_in_a_failed_poll),
    ("future-read", future_read, read_while_it_is_sent),
    ("corrupt", damaged, read_of_what_was_sent),
    ("phantom", phantom, read_of_what_was_sent),
    ("phantom", of_another_partition, read_of_what_was_sent),
    ("poll-past-high-watermark", past_high_watermark, below_high_watermark),
    ("poll-past-high-watermark", committed_later, committed_while_it_was_fetched),
    (
        "poll-past-high-watermark",
        committed_later,
        committed_by_the_word_of_an_answer_under_way,
    ),
    ("poll-past-high-watermark", committed_later, committed_under_the_leader_before),
    ("poll-past-high-watermark", committed_later, committed_under_the_leader_before_a_probe),
    (
        "poll-past-high-watermark",
        committed_later_by_a_leader_that_still_leads,
        committed_under_the_leader_before,
    ),
    (
        "nonmonotonic-high-watermark",
        high_watermark_back,
        high_watermark_back_under_another_leader,
    ),
    ("nonmonotonic-high-watermark", high_watermark_back, high_watermarks_side_by_side),
    ("poll-skip", poll_skip, poll_over_a_gap),
    ("poll-skip", poll_after_another_assign, poll_after_an_assign),
    ("poll-skip", poll_skip, poll_after_an_assign_of_the_topic),
    ("poll-skip", poll_skip, poll_under_subscribe),
    ("poll-skip", poll_beside_a_subscriber, poll_under_subscribe),
    ("poll-skip", poll_after_a_subscription, poll_under_subscribe),
    ("poll-skip", poll_before_a_subscription, poll_under_subscribe),
    ("poll-skip", poll_after_a_subscription_that_failed, poll_under_subscribe),
    ("nonmonotonic-poll", nonmonotonic_poll, poll_again_after_a_failure),
    ("nonmonotonic-poll", nonmonotonic_poll, poll_of_another_process),
    ("int-poll-skip", int_poll_skip, poll_of_two_partitions),
    ("int-nonmonotonic-poll", int_nonmonotonic_poll, poll_of_two_partitions),
]


def inconsistent_sends(s: LogStory) -> None:
    s.send(1, 0)
    s.send(OTHER, 0)


def inconsistent_poll(s: LogStory) -> None:
    s.send(1, 0)
    s.send(OTHER, None, outcome="info")
    s.poll((0, OTHER))


def unproved_send(s: LogStory) -> None:
    """An `info` that nobody read need not have happened, whatever offset it was told."""
    s.send(1, 0)
    s.send(OTHER, 0, outcome="info")


def acks_of_the_leader(s: LogStory) -> None:
    """acks=1: the leader that gave the offset may be gone with it."""
    s.send(1, 0)
    s.send(OTHER, 0, acks=1)


def duplicate(s: LogStory) -> None:
    s.send(1, 0)
    s.poll((0, 1), (1, 1))


OFFSETS: list[tuple[str, Told, Told]] = [
    ("inconsistent-offsets", inconsistent_sends, unproved_send),
    ("inconsistent-offsets", inconsistent_sends, acks_of_the_leader),
    ("inconsistent-offsets", inconsistent_poll, read_of_what_was_sent),
    ("duplicate", duplicate, read_of_what_was_sent),
]


def nonmonotonic_send(s: LogStory) -> None:
    s.send(1, 5)
    s.send(2, 4)


def sends_of_two_producers(s: LogStory) -> None:
    """Side by side: they may be in either order."""
    first, second = s.begin("send", 0), s.begin("send", 1)
    s.sent(first, 1, 5)
    s.sent(second, OTHER, 4)
    s.end(first)
    s.end(second)


def late_send(s: LogStory) -> None:
    """By another producer, begun when the first one was there."""
    s.send(1, 5)
    s.send(OTHER, 4)


def late_send_of_what_was_polled(s: LogStory) -> None:
    s.send(1, None, outcome="info")
    s.poll((5, 1))
    s.send(OTHER, 4)


def sends_of_two_partitions(s: LogStory) -> None:
    s.send(1, 5)
    s.send(2, 4, key="t-1")


def sends_to_a_leader_that_forgets(s: LogStory) -> None:
    """acks=1: it is gone with its leader, and the next leader gives the offset again."""
    s.send(1, 5, acks=1)
    s.send(2, 4, acks=1)
    s.send(OTHER, 4)


SENDS: list[tuple[str, Told, Told]] = [
    ("nonmonotonic-send", nonmonotonic_send, sends_of_two_partitions),
    ("nonmonotonic-send", nonmonotonic_send, sends_to_a_leader_that_forgets),
    ("nonmonotonic-send-realtime", late_send, sends_of_two_producers),
    ("nonmonotonic-send-realtime", late_send_of_what_was_polled, sends_of_two_producers),
]

CASES = [
    *((log_polls, *case) for case in POLLS),
    *((log_offsets, *case) for case in OFFSETS),
    *((log_sends, *case) for case in SENDS),
]


@pytest.mark.parametrize(("check", "name", "wrong", "right"), CASES)
def test_what_is_wrong_and_what_is_right_beside_it(
    check: Check, name: str, wrong: Told, right: Told
) -> None:
    found = check(ended(LogStory(), wrong))
    assert found is not None
    assert found.verdict is INVALID
    assert found.facts[name] >= 1  # type: ignore[operator]  # a count
    assert found.message.startswith(f"{name}: ")
    assert 1 <= len(found.witness) <= 2
    assert all(row["what"] and row["t_ns"] is not None for row in found.witness)
    legal = check(ended(LogStory(), read_of_what_was_sent_elsewhere, right))
    assert legal is not None
    assert legal.verdict is VALID, legal.message


def read_of_what_was_sent_elsewhere(s: LogStory) -> None:
    s.send(7 << 32, 0, key="t-7")
    s.poll((0, 7 << 32), process=70, key="t-7")


def test_the_most_basic_anomaly_comes_first() -> None:
    result = log_polls(ended(LogStory(), nonmonotonic_poll, phantom_of_another))
    assert result is not None
    assert result.message == (
        "phantom: process 80 polled 9/1 at t-3, which nobody sent "
        "(in all 1 phantom, 1 nonmonotonic-poll)"
    )
    assert result.count == 2
    assert [row["process"] for row in result.witness] == [80]


def phantom_of_another(s: LogStory) -> None:
    s.poll((0, 9 << 32 | 1), process=80, key="t-3")


def test_what_may_have_been_in_the_part_that_is_cut_is_unknown() -> None:
    story = LogStory()
    phantom(story)
    result = log_polls(story.run(truncated=("events-ops: 9 bytes",)))
    assert result is not None
    assert (result.verdict, result.count) == (UNKNOWN, 0)


def test_a_topic_that_was_deleted_promises_nothing() -> None:
    story = LogStory()
    inconsistent_sends(story)
    story.send(5 << 32, 0, key="u-0")
    story.end(story.begin("delete-topic", 99, key="t"))
    result = log_offsets(story.run())
    assert result is not None
    assert (result.verdict, result.looked_at) == (VALID, 1)


def test_a_value_that_was_sent_twice_is_no_history() -> None:
    story = LogStory()
    story.send(1, 0)
    story.send(1, 1)
    with pytest.raises(ValueError, match="the value 1 was sent twice"):
        log_offsets(story.run())


def test_runs_of_registers_have_no_logs() -> None:
    from tests.support.sealed_runs import synthetic_run

    info = synthetic_run().info
    assert not any(check.applies(info) for check in (log_offsets, log_polls, log_sends))


def test_spans_of_many_records() -> None:
    """What is sent and polled in runs is what is sent and polled one by one."""
    story = LogStory()
    story.send(1, 0, records=5)
    row = story.begin("poll", 50)
    story.end(row)
    story.spans.append(
        {"op_id": row["op_id"], "key": "t-0", "sent": False, "value": 1, "offset": 0}
        | {"records": 5, "epoch": 0, "high_watermark": 4}
    )
    polled = log_polls(story.run())
    assert polled is not None
    assert polled.looked_at == 5
    assert polled.facts == {"poll-past-high-watermark": 1}
    story.spans[-1]["high_watermark"] = 5
    polled = log_polls(story.run())
    assert polled is not None
    assert polled.verdict is VALID
