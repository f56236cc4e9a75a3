"""An operator finds a partition without a leader, and gives it one, by `kraft-node topics describe`
and `kraft-node elect-leaders`: real processes, with the unclean recovery manager (KIP-966)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from node.errors import ErrorCode
from node.server.tool_client import Client
from node.wire.api_versions import FeatureUpdate, UpdateFeaturesRequest, UpdateFeaturesResponse
from node.wire.topic_changes import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    NewTopic,
    TopicSetting,
)
from tests.support.own_brokers import BROKER_PATIENCE_S, OwnCluster, own_cluster
from tests.support.quorum_processes import run_kraft_node, wait_until

if TYPE_CHECKING:
    import subprocess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

IDS = (4, 5, 6)
# Nothing is recovered by itself. Sessions end soon after a broker was killed.
SETTINGS = """\
controller.quorum.fetch.timeout.ms=10000
controller.quorum.request.timeout.ms=10000
broker.session.timeout.ms=6000
unclean.recovery.manager.enabled=true
unclean.recovery.strategy=None
"""
OF_BROKERS = "max.request.partition.size.limit=1\n"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[OwnCluster]:
    with own_cluster(tmp_path, 1, IDS, SETTINGS, OF_BROKERS) as made:
        yield made


def prepare(cluster: OwnCluster) -> None:
    """ELR are on, and there is a topic of two partitions on all brokers."""

    def upgrade(client: Client) -> bool | None:
        elr = FeatureUpdate(name="eligible.leader.replicas.version", level=1)
        answer = client.send(UpdateFeaturesRequest(updates=(elr,)))
        assert isinstance(answer, UpdateFeaturesResponse)
        return True if answer.error is ErrorCode.NONE else None

    def create(client: Client) -> bool | None:
        min_isr = TopicSetting(name="min.insync.replicas", value="2")
        topic = NewTopic(name="orders", partitions=2, replication=3, configs=(min_isr,))
        answer = client.send(CreateTopicsRequest(topics=(topic,)))
        assert isinstance(answer, CreateTopicsResponse)
        return True if answer.results[0].error is ErrorCode.NONE else None

    cluster.quorum.told("switch ELR on", upgrade)
    cluster.quorum.told("create orders", create)


def tool(cluster: OwnCluster, *options: str | Path) -> "subprocess.CompletedProcess[str]":
    return run_kraft_node(*options, "--bootstrap-server", cluster.servers())


def described(cluster: OwnCluster, *options: str) -> list[str] | None:
    """The lines; None while no broker answers."""
    done = tool(cluster, "topics", "describe", "--topic", "orders", *options)
    return done.stdout.splitlines() if done.returncode == 0 else None


def test_an_operator_finds_it_and_names_its_leader(cluster: OwnCluster, tmp_path: Path) -> None:
    cluster.admin()
    prepare(cluster)

    def whole() -> list[str] | None:
        lines = described(cluster) or []
        are_in_sync = [line for line in lines if line.count("\tIsr: ") and line.count("\tElr: \t")]
        return lines if len(are_in_sync) == 2 and not _short(lines) else None

    lines = wait_until(whole, "both partitions are whole", BROKER_PATIENCE_S)
    assert lines[0].startswith("Topic: orders\tTopicId: ")
    assert lines[0].endswith(
        "\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2"
    )
    for broker in (6, 5, 4):
        cluster.brokers[broker].kill()
        _wait_for_fence(cluster, broker)
    for broker in (6, 5):
        cluster.brokers[broker].start()
    lost = wait_until(
        lambda: (
            found
            if len(found := described(cluster, "--unavailable-partitions") or []) == 2
            else None
        ),
        "brokers 5 and 6 say that no partition has a leader",
        BROKER_PATIENCE_S,
    )
    for line in lost:
        assert "\tLeader: none\t" in line
        assert "\tIsr: \t" in line
    refused = tool(
        cluster,
        *("elect-leaders", "--election-type", "longest_log_balanced", "--timeout", "500"),
        *("--topic", "orders", "--partition", "0"),
    )
    assert refused.returncode == 1
    assert "for partition: orders-0: ELIGIBLE_LEADERS_NOT_AVAILABLE (83)" in refused.stdout
    assert "error: 1 replica(s) could not be elected" in refused.stderr
    file = tmp_path / "leaders.json"
    named = [{"topic": "orders", "partition": 0, "desiredLeader": 6}]
    file.write_text(json.dumps({"partitions": named}))
    done = tool(
        cluster, *("elect-leaders", "--election-type", "designation", "--path-to-json-file", file)
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "Successfully completed leader election (DESIGNATION) for partitions orders-0\n"
    )
    done = tool(
        cluster,
        *("elect-leaders", "--election-type", "longest_log_aggressive", "--all-topic-partitions"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "Successfully completed leader election (LONGEST_LOG_AGGRESSIVE) for partitions orders-1\n"
    )
    wait_until(
        lambda: described(cluster, "--unavailable-partitions") == [] or None,
        "each partition has a leader",
        BROKER_PATIENCE_S,
    )
    assert any("\tPartition: 0\tLeader: 6\t" in line for line in described(cluster) or [])


def _short(lines: list[str]) -> bool:
    """A partition has fewer than three replicas in sync."""
    isrs = [line.split("\tIsr: ")[1].split("\t")[0] for line in lines[1:]]
    return any(len(each.split(",")) < len(IDS) for each in isrs)


def _wait_for_fence(cluster: OwnCluster, broker: int) -> None:
    """As a broker that is left says, unless none is."""
    if any(each.process is not None for each in cluster.brokers.values()):
        wait_until(
            lambda: ((lines := described(cluster)) is not None and not _has(lines, broker)) or None,
            f"broker {broker} is in no ISR",
            BROKER_PATIENCE_S,
        )


def _has(lines: list[str], broker: int) -> bool:
    isrs = [line.split("\tIsr: ")[1].split("\t")[0].split(",") for line in lines[1:]]
    return any(str(broker) in each for each in isrs)
