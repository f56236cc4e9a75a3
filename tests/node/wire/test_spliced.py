"""Answers part of which is in files have the bytes of answers that have it at once."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node import limits
from node.codec import UnencodableMessage
from node.effects import Spliced, whole
from node.errors import ErrorCode
from node.ids import Epoch, LogPosition, NodeId, Offset
from node.wire.broker_frames import encode_pieces, encode_response
from node.wire.entities import TopicPartition
from node.wire.frames import RequestHeader
from node.wire.partition_fetch import PARTITIONS_FETCH, FetchedRecords, PartitionsFetchResponse


class Text:
    """A slice of which the bytes are known."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def read(self, position: int, length: int) -> bytes | None:
        return self._data[position : position + length]


def told(index: int, records: bytes, error: ErrorCode = ErrorCode.NONE) -> FetchedRecords:
    at = TopicPartition(name="orders", id=UUID(int=9), index=index)
    return FetchedRecords(partition=at, error=error, high_watermark=7, log_start=1, records=records)


def sliced(each: FetchedRecords) -> FetchedRecords:
    return replace(each, records=b"", sliced=Text(each.records))


DIVERGING = replace(told(4, b""), diverging=LogPosition(Epoch(3), Offset(9)))
ELSEWHERE = replace(
    told(5, b"", ErrorCode.NOT_LEADER_OR_FOLLOWER), leader=NodeId(2), leader_epoch=6
)


@pytest.mark.parametrize("version", range(PARTITIONS_FETCH.min_version, 19))
def test_in_every_version(version: int) -> None:
    large, small = told(0, b"x" * 300), told(1, b"y")
    header = RequestHeader(api_key=1, api_version=version, correlation_id=77, client_id="c")
    others = (told(2, b""), DIVERGING, ELSEWHERE)
    plain = PartitionsFetchResponse(partitions=(large, small, *others))
    spliced = PartitionsFetchResponse(partitions=(sliced(large), sliced(small), *others))
    assert spliced.is_sliced
    assert not plain.is_sliced
    assert spliced.read() == plain
    pieces = encode_pieces(header, spliced)
    assert sum(not isinstance(piece, bytes) for piece in pieces) == 2
    assert whole(pieces) == encode_response(header, plain)


def test_an_answer_that_is_too_large_is_none() -> None:
    class Huge(Text):
        def __len__(self) -> int:
            return limits.MAX_FRAME_BYTES

    header = RequestHeader(api_key=1, api_version=12, correlation_id=1, client_id=None)
    response = PartitionsFetchResponse(partitions=(replace(told(0, b""), sliced=Huge(b"")),))
    with pytest.raises(UnencodableMessage):
        encode_pieces(header, response)


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=5))))
def test_pieces_are_in_the_order_in_which_they_were_added(parts: list[tuple[bool, bytes]]) -> None:
    out = Spliced(b"begin")
    for is_slice, data in parts:
        out += Text(data) if is_slice else data
        out.append(0)
    assert whole(out.pieces()) == b"begin" + b"".join(data + b"\0" for _, data in parts)
