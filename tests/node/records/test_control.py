"""Control records: Kafka's bytes, and nothing read into others."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.codec.varint import write_unsigned
from node.ids import Endpoint, NodeId, ReplicaKey
from node.records.batch import MalformedRecord
from node.records.control import (
    AddVoter,
    ControlRecord,
    KRaftVersion,
    LeaderChange,
    RemoveVoter,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
    Voters,
    decode_control,
    encode_control,
)

DIRECTORY = UUID(bytes=bytes(range(16)))
ONE, TWO = ReplicaKey(NodeId(1)), ReplicaKey(NodeId(2))
LEADER = LeaderChange(leader=NodeId(2), voters=(ONE, TWO), granting_voters=(TWO,))
VOTERS = Voters(
    voters=(
        Voter(
            key=ReplicaKey(NodeId(1), DIRECTORY),
            endpoints=(Endpoint(name="C", host="n1", port=40_000),),
        ),
        Voter(key=ReplicaKey(NodeId(2)), endpoints=()),
    )
)
BYTES: list[tuple[ControlRecord, str, str]] = [
    (
        LEADER,
        "00000002",
        "0000" "00000002" "03" "00000001" "00" "00000002" "00" "02" "00000002" "00" "00",
    ),
    (
        LeaderChange(
            leader=NodeId(2),
            voters=(ONE, ReplicaKey(NodeId(2), DIRECTORY)),
            granting_voters=(ReplicaKey(NodeId(2), DIRECTORY),),
        ),
        "00000002",
        "0001" "00000002"
        "03" "00000001" + "00" * 16 + "00" "00000002" + bytes(range(16)).hex() + "00"
        "02" "00000002" + bytes(range(16)).hex() + "00" "00",
    ),
    (SnapshotHeader(last_contained_timestamp_ms=5), "00000003", "0000" "0000000000000005" "00"),
    (SnapshotFooter(), "00000004", "0000" "00"),
    (KRaftVersion(version=1), "00000005", "0000" "0001" "00"),
    (
        VOTERS,
        "00000006",
        "0000" "03"
        "00000001" + bytes(range(16)).hex()
        + "02" "0243" "036e31" "9c40" "00" "0000" "0001" "00" "00"
        "00000002" + "00" * 16 + "01" "0000" "0001" "00" "00"
        "00",
    ),
    (
        AddVoter(key=ReplicaKey(NodeId(3), DIRECTORY)),
        "00000007",
        "0000" "00000003" + bytes(range(16)).hex() + "00",
    ),
    (
        RemoveVoter(key=ReplicaKey(NodeId(3), DIRECTORY)),
        "00000008",
        "0000" "00000003" + bytes(range(16)).hex() + "00",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("record", "key", "value"), BYTES)
def test_a_record_is_these_bytes(record: ControlRecord, key: str, value: str) -> None:
    encoded = encode_control(record)
    assert encoded == (bytes.fromhex(key), bytes.fromhex(value))
    assert decode_control(*encoded) == record


@pytest.mark.parametrize("kind", [-1, 0, 1, 9, 10])
def test_other_types_are_refused_and_not_skipped(kind: int) -> None:
    key = b"\0\0" + kind.to_bytes(2, "big", signed=True)
    with pytest.raises(MalformedRecord, match=f"control record type {kind} is unknown"):
        decode_control(key, b"\0\0\0\0\0\0")


@pytest.mark.parametrize(("key", "value"), [(None, b""), (b"\0\0\0", b""), (b"\0\0\0\2", None)])
def test_a_control_record_has_a_key_and_a_value(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(MalformedRecord, match="needs a key of 4 bytes and a value"):
        decode_control(key, value)


@pytest.mark.parametrize(("claimed", "size"), [(0, 25), (1, 9)])
def test_no_version_of_a_leader_change_is_read_as_the_other(claimed: int, size: int) -> None:
    """Its voters carry directory ids or do not, and one looks like more or fewer of them."""
    voter = (bytes.fromhex("00000001") + bytes(16))[: size - 5]
    value = claimed.to_bytes(2, "big") + bytes.fromhex("0000000202") + voter + b"\0\1\0"
    with pytest.raises(MalformedRecord):
        decode_control(b"\0\0\0\2", value)


@pytest.mark.parametrize("count", [3, 1000, 2**31, 2**32 - 1, 2**63])
def test_an_array_longer_than_its_record_is_refused(count: int) -> None:
    """No room is reserved for it first, which there may not be."""
    lengths = bytearray()
    write_unsigned(lengths, count + 1)
    for kind, before in ((2, bytes(6)), (6, bytes(2)), (6, b"\0\0\x02" + bytes(20))):
        with pytest.raises(MalformedRecord, match=r"array of \d+ elements|varint"):
            decode_control(b"\0\0\0" + bytes([kind]), before + bytes(lengths) + b"\0\0")


def test_a_null_array_is_refused_where_the_schema_knows_none() -> None:
    with pytest.raises(MalformedRecord, match="array of -1 elements"):
        decode_control(b"\x00\x00\x00\x06", bytes(4))


@given(st.integers(2, 8), st.binary(max_size=100))
def test_any_bytes_are_decoded_or_refused(kind: int, value: bytes) -> None:
    try:
        decode_control(b"\0\0\0" + bytes([kind]), value)
    except MalformedRecord:
        return
