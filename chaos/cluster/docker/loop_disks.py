"""Each node's disk: a file-backed ext4 on a loop device, handed to the engine as a volume.

Without loop devices, plain volumes are used; then no power can be cut.
"""

import json
import os
from collections.abc import Sequence

import docker
from docker.errors import APIError

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker import labels as label
from chaos.cluster.docker.agent import Agent
from chaos.cluster.docker.labels import Owner, RunLabels
from chaos.cluster.docker.registry import RunLock, demolish
from chaos.cluster.interface import NodeId
from chaos.cluster.topology import host_name
from chaos.setup.shell import cache_dir

UID = GID = 10001  # the nodes' user, as in their Dockerfile
# The defaults of ext4 would hide bugs: auto_da_alloc writes data that was not synced, and a journal
# commit every 5 s makes unsynced changes durable.
MOUNT_OPTIONS = "noauto_da_alloc,commit=300,errors=remount-ro"


def why_no_loop_disks(client: docker.DockerClient, agent_image: str, *, again: bool = False) -> str:
    """ "" if power can be cut on this engine, else the reason; tried on a scratch disk.

    Success is remembered for this engine and kernel, unless it is to be tried `again`.
    """
    info = client.info()
    known = cache_dir() / "loop-disks.json"
    here = [str(info["ID"]), str(info["KernelVersion"]), agent_image]
    if not again and known.exists() and json.loads(known.read_text()) == here:
        return ""
    why = _try_out(client, agent_image)
    if why:
        known.unlink(missing_ok=True)
    else:
        known.write_text(json.dumps(here))  # only success: what is missing may be installed
    return why


def _try_out(client: docker.DockerClient, agent_image: str) -> str:
    labels = RunLabels(run_id=f"self-test-{os.getpid()}", owner=Owner.RUN)
    lock = RunLock(labels.run_id)
    lock.acquire()  # else another run might reap it
    try:
        agent = Agent.start(client, agent_image, labels)
        try:
            return str(agent.call("self_test"))
        finally:
            agent.close()
    except (APIError, ClusterError) as error:
        return f"the disk agent does not work here: {error}"
    finally:
        demolish(client, labels.run_id, agent_image)
        lock.release()


def create_loop_disks(
    client: docker.DockerClient,
    agent: Agent,
    labels: RunLabels,
    nodes: Sequence[NodeId],
    mebibytes: int,
) -> dict[NodeId, str]:
    """Make and attach the sparse disks of all nodes; returns the loop device of each."""
    made = agent.each(
        "make_disk",
        [
            {"name": labels.name(host_name(n)), "mebibytes": mebibytes, "uid": UID, "gid": GID}
            for n in nodes
        ],
    )
    devices = dict(zip(nodes, (str(device) for device in made), strict=True))
    for node, device in devices.items():
        options = {"type": "ext4", "device": device, "o": MOUNT_OPTIONS}
        _create_volume(client, labels, node, options)
    return devices


def create_plain_volumes(
    client: docker.DockerClient, labels: RunLabels, nodes: Sequence[NodeId]
) -> None:
    for node in nodes:
        _create_volume(client, labels, node, {})


def devices_of(agent: Agent, run_id: str) -> dict[NodeId, str]:
    """The loop devices of an existing run, by node."""
    found: dict[str, str] = agent.call("loops", prefix=label.prefix(run_id))
    start = f"{label.prefix(run_id)}node-"
    return {
        NodeId(int(name.removeprefix(start).removesuffix(".img"))): device
        for device, name in found.items()
    }


def volume_name(labels: RunLabels, node: NodeId) -> str:
    return labels.name(f"data-{node}")


def _create_volume(
    client: docker.DockerClient, labels: RunLabels, node: NodeId, options: dict[str, str]
) -> None:
    client.volumes.create(
        volume_name(labels, node),
        driver="local",
        driver_opts=options,
        labels=labels.labels(node=node),
    )
