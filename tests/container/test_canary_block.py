"""The canary is forgotten in a power cut, whatever else is synced between overwriting and cut."""

from collections.abc import Iterator, Mapping

import pytest
from docker.models.containers import Container

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker.clusters import PoweredDockerCluster
from chaos.cluster.docker.node_processes import NodeProcesses
from chaos.cluster.docker.power_cuts import Power
from chaos.cluster.interface import NodeId, PowerCutMode
from tests.container.clusters import ONE, cluster_of_stand_ins, containers_of, run, said_in

# An fsync commits the journal of the whole disk; the new file makes it a large one.
SYNC_ANOTHER = """
import os
file = os.open("/data/another", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
os.write(file, bytes(1 << 20))
os.fsync(file)
os.fsync(os.open("/data", os.O_RDONLY))
"""


# Not synced: whether it is there after the cut depends on who else syncs.
WRITE = "open('/data/unsynced', 'wb').write(bytes(1 << 16))"


@pytest.fixture(scope="module")
def cluster() -> Iterator[PoweredDockerCluster]:
    with cluster_of_stand_ins("canary") as made:
        yield made


def between_overwriting_and_cut(monkeypatch: pytest.MonkeyPatch, *command: str) -> None:
    """A process that is not the node's, since that one stands still, runs it on the disk."""
    silence = Power._silence

    def act(power: Power, victims: Mapping[NodeId, Container], proxy_pid: int) -> None:
        for container in victims.values():
            said_in(container, *command)
        silence(power, victims, proxy_pid)

    monkeypatch.setattr(Power, "_silence", act)


@pytest.mark.parametrize("mode", list(PowerCutMode))
def test_an_fsync_of_another_file_does_not_save_the_block(
    cluster: PoweredDockerCluster, mode: PowerCutMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    between_overwriting_and_cut(monkeypatch, "python3", "-c", SYNC_ANOTHER)
    run(cluster.power_off([ONE], mode))
    run(cluster.start(ONE))
    evidence = run(cluster.power_evidence(ONE))
    assert evidence.bit, evidence


def test_a_sync_of_the_whole_disk_saves_it_and_that_is_no_evidence(
    cluster: PoweredDockerCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk had nothing to forget, so nothing is proved; and the next cut is proved again."""
    between_overwriting_and_cut(monkeypatch, "sync", "-f", "/data")
    run(cluster.power_off([ONE]))
    run(cluster.start(ONE))
    assert "survived" in run(cluster.power_evidence(ONE)).what
    monkeypatch.undo()
    run(cluster.power_off([ONE]))
    run(cluster.start(ONE))
    evidence = run(cluster.power_evidence(ONE))
    assert evidence.bit, evidence


@pytest.mark.parametrize("synced", [False, True])
def test_a_node_that_was_stopped_loses_what_nobody_synced_before_the_cut(
    cluster: PoweredDockerCluster, synced: bool
) -> None:
    """Else the unmount at its end would have written all out. Its disk is let go of: it starts."""
    with containers_of("canary") as nodes:
        said_in(nodes[ONE], "python3", "-c", WRITE)
        run(cluster.stop_then_power_off([ONE], synced=synced))
        run(cluster.start(ONE))
        evidence = run(cluster.power_evidence(ONE))
        assert evidence.bit, evidence
        size = said_in(nodes[ONE], "sh", "-c", "stat -c %s /data/unsynced || echo gone")
    assert (size.strip() == b"65536") is synced
    run(cluster.stop_then_power_off([ONE], synced=False))  # and once more, on the same disk
    run(cluster.start(ONE))


def test_a_node_that_did_not_end_in_good_order_keeps_its_power(
    cluster: PoweredDockerCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = NodeProcesses.stop

    def outlived(life: NodeProcesses, node: NodeId) -> bool:
        life.kill(node)
        return stop(life, node)

    monkeypatch.setattr(NodeProcesses, "stop", outlived)
    with pytest.raises(
        ClusterError, match=r"did not stop in good order; exit codes by node: \{1: 137\}"
    ):
        run(cluster.stop_then_power_off([ONE], synced=False))
    run(cluster.start(ONE))  # its disk was let go of
