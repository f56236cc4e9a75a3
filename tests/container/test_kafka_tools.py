"""Apache Kafka's own tools, and its admin client within them, against our controllers.

The nodes are processes on loopback with logs of the form that Kafka's controllers write (KIP-853).
Docker is needed where the tools were never fetched and there is no Maven.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.ids import uuid_text
from node.server import quorum_command
from node.server.real_disk import open_to_read
from node.storage.segment import scan_batches
from node.wire.raft_voters import DescribeQuorumResponse
from tests.support.dumped import DumpedBatch, parse
from tests.support.kafka_tools import CLUSTER, DUMP, FEATURES, QUORUM, Done, KafkaTools, kafka_tools
from tests.support.quorum_processes import (
    NodeProcess,
    QuorumProcesses,
    quorum_processes,
    wait_until,
)

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

# Leaders stay while the machine stalls; snapshots come after a few writes.
SETTINGS = """\
controller.quorum.fetch.timeout.ms=30000
controller.quorum.request.timeout.ms=30000
metadata.log.max.record.bytes.between.snapshots=1500
"""
FEATURE = re.compile(
    r"Feature: (\S+)\s+SupportedMinVersion: (\S+)\s+SupportedMaxVersion: (\S+)\s+"
    r"FinalizedVersionLevel: (\S+)\s+Epoch: (\S+)"
)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> KafkaTools:
    return kafka_tools(tmp_path_factory.mktemp("java"))


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuorumProcesses]:
    with quorum_processes(tmp_path_factory.mktemp("three"), 3, SETTINGS) as quorum:
        quorum.write("r", 1000)
        yield quorum


def at(quorum: QuorumProcesses) -> tuple[str, str]:
    named = ",".join(f"127.0.0.1:{node.outer}" for node in quorum.nodes.values())
    return "--bootstrap-controller", named


def told(done: Done) -> str:
    assert done.returncode == 0, f"{done.args}\n{done.stdout}{done.stderr}"
    return done.stdout


def fields(text: str) -> dict[str, str]:
    lines = (line.split(":", 1) for line in text.splitlines())
    return {name: value.strip() for name, value in lines}


def test_a_quorum_is_described_as_by_our_own_command(
    tools: KafkaTools, three: QuorumProcesses
) -> None:
    def both(_leader: NodeProcess) -> tuple[dict[str, str], quorum_command.Row]:
        theirs = told(tools.run(QUORUM, *at(three), "describe", "--status"))
        asked = [("127.0.0.1", node.outer) for node in three.nodes.values()]
        return fields(theirs), quorum_command.status(quorum_command.describe(asked))

    theirs, ours = three.under_one_leader(both)
    assert set(theirs) == set(ours) - {"CouldBeVoters"}, "KIP-856 has it, and Kafka does not"
    for name in ("ClusterId", "LeaderId", "LeaderEpoch"):
        assert theirs[name] == str(ours[name])
    assert int(theirs["HighWatermark"]) > 0
    for name in ("CurrentVoters", "CurrentObservers"):
        assert json.loads(theirs[name]) == ours[name]
    assert len(json.loads(theirs["CurrentVoters"])) == 3


def test_a_controller_is_removed_and_added(tools: KafkaTools, three: QuorumProcesses) -> None:
    leader = three.leader()
    node = next(each for each in three.nodes.values() if each is not leader)
    keys = [each.key for each in three.leadership().voters]
    directory = next(uuid_text(key.directory) for key in keys if key.id == node.id)
    named = f"controller {node.id} with directory id {directory}"
    ids = ("--controller-id", str(node.id), "--controller-directory-id", directory)

    done = tools.run(QUORUM, *at(three), "remove-controller", *ids)
    assert f"Removed  KRaft {named}" in told(done)
    wait_until(lambda: observed(three.leadership(), node), "the removed one fetches on")
    table = told(tools.run(QUORUM, *at(three), "describe", "--replication")).splitlines()
    rows = {int(row.split()[0]): row.split() for row in table[1:]}
    assert rows[node.id][1] == directory
    statuses = {number: row[-1] for number, row in rows.items()}
    assert statuses.pop(node.id) == "Observer"
    assert sorted(statuses.values()) == ["Follower", "Leader"]

    config = ("--command-config", node.config)  # the tool reads its meta.properties as well
    done = tools.run(QUORUM, *at(three), *config, "add-controller")
    assert f"Added {named} and endpoints: CONTROLLER://127.0.0.1:{node.inner}" in told(done)
    assert sorted(each.key.id for each in three.leadership().voters) == [1, 2, 3]


def observed(seen: DescribeQuorumResponse, node: NodeProcess) -> bool | None:
    return node.id in [each.key.id for each in seen.observers] or None


def test_the_cluster_is_named_and_its_controllers_are_listed(
    tools: KafkaTools, three: QuorumProcesses
) -> None:
    named = told(tools.run(CLUSTER, "cluster-id", *at(three)))
    assert named.strip() == f"Cluster ID: {three.cluster_id}"
    table = told(tools.run(CLUSTER, "list-endpoints", *at(three))).splitlines()
    listed = {int(row[0]): (row[1], int(row[2]), row[-1]) for row in map(str.split, table[1:])}
    assert sorted(listed) == [1, 2, 3]
    for number, (host, port, kind) in listed.items():
        node = three.nodes[number]
        assert (host, kind) == ("127.0.0.1", "controller")
        assert port in (node.inner, node.outer)


def test_features_are_described_and_not_changed(tools: KafkaTools, three: QuorumProcesses) -> None:
    described = told(tools.run(FEATURES, *at(three), "describe"))
    levels = {
        found[1]: found.groups()[1:]
        for found in map(FEATURE.match, described.splitlines())
        if found is not None
    }
    assert levels["kraft.version"][:3] == ("0", "1", "1")
    assert levels["metadata.version"][1] == levels["metadata.version"][2] == "4.3-IV0"
    assert int(levels["metadata.version"][3]) > 0
    change = ("upgrade", "--feature", "metadata.version=29")
    refused = tools.run(FEATURES, *at(three), *change)
    assert refused.returncode == 1
    assert "Can't downgrade" in refused.stdout + refused.stderr


def test_logs_and_snapshots_are_read_as_we_wrote_them(
    tools: KafkaTools, three: QuorumProcesses
) -> None:
    node = three.leader()
    log = node.directory / "data" / "__cluster_metadata-0"
    for number in range(20):
        three.write(f"r-{number}", 1000 + number)
    wait_until(lambda: len(list(log.glob("*.checkpoint"))) > 1 or None, "a snapshot")
    node.terminate()
    files = sorted((*log.glob("*.log"), *log.glob("*.checkpoint")))
    done = tools.run(DUMP, "--cluster-metadata-decoder", "--files", ",".join(map(str, files)))
    node.start()
    home = f"Dumping {node.directory.parent}/"
    dumped = parse(told(done).replace(home, "").splitlines())
    paths = [str(path.relative_to(node.directory.parent)) for path in files]
    assert list(dumped) == paths
    types: set[str | None] = set()
    for path, name in zip(files, paths, strict=True):
        assert [head(batch) for batch in dumped[name]] == heads(path)
        assert all(batch.head["isvalid"] == "true" for batch in dumped[name])
        types |= {record.type for batch in dumped[name] for record in batch.records}
    assert types >= {
        *("LeaderChange", "KRaftVersion", "KRaftVoters", "SnapshotHeader", "SnapshotFooter"),
        *("Config", "FeatureLevel", "NoOp"),
    }
    newest = dumped[[name for name in paths if name.endswith(".checkpoint")][-1]]
    written = {
        record.fields["resourceName"]: record.fields["value"]
        for batch in newest
        for record in batch.records
        if record.type == "Config"
    }
    assert written.items() <= {("r", "1000"), *((f"r-{n}", str(1000 + n)) for n in range(20))}
    assert written["r"] == "1000"


def head(batch: DumpedBatch) -> dict[str, int]:
    names = ("baseOffset", "lastOffset", "count", "partitionLeaderEpoch", "position", "size", "crc")
    return {name: int(batch.head[name]) for name in names}


def heads(path: Path) -> list[dict[str, int]]:
    """The same, by our own reader."""
    file = open_to_read(path)
    try:
        return [
            {
                "baseOffset": header.base_offset,
                "lastOffset": header.last_offset,
                "count": header.record_count,
                "partitionLeaderEpoch": header.leader_epoch,
                "position": position,
                "size": header.size,
                "crc": header.crc,
            }
            for position, header in scan_batches(file, 0)
        ]
    finally:
        file.close()
