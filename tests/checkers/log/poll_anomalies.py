"""What polls must not return: the smallest log of each anomaly, and what is right beside it."""

from collections.abc import Callable

from tests.support.logs import LogRun

Told = Callable[[LogRun], object]


OTHER = 1 << 32  # the first value of process 1


def three(s: LogRun) -> None:
    """Records 1, 2 and 3 at the offsets 0, 1 and 2, read by somebody."""
    for number in (1, 2, 3):
        s.send(number, number - 1)
    s.poll((0, 1), (1, 2), (2, 3), process=60)


def aborted_read(s: LogRun) -> None:
    s.send(1, None, outcome="fail")
    s.poll((0, 1))


def read_of_an_unknown_send(s: LogRun) -> None:
    s.send(1, None, outcome="info")
    s.poll((0, 1))


def aborted_read_in_a_failed_poll(s: LogRun) -> None:
    s.send(1, None, outcome="fail")
    s.poll((0, 1), outcome="fail")


def future_read(s: LogRun) -> None:
    s.poll((0, 1))
    s.send(1, 0)


def read_while_it_is_sent(s: LogRun) -> None:
    poll = s.begin("poll", 50)
    send = s.begin("send", 0)
    s.sent(send, 1, 0)
    s.polled(poll, [(0, 1)])
    s.end(poll)
    s.end(send)


def damaged(s: LogRun) -> None:
    s.send(1, 0)
    s.poll((0, -1))


def phantom(s: LogRun) -> None:
    s.send(1, 0)
    s.poll((0, 1), (1, 2))


def of_another_partition(s: LogRun) -> None:
    s.send(1, 0, key="t-1")
    s.poll((0, 1))


def read_of_what_was_sent(s: LogRun) -> None:
    s.send(1, 0)
    s.poll((0, 1))


def past_high_watermark(s: LogRun) -> None:
    s.send(1, 0)
    s.poll((0, 1), high_watermark=0)


def below_high_watermark(s: LogRun) -> None:
    """By another's word: the first answer's was a moment older than what it brought."""
    s.send(1, 0)
    s.poll((0, 1), high_watermark=0)
    s.poll((0, 1), process=51, high_watermark=1)


def committed_later(s: LogRun) -> None:
    """Offset 1 is shown when all that anybody was told is 1, and others are told 1 afterwards."""
    s.send(1, 0)
    s.send(2, 1)
    s.poll((0, 1), high_watermark=1)
    s.poll((1, 2), process=51, high_watermark=1)
    s.poll((0, 1), process=52, high_watermark=1)
    s.poll((0, 1), (1, 2), process=53, high_watermark=2)


def committed_later_by_a_leader_that_still_leads(s: LogRun) -> None:
    """A later epoch is known of, but record 3 got epoch 0 after the answer that contradicts."""
    committed_later(s)
    s.send(3, 2)
    s.send(4, 3)
    s.poll((2, 3), process=54, high_watermark=3)
    s.poll((3, 4), process=55, epoch=1, high_watermark=4)


def committed_while_it_was_fetched(s: LogRun) -> None:
    """Nobody had been told of a high watermark of 2, but whoever asks next is."""
    s.send(1, 0)
    s.send(2, 1)
    s.poll((1, 2), process=51, high_watermark=1)
    s.poll((0, 1), process=52, high_watermark=2)


def committed_by_the_word_of_an_answer_under_way(s: LogRun) -> None:
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


def committed_under_the_leader_before(s: LogRun) -> None:
    """The one that says 1 afterwards may be another, which learns the high watermark late."""
    committed_later(s)
    s.send(3, 2)
    s.poll((2, 3), process=54, epoch=1, high_watermark=3)


def committed_under_the_leader_before_a_probe(s: LogRun) -> None:
    committed_later(s)
    s.probe(2, 3, epoch=1)


def high_watermark_back(s: LogRun) -> None:
    """The later send was given epoch 3 too: nobody else led in between."""
    s.send(1, 0)
    s.poll((0, 1), epoch=3, high_watermark=5)
    s.poll((0, 1), process=51, epoch=3, high_watermark=4)
    s.send(2, 1)
    s.poll((1, 2), process=52, epoch=3, high_watermark=5)


def high_watermark_back_under_another_leader(s: LogRun) -> None:
    s.send(1, 0)
    s.poll((0, 1), epoch=3, high_watermark=5)
    s.poll((0, 1), process=51, epoch=3, high_watermark=4)
    s.send(2, 1)
    s.poll((1, 2), process=52, epoch=4, high_watermark=5)


def high_watermark_back_while_the_last_leader_appends(s: LogRun) -> None:
    """The later send went to the former leader, which is cut off, and leads again later: a record
    of epoch 3 that is sent after another one had answered."""
    s.send(1, 0)
    s.poll((0, 1), epoch=3, high_watermark=5)
    s.poll((0, 1), process=51, epoch=3, high_watermark=4)
    s.ops[-1] |= {"node": 2}
    s.send(2, 1)
    s.poll((1, 2), process=52, epoch=3, high_watermark=5)


def high_watermarks_side_by_side(s: LogRun) -> None:
    s.send(1, 0)
    first, second = s.begin("poll", 50), s.begin("poll", 51)
    s.polled(first, [(0, 1)], epoch=3, high_watermark=5)
    s.polled(second, [(0, 1)], epoch=3, high_watermark=4)
    s.end(first)
    s.end(second)
    s.send(2, 1)
    s.poll((1, 2), process=52, epoch=3, high_watermark=5)


def poll_skip(s: LogRun) -> None:
    three(s)
    s.poll((0, 1))
    s.poll((2, 3))


def poll_over_a_gap(s: LogRun) -> None:
    """Nobody knows of anything at offset 1."""
    s.send(1, 0)
    s.send(3, 2)
    s.poll((0, 1))
    s.poll((2, 3))


def poll_after_an_assign(s: LogRun) -> None:
    three(s)
    s.poll((0, 1))
    s.assign()
    s.poll((2, 3))


def poll_after_another_assign(s: LogRun) -> None:
    """Of another partition only: this one goes on."""
    three(s)
    s.send(2 << 32, 0, key="t-1")
    s.poll((0, 1))
    s.assign(key="t-1")
    s.poll((2, 3))


def poll_after_an_assign_of_the_topic(s: LogRun) -> None:
    three(s)
    s.poll((0, 1))
    s.assign(key="t")
    s.poll((2, 3))


def poll_under_subscribe(s: LogRun) -> None:
    three(s)
    s.assign(f="subscribe")
    s.poll((0, 1))
    s.poll((2, 3))
    s.poll((2, 3))


def poll_beside_a_subscriber(s: LogRun) -> None:
    """Another process subscribed: this one has its partitions to itself."""
    three(s)
    s.assign(70, f="subscribe")
    s.assign()
    s.poll((0, 1))
    s.poll((2, 3))


def poll_after_a_subscription(s: LogRun) -> None:
    """It took up the partition by itself since."""
    three(s)
    s.assign(f="subscribe")
    s.poll((0, 1))
    s.assign()
    s.poll((0, 1))
    s.poll((2, 3))


def poll_before_a_subscription(s: LogRun) -> None:
    three(s)
    s.poll((0, 1))
    s.poll((2, 3))
    s.assign(f="subscribe")


def poll_after_a_subscription_that_failed(s: LogRun) -> None:
    three(s)
    s.end(s.begin("subscribe", 50), "fail")
    s.poll((0, 1))
    s.poll((2, 3))


def nonmonotonic_poll(s: LogRun) -> None:
    three(s)
    s.poll((0, 1), (1, 2))
    s.poll((1, 2))


def poll_again_after_a_failure(s: LogRun) -> None:
    three(s)
    s.poll((0, 1))
    s.poll((1, 2), outcome="fail")
    s.poll((1, 2))


def poll_of_another_process(s: LogRun) -> None:
    three(s)
    s.poll((0, 1), (1, 2))
    s.poll((1, 2), process=51)


def int_poll_skip(s: LogRun) -> None:
    three(s)
    s.poll((0, 1), (2, 3))


def int_nonmonotonic_poll(s: LogRun) -> None:
    three(s)
    s.poll((1, 2), (0, 1))


def poll_of_two_partitions(s: LogRun) -> None:
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
    (
        "nonmonotonic-high-watermark",
        high_watermark_back,
        high_watermark_back_while_the_last_leader_appends,
    ),
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
