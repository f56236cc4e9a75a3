"""A new cluster, or one that is up, of the kind that target and machine allow."""

from pathlib import Path

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker.assembly import Assembly, images_of, target_up
from chaos.cluster.docker.docker_cluster import DockerCluster
from chaos.cluster.docker.labels import Owner, RunLabels
from chaos.cluster.docker.loop_disks import why_no_loop_disks
from chaos.cluster.docker.powered_cluster import (
    PoweredDockerCluster,
    SwitchableDockerCluster,
    WipeableDockerCluster,
)
from chaos.cluster.docker.registry import kept, left_of
from chaos.cluster.targets.node import OwnNode
from chaos.cluster.targets.target import Reformatting, Switching, Target
from chaos.setup import docker_engine


def new_cluster(
    *,
    run_id: str,
    nodes: int = 3,
    keep: bool = False,
    directory: Path | None = None,
    target: Target | None = None,
) -> DockerCluster:
    """A cluster that is not there yet. With `keep` it outlives this process.

    `directory` is where the next run saves the nodes' logs should this one be killed.
    Raises SetupError where the engine or an image is missing.
    """
    client = docker_engine.require()
    target = target or OwnNode(nodes=nodes)
    labels = RunLabels(
        run_id=run_id,
        owner=Owner.KEPT if keep else Owner.RUN,
        directory=str(directory.resolve()) if directory else "",
    )
    no_power = why_no_loop_disks(client, images_of(client, target, ()).agent)
    return _kind(target, no_power)(client, labels, nodes, target, no_power)


def attached_cluster(run_id: str, target: Target | None = None) -> DockerCluster:
    """A cluster that another process keeps up; ClusterError when there is none.

    What is left of an interrupted creation can only be destroyed.
    """
    client = docker_engine.require()
    labels = RunLabels(run_id=run_id, owner=Owner.KEPT)
    if not left_of(client, run_id):
        names = ", ".join(kept(client)) or "none is"
        client.close()
        raise ClusterError(f"no cluster {run_id!r} is up ({names})\n  try: kraft-chaos up")
    target = target or target_up(client, run_id)
    parts = Assembly(client, images_of(client, target, ()), labels, target).find()
    if parts is None:
        return DockerCluster(client, labels, 0, target, "")
    no_power = "" if parts.devices else "it was made without loop devices"
    nodes = len(parts.containers)
    cluster = _kind(target, no_power)(client, labels, nodes, target, no_power)
    cluster.adopt(parts)
    return cluster


def _kind(target: Target, no_power: str) -> type[DockerCluster]:
    if no_power:
        return DockerCluster
    if isinstance(target, Switching):
        return SwitchableDockerCluster
    return WipeableDockerCluster if isinstance(target, Reformatting) else PoweredDockerCluster
