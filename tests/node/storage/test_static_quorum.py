"""A disk of a static quorum: who votes stands in the file, and ids alone count."""

import random
from pathlib import Path
from uuid import UUID

import pytest

from node.config import NodeConfig
from node.effects import ElectionState
from node.ids import Epoch, NodeId, ReplicaKey
from node.records.metadata import FeatureLevelRecord
from node.server.outcome import Refusal
from node.server.properties import read_settings
from node.server.real_disk import RealDisk
from node.server.recovered import recover
from node.storage.disk import (
    BOOTSTRAP_CHECKPOINT,
    META_PROPERTIES,
    METADATA_DIRECTORY,
    QUORUM_STATE,
    CorruptFile,
    Disk,
)
from node.storage.format import encode_bootstrap, format_log_directory, is_static
from node.storage.meta import MetaProperties, encode_meta

CLUSTER = "4L6g3nShT-eMCtK--X86sw"
VOTERS = "controller.quorum.voters=1@a:9101,2@b:9102,3@c:9103\n"


def config(path: Path, voters: str = VOTERS) -> NodeConfig:
    text = "node.id=2\nlisteners=CONTROLLER://0.0.0.0:9102\n"
    text += "advertised.listeners=CONTROLLER://b:9102\ncontroller.listener.names=CONTROLLER\n"
    (path / "node.properties").write_text(
        f"{text}process.roles=controller\nlog.dirs={path}\n{voters}"
    )
    return read_settings(path / "node.properties").config


def formatted(path: Path, directory: UUID, *, static: bool = True) -> Disk:
    disk = RealDisk(path)
    format_log_directory(
        disk,
        cluster_id=CLUSTER,
        node_id=NodeId(2),
        voters=None,
        timestamp_ms=1,
        directory_id=directory,
        static=static,
    )
    return disk


def drawn() -> UUID:
    return UUID(int=random.getrandbits(128), version=4)


def test_another_disk_is_the_same_voter(tmp_path: Path) -> None:
    keys = []
    for name in ("old", "new"):
        path = tmp_path / name
        path.mkdir()
        found = recover(config(path), formatted(path, drawn()), drawn())
        assert found.disk_key.directory == found.meta.directory_id
        assert found.key in found.voters.newest
        assert found.voters.newest.majority == 2
        assert found.voters.first_records([ReplicaKey(NodeId(1))]) == ()
        keys.append((found.key, found.disk_key))
    assert keys[0][0] == keys[1][0] == ReplicaKey(NodeId(2))
    assert keys[0][1] != keys[1][1]


def test_without_a_list_nobody_votes(tmp_path: Path) -> None:
    disk = formatted(tmp_path, drawn())
    with pytest.raises(Refusal, match="the file lists"):
        recover(config(tmp_path, ""), disk, drawn())


def test_a_disk_that_learns_directory_ids_is_none_of_it(tmp_path: Path) -> None:
    disk = formatted(tmp_path, drawn(), static=False)
    assert not is_static(disk)
    found = recover(config(tmp_path), disk, drawn())
    assert found.key == found.disk_key


# As Apache Kafka 4.3.1 leaves it, whose voters are in its configuration.
KAFKAS = (
    '{"clusterId":"","leaderId":1,"leaderEpoch":4,"votedId":-1,"appliedOffset":0,'
    '"currentVoters":[{"voterId":1},{"voterId":2},{"voterId":3}],"data_version":0}'
)


def kafkas(path: Path) -> Disk:
    """As its tool leaves a disk where the configuration lists the voters: without a word of it, and
    without a directory of the metadata log."""
    disk = RealDisk(path)
    disk.replace(
        META_PROPERTIES,
        encode_meta(MetaProperties(cluster_id=CLUSTER, node_id=NodeId(2), directory_id=drawn())),
    )
    levels = [FeatureLevelRecord(name="metadata.version", feature_level=30)]
    disk.replace(BOOTSTRAP_CHECKPOINT, encode_bootstrap(levels, timestamp_ms=1))
    return disk


@pytest.mark.parametrize("has_run", [False, True])
def test_on_a_disk_of_kafkas_ids_alone_count_then_and_later(tmp_path: Path, has_run: bool) -> None:
    disk, epoch = kafkas(tmp_path), 0
    if has_run:
        disk.make_directory(METADATA_DIRECTORY)
        disk.replace(QUORUM_STATE, KAFKAS.encode())
        epoch = 4
    for number in range(2):
        found = recover(config(tmp_path), disk, drawn())
        assert found.key == ReplicaKey(NodeId(2)) != found.disk_key
        assert found.voters.newest.majority == 2
        assert found.election.epoch == epoch + number
        voted = ElectionState(epoch=Epoch(epoch + number + 1), voted=ReplicaKey(NodeId(3)))
        found.elections.save(voted)


def test_of_a_quorum_whose_voters_are_in_the_log_it_is_none(tmp_path: Path) -> None:
    """Apache Kafka's node saves as much there, until its log tells it otherwise."""
    disk = kafkas(tmp_path)
    disk.make_directory(METADATA_DIRECTORY)
    disk.replace(QUORUM_STATE, KAFKAS.encode())
    servers = "controller.quorum.bootstrap.servers=a:9101\n"
    found = recover(config(tmp_path, servers), disk, drawn())
    assert (found.key, is_static(disk)) == (found.disk_key, False)


def test_what_cannot_be_read_is_not_taken_for_either(tmp_path: Path) -> None:
    disk = formatted(tmp_path, drawn(), static=False)
    disk.replace(QUORUM_STATE, KAFKAS[:-1].encode())
    with pytest.raises(CorruptFile, match="quorum-state is damaged"):
        recover(config(tmp_path), disk, drawn())
    assert not is_static(disk)
