"""What our node writes, read by the reader that shares nothing with it."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from checkers.disk import read_disks
from node.effects import ElectionState
from node.ids import Epoch, NodeId, Offset, ReplicaKey, uuid_text
from node.records.batch import encode_batch
from node.records.control import KRaftVersion, LeaderChange, encode_control
from node.records.metadata import MetadataRecord, encode_metadata
from node.records.schemas import ConfigRecord, FeatureLevelRecord, NoOpRecord
from node.storage.election_store import encode_election_state
from node.storage.meta import MetaProperties, encode_meta

DIRECTORY = UUID(int=7 << 64 | 9)


def data_batch(base: int, *records: MetadataRecord) -> bytes:
    values = [(None, encode_metadata(record)) for record in records]
    return encode_batch(values, base_offset=Offset(base), leader_epoch=Epoch(4), timestamp_ms=5)


@pytest.fixture
def disks(tmp_path: Path) -> Path:
    log = tmp_path / "node-2" / "kraft" / "__cluster_metadata-0"
    log.mkdir(parents=True)
    meta = MetaProperties(cluster_id="cluster", node_id=NodeId(2), directory_id=DIRECTORY)
    (log.parent / "meta.properties").write_bytes(encode_meta(meta))
    voted = ReplicaKey(NodeId(3), DIRECTORY)
    state = ElectionState(epoch=Epoch(4), leader=NodeId(3), voted=voted)
    (log / "quorum-state").write_bytes(encode_election_state(state))
    elected = LeaderChange(
        leader=NodeId(3),
        voters=(ReplicaKey(NodeId(2)), ReplicaKey(NodeId(3), DIRECTORY)),
        granting_voters=(voted,),
    )
    control = encode_batch(
        [encode_control(elected), encode_control(KRaftVersion(version=1))],
        base_offset=Offset(0),
        leader_epoch=Epoch(4),
        timestamp_ms=5,
        control=True,
    )
    config = ConfigRecord(
        resource_type=16, resource_name="r-0", name="interval.ms", value="1234   "
    )
    level = FeatureLevelRecord(name="metadata.version", feature_level=25)
    batches = control + data_batch(2, level, config) + data_batch(4, NoOpRecord())
    (log / f"{0:020}.log").write_bytes(batches)
    return tmp_path


def test_identity_and_election_state(disks: Path) -> None:
    (row,) = read_disks(disks)["disks"].to_pylist()
    assert row == {
        "node": 2,
        "directory": uuid_text(DIRECTORY),
        "cluster_id": "cluster",
        "epoch": 4,
        "leader": 3,
        "voted": 3,
        "voted_directory": uuid_text(DIRECTORY),
        "log_end": 5,
        "clean_shutdown": None,
        "problem": None,
    }


def test_batches_and_records(disks: Path) -> None:
    tables = read_disks(disks)
    batches = tables["log_batches"].to_pylist()
    assert [(b["base_offset"], b["last_offset"], b["epoch"], b["control"]) for b in batches] == [
        (0, 1, 4, True),
        (2, 3, 4, False),
        (4, 4, 4, False),
    ]
    assert all(batch["crc_ok"] for batch in batches)
    records = tables["log_records"].to_pylist()
    assert [record["type"] for record in records] == [
        "LeaderChange",
        "KRaftVersion",
        "FeatureLevel",
        "Config",
        "NoOp",
    ]
    assert records[0]["leader"] == 3
    told = json.loads(records[0]["detail"])["grantingVoters"]
    assert told == [{"voterId": 3, "voterDirectoryId": uuid_text(DIRECTORY)}]
    config = records[3]
    assert (config["resource_type"], config["resource"], config["name"], config["value"]) == (
        16,
        "r-0",
        "interval.ms",
        "1234",
    )
