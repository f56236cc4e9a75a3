"""Frames that are known are not read again, and nobody can tell."""

from dataclasses import replace
from pathlib import Path
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.cli import main
from chaos.cluster.sim import known_frames
from chaos.cluster.sim.known_frames import KnownFrames
from node import wire
from node.errors import ErrorCode
from node.ids import Epoch, NodeId
from node.server.output import TRACE_FIELDS, encode_fields
from node.wire import broker_frames
from node.wire.entities import TopicPartition
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.frames import RequestHeader
from node.wire.partition_fetch import (
    FetchedPartition,
    FetchedRecords,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.raft_voters import DescribeQuorumRequest
from tests.node.wire.sample_requests import REQUESTS
from tests.sim.told_runs import told

FETCH = next(each for each in REQUESTS if isinstance(each, FetchRequest))
DESCRIBE = next(each for each in REQUESTS if isinstance(each, DescribeQuorumRequest))
FETCHED = FetchResponse(epoch=Epoch(7), leader=NodeId(2), high_watermark=11, records=b"records")


Fetch = FetchRequest | PartitionsFetchRequest
Fetched = FetchResponse | PartitionsFetchResponse

ORDERS = TopicPartition(id=UUID(int=7), index=2)
REPLICA_FETCH = PartitionsFetchRequest(
    replica=NodeId(5),
    broker_epoch=9,
    max_wait_ms=500,
    min_bytes=1,
    max_bytes=1 << 20,
    partitions=(FetchedPartition(partition=ORDERS, offset=3, epoch=1, max_bytes=1 << 20),),
)
REPLICA_FETCHED = PartitionsFetchResponse(
    partitions=(FetchedRecords(partition=ORDERS, high_watermark=2, log_start=0, records=b"more"),)
)


def ask(frames: KnownFrames, number: int = 1) -> tuple[RequestHeader, bytes]:
    return frames.encode_request(FETCH, correlation_id=number, client_id="n2")


def test_what_arrives_as_it_was_sent_is_what_was_sent() -> None:
    frames = known_frames.known_frames()[0]
    header, frame = ask(frames)
    answer = frames.encode_response(header, FETCHED)
    assert frames.decode_request(bytes(bytearray(frame)))[1] is FETCH
    assert frames.decode_response(header, bytes(bytearray(answer))) is FETCHED


def test_what_a_broker_asks_is_known_to_whom_it_asks() -> None:
    """Replicas of brokers, and the metadata log of controllers: two requests with one key."""
    controllers, brokers = known_frames.known_frames()
    for served_by, fetch, fetched in (
        (brokers, REPLICA_FETCH, REPLICA_FETCHED),
        (controllers, FETCH, FETCHED),
    ):
        header, frame = brokers.encode_request(fetch, correlation_id=4, client_id="broker-5")
        read, request = served_by.decode_request(frame)
        assert request is fetch
        assert (read, request) == (broker_frames if served_by is brokers else wire).decode_request(
            frame
        )
        answer = served_by.encode_response(read, fetched)
        assert brokers.decode_response(header, answer) is fetched
        assert fetched == wire.decode_response(header, answer)


def test_answers_of_the_same_bytes_are_what_was_asked_for() -> None:
    """To two who asked different things, over connections that number alike."""
    controllers, brokers = known_frames.known_frames()
    error = ErrorCode.INCONSISTENT_CLUSTER_ID
    asked: list[tuple[KnownFrames, Fetch, Fetched]] = [
        (controllers, FETCH, FetchResponse(top_error=error)),
        (brokers, REPLICA_FETCH, PartitionsFetchResponse(error=error)),
    ]
    sent = []
    for served_by, fetch, fetched in asked:
        header, frame = brokers.encode_request(fetch, correlation_id=4, client_id="broker-5")
        answer = served_by.encode_response(served_by.decode_request(frame)[0], fetched)
        sent.append((header, answer, fetched))
    assert sent[0][1] == sent[1][1]
    for header, answer, fetched in sent:
        assert brokers.decode_response(header, answer) is fetched


@given(st.integers(-(2**31), 2**31 - 1), st.integers(0, 60), st.integers(0, 255))
def test_what_a_client_asks_again_is_known_under_its_own_number(
    number: int, at: int, byte: int
) -> None:
    """Whatever bytes it has."""
    for frames, plainly in zip(known_frames.known_frames(), (wire, broker_frames), strict=True):
        asked = bytearray(wire.encode_request(DESCRIBE, correlation_id=1, client_id="c")[1])
        known = frames.decode_request(bytes(asked))
        asked[4:8] = number.to_bytes(4, "big", signed=True)
        again = frames.decode_request(bytes(asked))
        assert again == plainly.decode_request(bytes(asked))
        assert (again[1] is known[1]) == (frames._fetch is FetchRequest)  # a broker hands it on
        asked[at % len(asked)] = byte
        assert said(frames.decode_request, bytes(asked)) == said(
            plainly.decode_request, bytes(asked)
        )


@pytest.mark.parametrize("at", [5, -3, -1])
def test_a_frame_that_was_touched_is_read(at: int) -> None:
    frames = known_frames.known_frames()[0]
    header, frame = ask(frames)
    for whole, decode, plainly in (
        (frame, frames.decode_request, wire.decode_request),
        (
            frames.encode_response(header, FETCHED),
            lambda damaged: frames.decode_response(header, damaged),
            lambda damaged: wire.decode_response(header, damaged),
        ),
    ):
        damaged = bytearray(whole)
        damaged[at] ^= 0x01
        assert said(decode, bytes(damaged)) == said(plainly, bytes(damaged))


def said(decode: object, frame: bytes) -> str:
    assert callable(decode)
    try:
        return repr(decode(frame))
    except wire.MalformedFrame as error:
        return f"refused: {error}"


def test_some_are_read_all_the_same_and_must_say_what_was_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A codec that loses something is found although most frames are not read."""
    frames = known_frames.known_frames()[0]
    encode = wire.encode_request

    def lossy(request: FetchRequest, **how: object) -> tuple[RequestHeader, bytes]:
        return encode(replace(request, max_bytes=request.max_bytes - 1), **how)  # type: ignore[arg-type]

    monkeypatch.setattr(wire, "encode_request", lossy)
    sent = [ask(frames, number)[1] for number in range(known_frames._READ_ALL_THE_SAME)]
    for frame in sent[1:]:
        frames.decode_request(frame)
    with pytest.raises(AssertionError, match="is read as"):
        frames.decode_request(sent[0])


@pytest.mark.parametrize("second", [FETCHED, replace(FETCHED, records=b"more")])
def test_what_two_followers_are_told_is_what_each_would_be_told_alone(
    second: FetchResponse,
) -> None:
    frames = known_frames.known_frames()[0]
    for number, response in ((1, FETCHED), (2, second), (2**31 - 1, second)):
        header, _ = ask(frames, number)
        assert frames.encode_response(header, response) == wire.encode_response(header, response)


def test_a_frame_that_arrives_twice_or_after_it_was_forgotten_is_read() -> None:
    frames = known_frames.known_frames()[0]
    header, frame = ask(frames)
    answer = frames.encode_response(header, FETCHED)
    assert frames.decode_request(frame)[1] is FETCH
    assert frames.decode_response(header, answer) is FETCHED
    late = ask(frames, 2)[1]
    for number in range(known_frames._MOST_UNDER_WAY):
        ask(frames, 3 + number)
    assert frames.decode_response(header, answer) == wire.decode_response(header, answer)
    for each in (frame, late):
        found = frames.decode_request(each)
        assert found == wire.decode_request(each)
        assert found[1] is not FETCH


def test_frames_that_never_arrive_are_forgotten() -> None:
    frames = known_frames.known_frames()[0]
    for number in range(3 * known_frames._MOST_UNDER_WAY):
        ask(frames, number)
    assert len(frames._requests) == known_frames._MOST_UNDER_WAY


@pytest.mark.parametrize("scenario", ["power-off", "swarm", "swarm-brokers"])
def test_a_run_whose_frames_are_all_read_is_the_same_run(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for out, one_of in (("some", known_frames._READ_ALL_THE_SAME), ("all", 1)):
        monkeypatch.setattr(known_frames, "_READ_ALL_THE_SAME", one_of)
        words = ["--runtime", "sim", "--seed", "11", "--duration", "5"]
        main(["run", scenario, *words, "--out", str(tmp_path / out)])
    left = [told(tmp_path / out / "latest") for out in ("some", "all")]
    assert left[0] == left[1]
    assert any(name.startswith("logs/") for name in left[0])


def test_traces_are_written_as_the_server_writes_them() -> None:
    values = [0, -1, 2**63 - 1, 'a "text"', True, None, "", [{"id": 1, "dir": "AA", "since": 5}]]
    for event, names in TRACE_FIELDS.items():
        line = {"ev": event} | {name: values[at % len(values)] for at, name in enumerate(names)}
        assert orjson.dumps(line) == encode_fields(line)  # type: ignore[arg-type]
