"""Offsets by time, and by the times that stand for something else, of a broker with a real log."""

import gzip
from collections.abc import Callable

import pytest
import zstandard

from node import limits
from node.broker.requests import offsets as offset_requests
from node.codec.varint import encode_signed
from node.controller.image.configurations import TOPIC
from node.effects import SendResponse
from node.errors import ErrorCode
from node.records.batch import HEADER_SIZE
from node.records.metadata import ConfigRecord
from node.wire.broker_frames import decode_response, encode_request
from node.wire.entities import TopicPartition
from node.wire.offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    LATEST_TIME,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    RecordsToDelete,
    SoughtOffset,
)
from node.wire.produce import ProducedPartition, ProduceRequest, ProduceResponse
from tests.support.batches import timed_batch
from tests.support.stepped_broker import FIRST_TOPIC, SteppedBroker, led_topics

AT = TopicPartition(name="topic-0", id=FIRST_TOPIC, index=0)
GZIP, ZSTD = 1, 4
_ANY_TIME = ConfigRecord(
    resource_type=TOPIC,
    resource_name=AT.name,
    name="message.timestamp.after.max.ms",
    value=str(2**63 - 1),
)


class Log:
    """Of the first partition, whose records may have any time."""

    def __init__(self, *batches: bytes) -> None:
        self._broker = SteppedBroker(told=[*led_topics(1), _ANY_TIME])
        for records in batches:
            produced = (ProducedPartition(partition=AT, records=records),)
            request = ProduceRequest(acks=-1, timeout_ms=1000, partitions=produced)
            header, frame = encode_request(request, correlation_id=1, client_id="c")
            answer = decode_response(header, self._serve(frame))
            assert isinstance(answer, ProduceResponse)
            assert answer.results[0].error is ErrorCode.NONE

    def delete(self, offset: int) -> None:
        below = (RecordsToDelete(partition=AT, offset=offset),)
        request = DeleteRecordsRequest(timeout_ms=1000, partitions=below)
        header, frame = encode_request(request, correlation_id=1, client_id="c")
        answer = decode_response(header, self._serve(frame))
        assert isinstance(answer, DeleteRecordsResponse)
        assert answer.partitions[0].low_watermark == offset

    def listed(self, timestamp_ms: int, version: int = 11) -> ListedOffset:
        request = ListOffsetsRequest(
            partitions=(SoughtOffset(partition=AT, timestamp_ms=timestamp_ms),)
        )
        header, frame = encode_request(request, correlation_id=1, client_id="c", version=version)
        answer = decode_response(header, self._serve(frame))
        assert isinstance(answer, ListOffsetsResponse)
        return answer.partitions[0]

    def twice(self) -> list[ErrorCode]:
        sought = SoughtOffset(partition=AT, timestamp_ms=LATEST)
        request = ListOffsetsRequest(partitions=(sought, sought))
        header, frame = encode_request(request, correlation_id=1, client_id="c")
        answer = decode_response(header, self._serve(frame))
        assert isinstance(answer, ListOffsetsResponse)
        return [each.error for each in answer.partitions]

    def at(self, timestamp_ms: int) -> tuple[int, int, int]:
        """Offset, time and epoch."""
        found = self.listed(timestamp_ms)
        assert found.error is ErrorCode.NONE
        return found.offset, found.timestamp_ms, found.epoch

    def _serve(self, frame: bytes) -> bytes:
        done = self._broker.serve(frame)
        assert isinstance(done, SendResponse)
        return done.frame


def test_the_first_record_of_a_time_or_later_is_found() -> None:
    log = Log(timed_batch(100, 300, 200), timed_batch(150), timed_batch(250, 400))
    assert log.at(0) == (0, 100, 0)
    assert log.at(100) == (0, 100, 0)
    assert log.at(101) == (1, 300, 0)
    assert log.at(300) == (1, 300, 0)
    assert log.at(301) == (5, 400, 0)
    assert log.at(401) == (-1, -1, -1)


def test_the_times_that_stand_for_something_else() -> None:
    log = Log(timed_batch(100, 400), timed_batch(300))
    assert log.at(LATEST) == (3, -1, 0)
    assert log.at(EARLIEST) == log.at(EARLIEST_LOCAL) == (0, -1, 0)
    assert log.at(LATEST_TIME) == (1, 400, 0)
    assert log.at(LATEST_TIERED) == log.at(EARLIEST_PENDING_UPLOAD) == (-1, -1, -1)


def test_what_was_deleted_is_of_no_time() -> None:
    """Also the first records of a batch."""
    log = Log(timed_batch(100, 200), timed_batch(300, 250, 400), timed_batch(350))
    log.delete(3)
    assert log.at(EARLIEST) == (3, -1, 0)
    assert log.at(0) == log.at(201) == (3, 250, 0)
    assert log.at(251) == log.at(400) == (4, 400, 0)
    assert log.at(LATEST_TIME) == (4, 400, 0)
    log.delete(6)
    assert log.at(EARLIEST) == (6, -1, 0)
    assert log.at(0) == log.at(LATEST_TIME) == (-1, -1, -1)


def test_an_empty_log_begins_in_its_leaders_epoch_and_has_no_record_of_any_time() -> None:
    log = Log()
    assert log.at(LATEST) == (0, -1, 0)
    assert log.at(EARLIEST) == (0, -1, 0)
    assert log.at(0) == log.at(LATEST_TIME) == (-1, -1, -1)


@pytest.mark.parametrize(
    ("timestamp_ms", "first"),
    [
        (LATEST_TIME, 7),
        (EARLIEST_LOCAL, 8),
        (LATEST_TIERED, 9),
        (EARLIEST_PENDING_UPLOAD, 11),
        (-7, 12),
    ],
)
def test_a_version_that_does_not_know_it_is_told_so(timestamp_ms: int, first: int) -> None:
    log = Log()
    unknown = ErrorCode.UNSUPPORTED_VERSION
    for version in range(1, 12):
        error = log.listed(timestamp_ms, version).error
        assert error is (ErrorCode.NONE if version >= first else unknown), version


def test_where_records_are_not_read_their_batch_stands_for_them() -> None:
    boasting = timed_batch(300, 310, header_ms=500)
    log = Log(timed_batch(100, 200), boasting)
    assert log.at(150) == (1, 200, 0)
    assert log.at(400) == (2, 300, 0)


@pytest.mark.parametrize(
    ("codec", "compress"), [(GZIP, gzip.compress), (ZSTD, zstandard.ZstdCompressor().compress)]
)
def test_the_record_of_a_time_is_found_inside_a_compressed_batch(
    codec: int, compress: Callable[[bytes], bytes]
) -> None:
    records = compress(timed_batch(100, 300, 200)[HEADER_SIZE:])
    log = Log(timed_batch(100, 300, 200, codec=codec, records=records), timed_batch(400))
    assert log.at(100) == (0, 100, 0)
    assert log.at(101) == (1, 300, 0)
    assert log.at(301) == (3, 400, 0)
    assert log.at(LATEST_TIME) == (3, 400, 0)


def test_what_opens_to_too_much_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    records = gzip.compress(timed_batch(100, 300, 200)[HEADER_SIZE:])
    log = Log(timed_batch(100, 300, 200, codec=GZIP, records=records))
    monkeypatch.setattr(offset_requests, "_OPENED_BYTES", 12)  # a record has eight or nine
    assert log.at(100) == (0, 100, 0)
    assert log.at(150) == (0, 100, 0)  # the second has that time, and lies beyond


def test_where_records_are_too_many_their_batch_stands_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = Log(timed_batch(100, 200, 300))
    monkeypatch.setattr(limits, "MAX_RECORDS_PER_STEP", 3)
    assert log.at(150) == (1, 200, 0)
    monkeypatch.setattr(limits, "MAX_RECORDS_PER_STEP", 2)
    assert log.at(150) == (0, 100, 0)


def test_who_asks_for_a_partition_twice_is_refused() -> None:
    """As in Kafka: each time a log would be looked through."""
    assert Log().twice() == [ErrorCode.INVALID_REQUEST] * 2


def test_a_time_that_is_too_large_begins_anew() -> None:
    """As in Java: nobody is hung up on who asks for it."""
    most = 2**63 - 1
    body = b"\0" + encode_signed(most) + b"\0\x01\x02v\0"
    late = encode_signed(len(body)) + body
    log = Log(timed_batch(10, header_ms=most, records=late))
    assert log.at(11) == (0, 10, 0)
    assert log.at(LATEST_TIME) == (0, 10, 0)
