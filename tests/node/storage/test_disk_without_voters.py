"""A disk that Apache Kafka's tool formatted without voters: its node learns them from the log."""

import random
from pathlib import Path
from uuid import UUID

import pytest

from node.config import NodeConfig
from node.ids import NodeId
from node.server.properties import read_settings
from node.server.real_disk import RealDisk
from node.server.recovered import node_on, recover
from node.storage.disk import VOTERS_CHECKPOINT, CorruptFile
from node.storage.format import encode_voters, format_log_directory

SERVERS = "controller.quorum.bootstrap.servers=a:9101,b:9102,c:9103\n"
ME = UUID(int=7 << 64)


def config(path: Path, known: str) -> NodeConfig:
    text = "node.id=2\nlisteners=CONTROLLER://0.0.0.0:9102\n"
    text += "advertised.listeners=CONTROLLER://b:9102\ncontroller.listener.names=CONTROLLER\n"
    (path / "node.properties").write_text(
        f"{text}process.roles=controller\nlog.dirs={path}\n{known}"
    )
    return read_settings(path / "node.properties").config


def formatted(path: Path) -> RealDisk:
    """As `StorageTool format --no-initial-controllers` does it: with no checkpoint of voters."""
    disk = RealDisk(path)
    format_log_directory(
        disk,
        cluster_id="4L6g3nShT-eMCtK--X86sw",
        node_id=NodeId(2),
        voters=None,
        timestamp_ms=1,
        directory_id=ME,
    )
    assert not disk.exists(VOTERS_CHECKPOINT)
    return disk


def test_it_is_as_one_that_our_own_tool_formatted_without_voters(tmp_path: Path) -> None:
    disk, known = formatted(tmp_path), config(tmp_path, SERVERS)
    of_kafka = recover(known, disk, ME)
    disk.replace(VOTERS_CHECKPOINT, encode_voters((), timestamp_ms=1))
    of_ours = recover(known, disk, ME)
    assert of_kafka.voters == of_ours.voters
    assert len(of_kafka.voters.newest) == 0
    made = node_on(of_kafka, known, random.Random(1), ME)
    assert made.core.raft.log.voters.fault is None


def test_who_knows_nobody_to_ask_is_refused(tmp_path: Path) -> None:
    disk = formatted(tmp_path)
    with pytest.raises(CorruptFile, match=r"or controller\.quorum\.bootstrap\.servers, if its"):
        recover(config(tmp_path, ""), disk, ME)
