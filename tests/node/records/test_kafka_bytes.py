"""Bytes that Apache Kafka 4.3.1 wrote: read as what they say, and written again the same."""

from uuid import UUID

import pytest

from node.ids import Endpoint, NodeId, ReplicaKey
from node.records.batch import Batch, KeyValue, encode_batch, split_batches
from node.records.control import (
    ControlRecord,
    KRaftVersion,
    LeaderChange,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
    Voters,
    decode_control,
    encode_control,
)
from node.records.metadata import (
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    MetadataRecord,
    NoOpRecord,
    RegisterControllerRecord,
    UnknownRecord,
    decode_metadata,
    encode_metadata,
)
from node.storage.disk import METADATA_DIRECTORY, VOTERS_CHECKPOINT
from node.storage.format import read_voters
from tests.support.power import new_disk

# The 0-0 checkpoint that its storage tool writes for
# --initial-controllers 1@127.0.0.1:19301:JEXY6aqzQY-32P5TStzaFg.
CHECKPOINT = (
    "00000000000000000000009a000000000277e4ddac002000000002000001a1fcd48e6e000001a1fcd48e6eff"
    "ffffffffffffffffffffffffff000000032a0000000800000003160000000001a1fcd48e4000001e00000208"
    "000000050a000000010000820100000408000000066e000002000000012445d8e9aab3418fb7d8fe534adcda"
    "16020b434f4e54524f4c4c45520a3132372e302e302e314b65000000000100000000"
    "00000000000000030000003f0000000002d0886c3f002000000000000001a1fcd48e7d000001a1fcd48e7dff"
    "ffffffffffffffffffffffffff000000011a00000008000000040600000000"
)
# The first batches of that controller's log.
LOG = (
    "0000000000000000000000a20000000102333ac27a002000000002000001a1fcd31b79000001a1fcd31b79ff"
    "ffffffffffffffffffffffffff000000033a0000000800000002260000000000010200000001000200000001"
    "0000001e00000208000000050a000000010000820100000408000000066e000002000000012445d8e9aab341"
    "8fb7d8fe534adcda16020b434f4e54524f4c4c45520a3132372e302e302e314b65000000000100000000"
    "0000000000000003000000790000000102f3fbfa6c000000000002000001a1fcd31c85000001a1fcd31c85ff"
    "ffffffffffffffffffffffffff000000033c000000013001170001001212426f6f747374726170207265636f"
    "726473003a000002012e010c00116d657461646174612e76657273696f6e001e000014000004010801180000"
    "00"
    "0000000000000006000001120000000102405aac0a000000000000000001a1fcd31e68000001a1fcd31e68ff"
    "ffffffffffffffffffffffffff00000001be0300000001b003011b00000000014aab6f9a932c4679b211cbc2"
    "f296ad5900020b434f4e54524f4c4c45520a3132372e302e302e314b65000000080e67726f75702e76657273"
    "696f6e00000001000e6b726166742e76657273696f6e0000000100116d657461646174612e76657273696f6e"
    "0007001e000e73686172652e76657273696f6e00000001001073747265616d732e76657273696f6e00000001"
    "00147472616e73616374696f6e2e76657273696f6e000000020021656c696769626c652e6c65616465722e72"
    "65706c696361732e76657273696f6e00000001000000"
    "00000000000000070000003c0000000102a502e571000000000000000001a1fcd31e8a000001a1fcd31e8aff"
    "ffffffffffffffffffffffffff000000011400000001080114000000"
)

KEY = ReplicaKey(NodeId(1), UUID("2445d8e9-aab3-418f-b7d8-fe534adcda16"))
ENDPOINT = Endpoint(name="CONTROLLER", host="127.0.0.1", port=19301)
VOTERS = Voters(voters=(Voter(key=KEY, endpoints=(ENDPOINT,)),))


def batches(text: str) -> list[Batch]:
    return list(split_batches(bytes.fromhex(text)))


def decoded(batch: Batch) -> list[ControlRecord | MetadataRecord]:
    found = [
        decode_control(record.key, record.value)
        if batch.header.is_control
        else decode_metadata(record.value)
        for record in batch.records()
    ]
    known = [record for record in found if not isinstance(record, UnknownRecord)]
    assert known == found
    return known


def encoded(record: ControlRecord | MetadataRecord) -> KeyValue:
    if isinstance(record, ControlRecord):
        return encode_control(record)
    return None, encode_metadata(record)


def test_the_checkpoint_is_read() -> None:
    opening, closing = batches(CHECKPOINT)
    assert decoded(opening) == [
        SnapshotHeader(last_contained_timestamp_ms=1795243150912),
        KRaftVersion(version=1),
        VOTERS,
    ]
    assert decoded(closing) == [SnapshotFooter()]
    disk = new_disk()
    disk.make_directory(METADATA_DIRECTORY)
    disk.replace(VOTERS_CHECKPOINT, bytes.fromhex(CHECKPOINT))
    assert read_voters(disk) == ((KEY, (ENDPOINT,)),)


def test_the_log_is_read() -> None:
    first, bootstrap, registration, idle = (decoded(batch) for batch in batches(LOG))
    leader = LeaderChange(
        leader=KEY.id, voters=(ReplicaKey(KEY.id),), granting_voters=(ReplicaKey(KEY.id),)
    )
    assert first == [leader, KRaftVersion(version=1), VOTERS]
    assert bootstrap == [
        BeginTransactionRecord(name="Bootstrap records"),
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        EndTransactionRecord(),
    ]
    (controller,) = registration
    assert isinstance(controller, RegisterControllerRecord)
    assert controller.end_points[0].port == 19301
    assert controller.features[2].max_supported_version == 30
    assert idle == [NoOpRecord()]


@pytest.mark.parametrize("batch", batches(CHECKPOINT) + batches(LOG))
def test_every_batch_is_written_again_to_the_bit(batch: Batch) -> None:
    header = batch.header
    again = encode_batch(
        [encoded(record) for record in decoded(batch)],
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        timestamp_ms=header.base_timestamp_ms,
        control=header.is_control,
    )
    assert again == batch.data
