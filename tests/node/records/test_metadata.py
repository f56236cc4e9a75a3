"""Metadata records: Kafka's field tables, Kafka's bytes, and nothing read into others."""

import json
import re
from dataclasses import Field, fields, is_dataclass, replace
from types import NoneType
from typing import Any, get_args, get_origin
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.codec import UnencodableMessage, write_whole
from node.records import metadata
from node.records.metadata import (
    ELR,
    KINDS,
    NEWEST,
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    MalformedRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterControllerRecord,
    UnknownRecord,
    decode_metadata,
    encode_metadata,
    written_version,
)
from node.records.schemas import RECORD_TYPES, ControllerEndpoint, ControllerFeature
from tests.support.codec_shapes import values_of
from tests.support.kafka_schemas import SCHEMAS, KafkaRecord, kafka_records, with_schemas

EXAMPLES: list[tuple[MetadataRecord, bytes]] = [
    (
        ConfigRecord(resource_type=16, resource_name="r", name="interval.ms", value="100"),
        b"\x01\x04\x00" b"\x10\x02r\x0cinterval.ms\x04100\x00",
    ),
    (
        ConfigRecord(resource_type=16, resource_name="r", name="n", value=None),
        b"\x01\x04\x00" b"\x10\x02r\x02n\x00\x00",
    ),
    (
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        b"\x01\x0c\x00" b"\x11metadata.version\x00\x1e\x00",
    ),
    (NoOpRecord(), b"\x01\x14\x00\x00"),
    (BeginTransactionRecord(), b"\x01\x17\x00\x00"),
    (BeginTransactionRecord(name="ab"), b"\x01\x17\x00" b"\x01\x00\x03\x03ab"),
    (EndTransactionRecord(), b"\x01\x18\x00\x00"),
    (AbortTransactionRecord(reason=""), b"\x01\x19\x00" b"\x01\x00\x01\x01"),
    (
        RegisterControllerRecord(
            controller_id=3,
            incarnation_id=UUID(bytes=bytes(range(16))),
            zk_migration_ready=False,
            end_points=(ControllerEndpoint(name="C", host="h", port=40_000, security_protocol=0),),
            features=(
                ControllerFeature(
                    name="kraft.version", min_supported_version=0, max_supported_version=1
                ),
            ),
        ),
        b"\x01\x1b\x00" b"\0\0\0\x03" + bytes(range(16)) + b"\0"
        b"\x02\x02C\x02h\x9c\x40\0\0\0" b"\x02\x0ekraft.version\0\0\0\x01\0" b"\0",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("record", "value"), EXAMPLES)
def test_a_record_is_these_bytes(record: MetadataRecord, value: bytes) -> None:
    assert encode_metadata(record) == value
    assert decode_metadata(value) == record


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "without a value"),
        (b"", "cut short"),
        (b"\x01\x84", "cut short"),
        (b"\x00\x14\x00\x00", "frame version is 0, not 1"),
        (b"\x02\x63\x00\x00", "frame version is 2, not 1"),
        (b"\x01\xff\xff\xff\xff\xff\x01\x00", "cut short"),
        (b"\x01\x14\x00", "not a NoOpRecord"),
        (b"\x01\x14\x00\x00\x00", "1 bytes left over"),
        (b"\x01\x14\x00\x01\x05\x01", "not a NoOpRecord: tag 5 of 1 bytes, 0 left"),
        (b"\x01\x04\x00\x10\x02\xff\x02a\x02b\x00", "not a ConfigRecord"),
    ],
)
def test_what_is_no_record_is_refused(value: bytes | None, reason: str) -> None:
    with pytest.raises(MalformedRecord, match=reason):
        decode_metadata(value)


@pytest.mark.parametrize(
    ("value", "unknown"),
    [
        (b"\x01\x0e\x00anything", "ClientQuotaRecord (type 14, version 0)"),
        (b"\x01\x14\x01\x00", "NoOpRecord (type 20, version 1)"),
        (b"\x01\x14\x80\x01", "NoOpRecord (type 20, version 128)"),
        (b"\x01\xc8\x01\x02", "metadata record (type 200, version 2)"),
    ],
)
def test_what_only_others_can_replay_is_told_from_damage(value: bytes, unknown: str) -> None:
    assert str(decode_metadata(value)) == unknown


@with_schemas
def test_types_have_kafkas_names() -> None:
    found = {record.number: record.name for record in kafka_records() if record.number >= 0}
    assert {number: RECORD_TYPES[number] for number in found} == found
    assert set(RECORD_TYPES) - set(found) == {29}, "4.4's, whose schemas are not there"


@given(
    st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 17, 20, 21, 23, 24, 25, 27, 28]),
    st.binary(max_size=100),
)
def test_any_bytes_are_decoded_or_refused(kind: int, body: bytes) -> None:
    try:
        record = decode_metadata(bytes((1, kind, 0)) + body)
    except MalformedRecord:
        return
    assert not isinstance(record, UnknownRecord)
    again = bytes((1, kind, 0)) + write_whole(record, 0)
    assert decode_metadata(again) == record


@with_schemas
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_fields_are_those_of_kafkas_schema(kind: type[MetadataRecord]) -> None:
    name = kind.__name__.replace("ZkMigrationState", "ZkMigration")  # the file goes by that name
    text = (SCHEMAS / f"{name}.json").read_text()
    schema = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    assert schema["name"] == kind.__name__
    assert schema["apiKey"] == kind.__record_type__
    newest = kind.__version__
    assert schema["validVersions"] == (f"0-{newest}" if newest else "0")
    assert schema["flexibleVersions"] == "0+"
    described = _described(kind)
    assert [row for row in described if row not in OURS] == _specified(schema["fields"])


# A field as both sides tell it: name, type (or the fields of a struct), whether null differs from
# what else it may be, tag, first version.
_Row = tuple[str, object, bool, int | None, int]
# What KIP-966 has for unclean recovery, and Kafka's schemas do not have.
OURS: list[_Row] = [("last_known_leader", "int32", False, 100, 2)]


def _specified(rows: list[dict[str, Any]]) -> list[_Row]:
    described: list[_Row] = []
    for row in rows:
        first = row["versions"].removesuffix("+")
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", row["name"]).lower()
        kind = row["type"].removeprefix("[]")
        shape = _specified(row["fields"]) if "fields" in row else kind
        nullable = row.get("nullableVersions") == row["versions"]
        assert row.get("taggedVersions", row["versions"]) == row["versions"]
        described.append((name, shape, nullable, row.get("tag"), int(first)))
    return described


def _described(kind: type) -> list[_Row]:
    return [_described_field(field) for field in fields(kind)]


def _described_field(field: "Field[Any]") -> _Row:
    args = [arg for arg in get_args(field.type) if arg is not NoneType]
    inner = args[0] if args else field.type
    if get_origin(inner) is tuple:
        inner = get_args(inner)[0]
    if is_dataclass(inner):
        assert isinstance(inner, type)
        return field.name, _described(inner), False, None, 0
    known = field.metadata
    # kio reads the zero uuid as None, and some of ours do as well; null it never is.
    nullable = NoneType in get_args(field.type) and known["kafka_type"] != "uuid"
    is_list_of_uuids = "tuple" in str(field.type) and NoneType in get_args(field.type)
    tag, since = known.get("tag"), known.get("since", 0)
    return field.name, known["kafka_type"], nullable or is_list_of_uuids, tag, since


@with_schemas
@pytest.mark.parametrize(
    "found",
    [
        pytest.param(found, id=f"{found.name}-{found.version}")
        for found in kafka_records()
        if found.number in {kind.__record_type__ for kind in KINDS}
    ],
)
@settings(max_examples=20)
@given(data=st.data())
def test_every_version_is_read_and_written_again(found: KafkaRecord, data: st.DataObject) -> None:
    """What Kafka's own schema of a version writes, ours reads, and writes to the bit again at a
    level of metadata.version that has that version."""
    body = write_whole(data.draw(values_of(found.record)))
    value = bytes((1, found.number, found.version)) + body
    record = decode_metadata(value)
    assert not isinstance(record, UnknownRecord)
    levels = {written_version(type(record), level): level for level in range(1, NEWEST + 1)}
    if found.version in levels:
        assert encode_metadata(record, levels[found.version]) == value
    else:
        assert value == value[:3] + write_whole(record, found.version)


def test_an_older_version_cannot_say_what_it_does_not_know() -> None:
    change = PartitionChangeRecord(
        partition_id=1, topic_id=UUID(int=7), eligible_leader_replicas=(2,)
    )
    assert decode_metadata(encode_metadata(change, ELR)) == change
    with pytest.raises(UnencodableMessage, match="version 1 has no eligible_leader_replicas"):
        encode_metadata(change, ELR - 1)


@pytest.mark.parametrize(
    "record",
    [
        PartitionChangeRecord(partition_id=1, topic_id=UUID(int=7)),
        PartitionRecord(
            partition_id=1,
            topic_id=UUID(int=7),
            replicas=(),
            isr=(),
            removing_replicas=(),
            adding_replicas=(),
            leader=-1,
            leader_epoch=0,
            partition_epoch=0,
        ),
    ],
    ids=lambda record: type(record).__name__,
)
def test_the_last_known_leader_takes_no_byte_until_it_is_set(
    record: PartitionChangeRecord | PartitionRecord,
) -> None:
    unset = encode_metadata(record, ELR)
    assert unset.endswith(b"\0"), "no tagged field"
    for leader in (-1, 5) if isinstance(record, PartitionChangeRecord) else (0, 5):
        known = replace(record, last_known_leader=leader)
        value = encode_metadata(known, ELR)
        assert value == unset[:-1] + b"\x01\x64\x04" + leader.to_bytes(4, "big", signed=True)
        assert decode_metadata(value) == known
    assert decode_metadata(unset) == record


def test_each_kind_has_a_type_of_its_own() -> None:
    assert len({kind.__record_type__ for kind in KINDS}) == len(KINDS)
    assert all(RECORD_TYPES[kind.__record_type__] == kind.__name__ for kind in KINDS)


def test_what_is_remembered_of_values_is_small_and_sound() -> None:
    """A client that fills the log with large values fills no memory with them."""
    large = ConfigRecord(resource_type=16, resource_name="a", name="b", value="x" * 600)
    kept = metadata._remembered.cache_info().currsize
    assert decode_metadata(encode_metadata(large)) == large
    with pytest.raises(MalformedRecord):
        decode_metadata(encode_metadata(replace(large, value="x"))[:-1])
    assert metadata._remembered.cache_info().currsize == kept
