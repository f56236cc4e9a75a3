"""What other people's clients report, as it is recorded."""

import asyncio
import gc
import os
import socket
import subprocess
import sys
import threading

import pytest
from confluent_kafka import KafkaError, Message
from kafka.errors import (
    CorrelationIdError,
    InvalidReceiveError,
    KafkaProtocolError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    NotLeaderForPartitionError,
    RequestTimedOutError,
)
from kafka.net.inet import KafkaNetSocket

from checkers.history.events import MALFORMED, NOT_SENT, EventType, payload
from workloads.clients.kafka_python import acknowledged, refused
from workloads.clients.library import Delivered, Report, reported, spans_of
from workloads.clients.library_clients import library_clients
from workloads.clients.librdkafka import polled_as_given, sent_as_told
from workloads.clients.log_driver import Sending, SendResult
from workloads.clients.raw_clients import Patience
from workloads.connection import ClientEntry
from workloads.leader import TopicPartition
from workloads.operation_history import Span

PLAIN = Sending(acks=-1, idempotent=False, record_bytes=64)
IDEMPOTENT = Sending(acks=-1, idempotent=True, record_bytes=64)
WITHOUT_ACKS = Sending(acks=0, idempotent=False, record_bytes=64)


def delivered(offset: int, value: int, key: str = "t-0", epoch: int = 3) -> Delivered:
    return Delivered(key=key, offset=offset, data=payload(value, 64), epoch=epoch)


def test_records_that_go_on_are_one_span() -> None:
    records = [
        *(delivered(10 + each, 500 + each) for each in range(3)),
        delivered(13, 900),
        delivered(15, 901),  # an offset is missing
        delivered(16, 902, epoch=4),
        delivered(17, 903, key="t-1"),
    ]
    assert spans_of(records) == [
        Span(key="t-0", value=500, records=3, offset=10, epoch=3),
        Span(key="t-0", value=900, records=1, offset=13, epoch=3),
        Span(key="t-0", value=901, records=1, offset=15, epoch=3),
        Span(key="t-0", value=902, records=1, offset=16, epoch=4),
        Span(key="t-1", value=903, records=1, offset=17, epoch=3),
    ]


def test_damaged_records_are_nobodys_each_by_itself() -> None:
    damaged = [
        Delivered(key="t-0", offset=offset, data=data, epoch=3)
        for offset, data in enumerate((None, payload(5, 64)[:-1] + b"\x00", b""))
    ]
    assert [(span.value, span.records) for span in spans_of(damaged)] == [(NOT_SENT, 1)] * 3


def message(offset: int, value: int | None = None, error: int | None = None) -> Message:
    return Message(
        topic="t",
        partition=0,
        offset=offset,
        value=payload(value, 64) if value is not None else None,
        error=KafkaError(error) if error is not None else None,
    )


@pytest.mark.parametrize(
    ("sending", "offset", "told"),
    [(PLAIN, 17, 17), (IDEMPOTENT, -1001, None), (WITHOUT_ACKS, 0, None), (PLAIN, 0, 0)],
)
def test_librdkafka_tells_an_offset_or_none(
    sending: Sending, offset: int, told: int | None
) -> None:
    sent = sent_as_told(None, message(offset), sending)
    assert sent == SendResult(outcome=EventType.OK, offset=told)


@pytest.mark.parametrize(
    "code",
    [
        KafkaError._MSG_TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._PURGE_INFLIGHT,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.NOT_LEADER_FOR_PARTITION,  # it does not tell whether before an append
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    ],
)
@pytest.mark.parametrize("sending", [PLAIN, IDEMPOTENT])
def test_librdkafkas_errors_leave_a_send_in_doubt(code: int, sending: Sending) -> None:
    assert sent_as_told(KafkaError(code), message(-1001), sending).outcome is EventType.INFO


@pytest.mark.parametrize(
    "code", [KafkaError._PURGE_QUEUE, KafkaError.NOT_ENOUGH_REPLICAS, KafkaError.MSG_SIZE_TOO_LARGE]
)
def test_only_a_single_attempt_that_was_refused_failed(code: int) -> None:
    assert sent_as_told(KafkaError(code), message(-1001), PLAIN).outcome is EventType.FAIL
    assert sent_as_told(KafkaError(code), message(-1001), IDEMPOTENT).outcome is EventType.INFO


def test_librdkafka_gives_errors_in_the_guise_of_records() -> None:
    gone = message(9, error=KafkaError._AUTO_OFFSET_RESET)
    polled = polled_as_given([gone])
    assert (polled.error, polled.lost) == ("_AUTO_OFFSET_RESET", [TopicPartition("t", 0)])
    polled = polled_as_given([message(4, 70), message(5, 71), message(6, error=-195)])
    assert polled.error is None, "what came is not thrown away"
    assert [(span.offset, span.value, span.records) for span in polled.spans] == [(4, 70, 2)]
    assert polled.ends == {TopicPartition("t", 0): 6}


def test_kafka_python_tells_offsets_that_nobody_told() -> None:
    assert acknowledged(17, PLAIN).offset == 17
    assert acknowledged(1, WITHOUT_ACKS).offset is None


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (MessageSizeTooLargeError(), EventType.FAIL),
        (NotLeaderForPartitionError(), EventType.INFO),
        (RequestTimedOutError(), EventType.INFO),
        (KafkaTimeoutError(), EventType.INFO),
    ],
)
def test_kafka_pythons_errors_rarely_prove_anything(error: Exception, outcome: EventType) -> None:
    assert refused(error, PLAIN).outcome is outcome
    assert refused(error, IDEMPOTENT).outcome is EventType.INFO


def test_a_report_comes_from_another_thread_or_not_at_all() -> None:
    told = SendResult(outcome=EventType.OK, offset=3)

    async def in_a_thread(report: Report) -> None:
        threading.Thread(target=report, args=(told,)).start()

    async def never(_: Report) -> None:
        pass

    assert asyncio.run(reported(in_a_thread, 10)) == told
    late = asyncio.run(reported(never, 0.01))
    assert (late.outcome, late.error) == (EventType.INFO, "no delivery report")


def test_an_unknown_library_is_named_with_those_there_are() -> None:
    entries = {1: ClientEntry(host="127.0.0.1", port=1)}
    patience = Patience(request_s=1, delivery_s=1)
    with pytest.raises(ValueError, match=r"sarama.*raw, librdkafka, kafka-python"):
        library_clients("sarama", entries, patience)
    assert library_clients("raw", entries, patience) is None


def test_nobody_loads_a_library_that_was_not_asked_for() -> None:
    code = (
        "import sys, workloads.append, workloads.clients.library_clients\n"
        "sys.exit(int(bool({'confluent_kafka', 'kafka'} & sys.modules.keys())))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("code", [KafkaError._BAD_MSG, KafkaError._UNDERFLOW])
def test_librdkafka_tells_of_an_answer_that_it_could_not_read(code: int) -> None:
    name = KafkaError(code).name()
    sent = sent_as_told(KafkaError(code), message(0), PLAIN)
    assert (sent.outcome, sent.error) == (EventType.INFO, f"{MALFORMED}{name}")
    assert polled_as_given([message(0, error=code)]).error == f"{MALFORMED}{name}"
    lost = sent_as_told(KafkaError(KafkaError._TRANSPORT), message(0), PLAIN)
    assert lost.error == "_TRANSPORT"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KafkaProtocolError("Unable to decode response"), f"{MALFORMED}KafkaProtocolError"),
        (InvalidReceiveError("Invalid frame length"), f"{MALFORMED}InvalidReceiveError"),
        (CorrelationIdError("sent 7, recv 6"), "CorrelationIdError"),
        (RequestTimedOutError(), "RequestTimedOutError"),
    ],
)
def test_kafka_python_tells_of_an_answer_that_it_could_not_read(
    error: Exception, told: str
) -> None:
    sent = refused(error, PLAIN)
    assert sent.error == told
    assert sent.outcome is not EventType.OK


def test_a_socket_that_kafka_python_drops_fails_no_later_test() -> None:
    """`tests.support.kafka_python`: otherwise whatever test runs when it is collected."""
    dropped = KafkaNetSocket().socket(socket.AF_INET)
    descriptor = dropped.fileno()
    del dropped
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
