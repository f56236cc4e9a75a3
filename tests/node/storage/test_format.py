"""Formatting: what it leaves, what it refuses, and what a power cut in the middle of it leaves."""

from dataclasses import replace
from random import Random
from uuid import UUID

import pytest

from chaos.cluster.interface import PowerCutMode
from node.ids import Endpoint, NodeId, Offset, ReplicaKey
from node.records.metadata import FeatureLevelRecord
from node.storage.disk import (
    BOOTSTRAP_CHECKPOINT,
    META_PROPERTIES,
    METADATA_DIRECTORY,
    QUORUM_STATE,
    VOTERS_CHECKPOINT,
    AlreadyFormatted,
    CorruptFile,
    Disk,
    NotFormatted,
)
from node.storage.election_store import ElectionStore
from node.storage.format import format_log_directory, read_bootstrap, read_voters
from node.storage.log import Log
from node.storage.meta import MetaProperties, load_meta, parse_meta
from tests.support.power import PowerCut, Powered, new_disk

CLUSTER = "WmCeIv0zQw2p9rTbIk1ERQ"
VOTERS = tuple(
    (
        ReplicaKey(NodeId(node), UUID(int=node << 64)),
        (Endpoint(name="CONTROLLER", host=f"node-{node}", port=9100 + node),),
    )
    for node in (1, 2, 3)
)
FORMATTED = MetaProperties(
    cluster_id=CLUSTER, node_id=NodeId(2), directory_id=VOTERS[1][0].directory
)


def format_node(
    disk: Disk, node: int = 2, cluster: str = CLUSTER, *, ignore_formatted: bool = False
) -> bool:
    return format_log_directory(
        disk,
        cluster_id=cluster,
        node_id=NodeId(node),
        voters=VOTERS,
        timestamp_ms=1_700_000_000_000,
        ignore_formatted=ignore_formatted,
    )


def check_formatted(disk: Disk) -> None:
    assert load_meta(disk) == FORMATTED
    assert read_voters(disk) == VOTERS
    assert read_bootstrap(disk) == (FeatureLevelRecord(name="metadata.version", feature_level=30),)
    assert Log.open(disk, METADATA_DIRECTORY, 1 << 30).end().offset == Offset(0)
    assert ElectionStore(disk).load().epoch == 0


def test_what_it_wrote_is_read() -> None:
    disk = new_disk()
    assert format_node(disk)
    check_formatted(disk)
    assert disk.read_all(META_PROPERTIES) == (
        b"cluster.id=WmCeIv0zQw2p9rTbIk1ERQ\ndirectory.id=AAAAAAAAAAIAAAAAAAAAAA\n"
        b"node.id=2\nversion=1\n"
    )


def test_a_node_of_a_quorum_that_is_there_is_formatted_without_voters() -> None:
    disk, new = new_disk(), UUID(int=7 << 64)

    def format_(directory: UUID, *, ignore_formatted: bool = False) -> bool:
        return format_log_directory(
            disk,
            cluster_id=CLUSTER,
            node_id=NodeId(4),
            voters=(),
            timestamp_ms=1_700_000_000_000,
            directory_id=directory,
            ignore_formatted=ignore_formatted,
        )

    assert format_(new)
    assert load_meta(disk).directory_id == new
    assert read_voters(disk) == ()
    assert not format_(UUID(int=8 << 64), ignore_formatted=True)
    assert load_meta(disk).directory_id == new, "what is formatted keeps its id"
    with pytest.raises(AlreadyFormatted):
        format_(UUID(int=8 << 64))


def test_a_disk_of_listed_voters_says_nothing_of_who_votes() -> None:
    disk, new = new_disk(), UUID(int=7 << 64)
    assert format_log_directory(
        disk,
        cluster_id=CLUSTER,
        node_id=NodeId(2),
        voters=None,
        timestamp_ms=1_700_000_000_000,
        directory_id=new,
    )
    assert load_meta(disk) == replace(FORMATTED, directory_id=new, lists_voters=True)
    whole = disk.read_all(META_PROPERTIES)
    assert b"\nvoters=controller.quorum.voters\n" in whole
    for size in range(len(whole) - 1):  # what is left must not pass for a disk that says nothing
        with pytest.raises(ValueError, match=r"version is|line "):
            parse_meta(whole[:size])
    assert not disk.exists(VOTERS_CHECKPOINT)
    with pytest.raises(CorruptFile, match=r"set controller\.quorum\.voters, if it was set when"):
        read_voters(disk)


def test_a_disk_without_a_directory_id_is_given_one_for_good() -> None:
    disk, first, second = new_disk(), UUID(int=7 << 64), UUID(int=8 << 64)
    format_node(disk)
    old = b"cluster.id=WmCeIv0zQw2p9rTbIk1ERQ\nnode.id=2\nversion=1\n"
    disk.replace(META_PROPERTIES, old)
    with pytest.raises(CorruptFile, match=r"directory\.id missing"):
        load_meta(disk)
    assert load_meta(disk, first).directory_id == first
    assert load_meta(disk, second).directory_id == first


def count_steps() -> int:
    power = Powered()
    format_node(power.disk)
    return power.steps


@pytest.mark.parametrize("mode", list(PowerCutMode))
@pytest.mark.parametrize("steps", range(count_steps() + 1))
def test_a_power_cut_leaves_a_formatted_disk_or_one_to_be_formatted(
    steps: int, mode: PowerCutMode
) -> None:
    power = Powered(steps_left=steps)
    cut = False
    try:
        format_node(power.disk)
    except PowerCut:
        cut = True
    power.power_off(mode, Random(steps))
    assert cut == (steps < count_steps())
    # Without its last sync it may be formatted, if the journal was written all the same.
    if cut and (mode is PowerCutMode.LOSE_ALL or not power.disk.exists(META_PROPERTIES)):
        with pytest.raises(NotFormatted, match="kraft-node format"):
            load_meta(power.disk)
        assert format_node(power.disk)
    check_formatted(power.disk)


def test_a_formatted_directory_is_not_formatted_again() -> None:
    disk = new_disk()
    format_node(disk)
    with pytest.raises(AlreadyFormatted, match="--ignore-formatted leaves"):
        format_node(disk)
    assert not format_node(disk, ignore_formatted=True)
    with pytest.raises(AlreadyFormatted, match="cluster WmCeIv0zQw2p9rTbIk1ERQ, node 2"):
        format_node(disk, 3, ignore_formatted=True)
    with pytest.raises(AlreadyFormatted, match="cluster WmCeIv0zQw2p9rTbIk1ERQ, node 2"):
        format_node(disk, 2, "another", ignore_formatted=True)
    check_formatted(disk)


def test_a_log_or_a_vote_without_an_owner_is_not_formatted_over() -> None:
    for remains in (QUORUM_STATE, f"{METADATA_DIRECTORY}/00000000000000000000.log"):
        disk = new_disk()
        disk.make_directory(METADATA_DIRECTORY)
        disk.replace(remains, b"x")
        with pytest.raises(AlreadyFormatted, match=r"meta\.properties is missing"):
            format_node(disk)


@pytest.mark.parametrize(
    ("node", "cluster", "reason"),
    [
        (4, CLUSTER, "node 4 is not among the voters"),
        (1, "", "cluster.id"),
        (1, "a\nnode.id=3", "cluster.id"),
    ],
)
def test_impossible_identities_are_refused(node: int, cluster: str, reason: str) -> None:
    power = Powered()
    with pytest.raises(ValueError, match=reason):
        format_node(power.disk, node, cluster)
    assert power.steps == 0


def test_voters_need_directory_ids_of_their_own() -> None:
    nameless = ((ReplicaKey(NodeId(1)), VOTERS[0][1]),)
    twice = (VOTERS[0], (ReplicaKey(NodeId(1), UUID(int=5 << 64)), VOTERS[0][1]))
    for voters, reason in ((nameless, "is reserved"), (twice, "appears twice")):
        with pytest.raises(ValueError, match=reason):
            format_log_directory(
                new_disk(),
                cluster_id=CLUSTER,
                node_id=NodeId(1),
                voters=voters,
                timestamp_ms=0,
            )


def test_kafkas_own_meta_properties_are_read() -> None:
    text = (
        b"#\n#Sat Nov 21 05:58:16 UTC 2026\nnode.id=2\nversion=1\n"
        b"directory.id=AAAAAAAAAAIAAAAAAAAAAA\r\ncluster.id=WmCeIv0zQw2p9rTbIk1ERQ\n"
    )
    assert parse_meta(text) == FORMATTED


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"version=1", b"version=0", "version is 0, not 1"),
        (b"node.id=2\n", b"", "node.id missing"),
        (b"node.id=2", b"node.id=two", "node.id is 'two'"),
        (b"node.id=2", b"node.id=2\nnode.id=3", "line 'node.id=3'"),
        (b"AAAAAAAAAAIAAAAAAAAAAA", b"AAAAAAAAAAAAAAAAAAAAAQ", "is reserved"),
        (b"AAAAAAAAAAIAAAAAAAAAAA", b"AAAA", "not a Kafka uuid"),
        (b"cluster.id=WmCeIv0zQw2p9rTbIk1ERQ", b"cluster.id=", "cluster.id is ''"),
        (b"cluster.id", b"\xff\x00", "damaged"),
        (b"version", b"vpters=controller.quorum.voters\nversion", "vpters is no key of it"),
        (b"version", b"voters=nobody\nversion", "voters is 'nobody'"),
    ],
)
def test_damaged_meta_properties_are_refused(old: bytes, new: bytes, reason: str) -> None:
    disk = new_disk()
    format_node(disk)
    disk.replace(META_PROPERTIES, disk.read_all(META_PROPERTIES).replace(old, new))
    with pytest.raises(CorruptFile, match=reason):
        load_meta(disk)


@pytest.mark.parametrize("path", [VOTERS_CHECKPOINT, BOOTSTRAP_CHECKPOINT])
def test_an_incomplete_checkpoint_is_refused(path: str) -> None:
    disk = new_disk()
    format_node(disk)
    whole = disk.read_all(path)
    read = read_voters if path == VOTERS_CHECKPOINT else read_bootstrap
    for size in range(len(whole)):
        disk.replace(path, whole[:size])
        with pytest.raises(CorruptFile, match=r"\.checkpoint is damaged"):
            read(disk)
    disk.replace(path, whole + whole)
    with pytest.raises(CorruptFile, match="bytes after the snapshot's footer"):
        read(disk)
    disk.remove(path)
    with pytest.raises(CorruptFile, match=r"is missing"):
        read(disk)
