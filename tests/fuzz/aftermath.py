"""What has to be so after a storm: logs that everybody reads alike, and configs told as stored."""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from checkers.disk.read import read_disks
from node.errors import ErrorCode
from node.server.tool_client import Client
from node.wire.configs import (
    DESCRIBE_CONFIGS,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ResourceDescription,
    ResourceQuery,
)
from tests.fuzz.sessions import Surprise
from tests.support.quorum_processes import NodeProcess, QuorumProcesses, run_kraft_node

Resource = tuple[int, str]  # type, name
Configs = Mapping[Resource, Mapping[str, str]]  # by resource and key; what is set
_AT_ONCE = 50  # resources in a request: an answer has room for so many of the longest values


def check_logs(quorum: QuorumProcesses) -> Configs:
    """Of nodes that are stopped. The judge and the nodes' own tool read each of the logs, which are
    one log as far as the shortest goes; the configs of the longest. Raises Surprise."""
    directory = next(iter(quorum.nodes.values())).directory.parent
    tables = read_disks(directory)
    problems = [row for row in tables["disks"].to_pylist() if row["problem"] is not None]
    if problems:
        raise Surprise(f"the judge cannot read {problems}")
    by_node: dict[int, list[dict[str, Any]]] = {number: [] for number in quorum.nodes}
    for row in tables["log_records"].to_pylist():
        by_node[row.pop("node")].append(row)
    shortest = min(len(rows) for rows in by_node.values())
    logs = {node: rows[:shortest] for node, rows in by_node.items()}
    if not shortest or any(rows != logs[1] for rows in logs.values()):
        raise Surprise(f"different logs: {[len(rows) for rows in by_node.values()]} records")
    for node in quorum.nodes.values():
        _check_dump(node)
    return _configs(max(by_node.values(), key=len))


def _check_dump(node: NodeProcess) -> None:
    segments = sorted((node.directory / "data").glob("*/*.log"))
    done = run_kraft_node("dump-log", *segments)
    if done.returncode != 0 or "DAMAGED" in done.stdout:
        raise Surprise(f"dump-log of node {node.id}: {done.stderr[-2000:]}")


def _configs(rows: list[dict[str, Any]]) -> Configs:
    found: dict[Resource, dict[str, str]] = defaultdict(dict)
    for row in rows:
        if row["type"] != "Config":
            continue
        resource = (row["resource_type"], row["resource"])
        if row["value"] is None:
            found[resource].pop(row["name"], None)
        else:
            found[resource][row["name"]] = row["value"]
    return found


def check_described(quorum: QuorumProcesses, stored: Configs) -> None:
    """What is stored is what clients of every version are told. Raises Surprise."""
    resources = sorted(stored)
    for version in range(DESCRIBE_CONFIGS.min_version, DESCRIBE_CONFIGS.max_version + 1):
        told: dict[Resource, dict[str, str]] = {}
        for first in range(0, len(resources), _AT_ONCE):
            told |= _described(quorum, resources[first : first + _AT_ONCE], version)
        if told != {each: dict(stored[each]) for each in resources}:
            wrong = [(told.get(r), stored[r]) for r in resources if told.get(r) != stored[r]]
            raise Surprise(f"version {version} does not tell what is stored: {wrong}"[:4000])


def _described(
    quorum: QuorumProcesses, resources: list[Resource], version: int
) -> dict[Resource, dict[str, str]]:
    queries = tuple(ResourceQuery(type=kind, name=name, keys=None) for kind, name in resources)

    request = DescribeConfigsRequest(resources=queries)

    def described(client: Client) -> dict[Resource, dict[str, str]] | None:
        answer = client.send(request, version=version)
        assert isinstance(answer, DescribeConfigsResponse)
        if any(result.error is ErrorCode.NOT_CONTROLLER for result in answer.results):
            return None
        return {(result.type, result.name): _set(result) for result in answer.results}

    return quorum.told(f"configs are described in version {version}", described)


def _set(result: ResourceDescription) -> dict[str, str]:
    """Without the blanks around a value, as the judge reads it off disks."""
    if result.error is not ErrorCode.NONE:
        raise Surprise(f"{result.name} cannot be described: {result.error}: {result.message}")
    return {
        entry.name: (entry.value or "").strip(" ")
        for entry in result.entries
        if not entry.is_default
    }


def check_one_leader_an_epoch(quorum: QuorumProcesses) -> None:
    """By what the nodes trace. Raises Surprise."""
    leaders: dict[int, int] = {}
    for node in quorum.nodes.values():
        for line in node.traces.read_text().splitlines():
            told = json.loads(line)
            if told["ev"] == "q.state" and told["state"] == "leader":
                first = leaders.setdefault(told["epoch"], node.id)
                if first != node.id:
                    raise Surprise(f"epoch {told['epoch']}: {first} and {node.id} both lead")
