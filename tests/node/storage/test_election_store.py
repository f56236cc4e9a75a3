"""quorum-state: Kafka's bytes, both versions, and nothing guessed from damaged ones."""

from uuid import UUID

import pytest

from chaos.cluster.sim.disk.disk import SimDisk
from node.effects import ElectionState
from node.ids import Epoch, NodeId, ReplicaKey
from node.storage.disk import METADATA_DIRECTORY, QUORUM_STATE, CorruptFile
from node.storage.election_store import ElectionStore
from node.storage.log import Log
from tests.support.batches import batch
from tests.support.power import new_disk

VOTED = ElectionState(
    epoch=Epoch(7),
    voted=ReplicaKey(NodeId(2), UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")),
)
VOTED_TEXT = (
    b'{"leaderId":-1,"leaderEpoch":7,"votedId":2,'
    b'"votedDirectoryId":"-B1Prn3sEdCnZQCgyR5r9g","data_version":1}'
)


@pytest.fixture
def disk() -> SimDisk:
    disk = new_disk()
    disk.make_directory(METADATA_DIRECTORY)
    return disk


def test_a_new_node_knows_no_epoch(disk: SimDisk) -> None:
    assert ElectionStore(disk).load() == ElectionState()


def test_what_was_saved_is_loaded(disk: SimDisk) -> None:
    store = ElectionStore(disk)
    for state in (VOTED, ElectionState(epoch=Epoch(8), leader=NodeId(3)), ElectionState()):
        store.save(state)
        assert store.load() == state


def test_it_is_one_line_as_kafka_writes_it(disk: SimDisk) -> None:
    ElectionStore(disk).save(VOTED)
    assert disk.read_all(QUORUM_STATE) == VOTED_TEXT
    ElectionStore(disk).save(ElectionState(epoch=Epoch(8), leader=NodeId(3)))
    assert disk.read_all(QUORUM_STATE) == (
        b'{"leaderId":3,"leaderEpoch":8,"votedId":-1,'
        b'"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    )


def test_version_0_is_read_and_knows_no_voted_directory(disk: SimDisk) -> None:
    disk.replace(
        QUORUM_STATE,
        b'{"clusterId":"","leaderId":-1,"leaderEpoch":4,"votedId":1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}',
    )
    expected = ElectionState(epoch=Epoch(4), voted=ReplicaKey(NodeId(1)))
    assert ElectionStore(disk).load() == expected


@pytest.mark.parametrize(
    "content",
    [
        b"",
        bytes(100),
        VOTED_TEXT[:-1],
        VOTED_TEXT[:40],
        VOTED_TEXT.replace(b"votedId", b"votedIe"),
        VOTED_TEXT.replace(b'"leaderEpoch":7', b'"leaderEpoch":-7'),
        VOTED_TEXT.replace(b'"leaderEpoch":7', b'"leaderEpoch":7.0'),
        VOTED_TEXT.replace(b'"leaderEpoch":7', b'"leaderEpoch":true'),
        VOTED_TEXT.replace(b'"leaderEpoch":7', b'"leaderEpoch":99999999999'),
        VOTED_TEXT.replace(b'"votedId":2', b'"votedId":-1'),
        VOTED_TEXT.replace(b"-B1P", b"B1P"),
        VOTED_TEXT.replace(b'version":1', b'version":2'),
        b"[" * 2_000,
        VOTED_TEXT + b" " * (1 << 16),
        b"[]",
        b"\xff\xfe",
    ],
)
def test_what_nobody_writes_is_refused(disk: SimDisk, content: bytes) -> None:
    disk.replace(QUORUM_STATE, content)
    with pytest.raises(CorruptFile, match="quorum-state is damaged"):
        ElectionStore(disk).load()
    assert disk.read_all(QUORUM_STATE) == content


def test_a_state_that_was_lost_is_not_taken_for_a_new_node(disk: SimDisk) -> None:
    log = Log.open(disk, METADATA_DIRECTORY, 1 << 20)
    assert ElectionStore(disk).load() == ElectionState(), "an empty log belongs to a new node"
    log.append(batch(0, 1))
    with pytest.raises(CorruptFile, match=r"quorum-state is missing, but .*\.log holds records"):
        ElectionStore(disk).load()
