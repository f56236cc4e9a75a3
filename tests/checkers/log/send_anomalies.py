"""What sends must not be told: the smallest log of each anomaly, and what is right beside it."""

from tests.checkers.log.poll_anomalies import OTHER, Told, read_of_what_was_sent
from tests.support.logs import LogRun


def inconsistent_sends(s: LogRun) -> None:
    s.send(1, 0)
    s.send(OTHER, 0)


def inconsistent_poll(s: LogRun) -> None:
    s.send(1, 0)
    s.send(OTHER, None, outcome="info")
    s.poll((0, OTHER))


def unproved_send(s: LogRun) -> None:
    """An `info` that nobody read need not have happened, whatever offset it was told."""
    s.send(1, 0)
    s.send(OTHER, 0, outcome="info")


def acks_of_the_leader(s: LogRun) -> None:
    """acks=1: the leader that gave the offset may be gone with it."""
    s.send(1, 0)
    s.send(OTHER, 0, acks=1)


def duplicate(s: LogRun) -> None:
    s.send(1, 0)
    s.poll((0, 1), (1, 1))


OFFSETS: list[tuple[str, Told, Told]] = [
    ("inconsistent-offsets", inconsistent_sends, unproved_send),
    ("inconsistent-offsets", inconsistent_sends, acks_of_the_leader),
    ("inconsistent-offsets", inconsistent_poll, read_of_what_was_sent),
    ("duplicate", duplicate, read_of_what_was_sent),
]


def nonmonotonic_send(s: LogRun) -> None:
    s.send(1, 5)
    s.send(2, 4)


def sends_of_two_producers(s: LogRun) -> None:
    """Side by side: they may be in either order."""
    first, second = s.begin("send", 0), s.begin("send", 1)
    s.sent(first, 1, 5)
    s.sent(second, OTHER, 4)
    s.end(first)
    s.end(second)


def late_send(s: LogRun) -> None:
    """By another producer, begun when the first one was there."""
    s.send(1, 5)
    s.send(OTHER, 4)


def late_send_of_what_was_polled(s: LogRun) -> None:
    s.send(1, None, outcome="info")
    s.poll((5, 1))
    s.send(OTHER, 4)


def sends_of_two_partitions(s: LogRun) -> None:
    s.send(1, 5)
    s.send(2, 4, key="t-1")


def sends_to_a_leader_that_forgets(s: LogRun) -> None:
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
