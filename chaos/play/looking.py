"""`kraft-chaos ps`, `logs` and `shell`: what is there, what a node wrote, and a way into it."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from chaos.cluster.interface import (
    Cluster,
    Described,
    Keeper,
    NodeId,
    NodeStatus,
    StandingCluster,
)
from chaos.cluster.powers import Enterable, LogReading
from chaos.cluster.topology import controllers_of
from chaos.errors import OperatorError, UsageError
from chaos.play.playground import ClusterRef, title
from chaos.probes import NoLeaderError, QuorumProbe, driver_for
from chaos.run.runtimes import RUNTIMES
from chaos.run.terminal import document

_LEADER_WITHIN_S = 2.0
_SHELL = ("sh", "-c", "exec $(command -v bash || echo sh)")


# What is there.


def ps(runtime: str, *, as_json: bool = False) -> int:
    """Every cluster of this user, each of its nodes, and the faults that last."""
    found = RUNTIMES[runtime].standing()
    told = [_about(each, runtime) for each in found]
    if as_json:
        sys.stdout.write(document({"clusters": told}, runtime=runtime, target="") + "\n")
        return 0
    if not told:
        sys.stdout.write("no cluster is up\n  try: kraft-chaos up\n")
    sys.stdout.writelines(f"{line}\n" for each in told for line in _lines(each))
    return 0


def _about(standing: StandingCluster, runtime: str) -> dict[str, Any]:
    about: dict[str, Any] = asdict(standing)
    if standing.keeper is not Keeper.USER:
        return about  # another process works with it, or removes it
    ground = ClusterRef(name=standing.name, runtime=runtime)
    with ground.attached() as cluster:
        about["version"] = cluster.version
        about["nodes"] = asyncio.run(_nodes(cluster))
    about["injected"] = [title(hit) for hit in ground.injected.hits()]
    return about


async def _nodes(cluster: Cluster) -> list[dict[str, Any]]:
    roles = cluster.roles if isinstance(cluster, Described) else {}
    leader = await _leader(cluster)
    return [
        {
            "node": int(node),
            "status": str(await cluster.status(node)),
            "roles": str(roles[node]) if node in roles else "controller",
            "leads": node == leader,
            "address": f"{cluster.bootstrap[node].host}:{cluster.bootstrap[node].port}",
        }
        for node in cluster.nodes
    ]


async def _leader(cluster: Cluster) -> NodeId | None:
    if not cluster.nodes:
        return None
    probe = QuorumProbe(driver_for(cluster, controllers_of(cluster)))
    try:
        return await probe.leader(_LEADER_WITHIN_S)
    except NoLeaderError:
        return None
    finally:
        await probe.close()


def _lines(about: dict[str, Any]) -> list[str]:
    name, where = about["name"], f", into {about['directory']}" if about["directory"] else ""
    match about["keeper"]:
        case Keeper.RUN:
            return [f"{name}: a run that goes on{where}"]
        case Keeper.DEAD:
            return [f"{name}: left by a run that was killed{where}; the next run removes it"]
    if not about["nodes"]:
        return [f"{name}: only parts of it are left", f"  try: kraft-chaos down {name}"]
    lines = [f"{name}: {about['version']}"]
    for node in about["nodes"]:
        leads = ", leads the quorum" if node["leads"] else ""
        lines.append(
            f"  node {node['node']}  {node['status']:<8} {node['address']:<16} "
            f"{node['roles']}{leads}"
        )
    return [*lines, *(f"  injected: {each}" for each in about["injected"])]


# What a node wrote.


def logs_of_cluster(ground: ClusterRef, node: int, *, last: int | None) -> int:
    """Print what the processes of a node have printed so far."""
    with ground.attached() as cluster:
        _require_node(ground, cluster, node)
        assert isinstance(cluster, LogReading)
        text = asyncio.run(cluster.log(NodeId(node)))
    lines = text.splitlines(keepends=True)
    sys.stdout.writelines(lines if last is None else lines[max(0, len(lines) - last) :])
    return 0


# A way into it.


def shell(ground: ClusterRef, node: int, words: Sequence[str]) -> int:
    """Run a command in a node's container, or a shell; its exit code."""
    with ground.attached() as cluster:
        _require_node(ground, cluster, node)
        if not isinstance(cluster, Enterable):
            raise OperatorError(f"cluster {ground.name} has no containers that can be entered")
        if asyncio.run(cluster.status(NodeId(node))) is NodeStatus.OFF:
            raise OperatorError(
                f"node {node} is off: its container does not run\n"
                f"  try: kraft-chaos heal --name {ground.name}, or kraft-chaos logs {node} "
                f"--name {ground.name}"
            )
        container = cluster.container(NodeId(node))
    tool = shutil.which("docker")
    if tool is None:
        raise OperatorError(
            "there is no `docker` on the path, the tool that enters containers\n"
            f"  try: from where it is: docker exec -it {container} sh"
        )
    terminal = ["-it"] if os.isatty(0) and os.isatty(1) else ["-i"]
    return subprocess.call([tool, "exec", *terminal, container, *(words or _SHELL)])


def _require_node(ground: ClusterRef, cluster: Cluster, node: int) -> None:
    if node not in cluster.nodes:
        known = ", ".join(map(str, cluster.nodes)) or "none"
        raise UsageError(f"cluster {ground.name} has no node {node}; nodes: {known}")
