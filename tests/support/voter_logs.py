"""Logs that hold control records of voters, as they stand on the disks of a run."""

import json
from collections.abc import Sequence

from checkers.evidence.evidence import Evidence
from checkers.evidence.voter_history import VoterSet
from tests.support.histories import Row, batch, disk, make_run

Keys = Sequence[tuple[int, str]]


def key(node: int) -> tuple[int, str]:
    """A node with the disk that `disk` makes for it."""
    return node, f"dir-{node}"


FIRST = [key(1), key(2), key(3)]


def control(
    nodes: Sequence[int], offset: int, kind: str, detail: object, epoch: int = 1
) -> list[Row]:
    """A control record on the disks of some nodes."""
    head = {"offset": offset, "epoch": epoch, "type": kind, "detail": json.dumps(detail)}
    empty = dict.fromkeys(["resource_type", "resource", "name", "value", "leader"])
    return [{"node": node, **head, **empty} for node in nodes]


def told(voter: tuple[int, str]) -> Row:
    return {"voterId": voter[0], "voterDirectoryId": voter[1]}


def whole(nodes: Sequence[int], offset: int, keys: Keys, epoch: int = 1) -> list[Row]:
    return control(nodes, offset, "KRaftVoters", {"voters": [told(one) for one in keys]}, epoch)


def log(nodes: Sequence[int], *spans: tuple[int, int, int]) -> list[Row]:
    """Batches as (base, last, epoch) on the disks of some nodes."""
    return [batch(node, *span) for node in nodes for span in spans]


def evidence(
    batches: Sequence[Row], records: Sequence[Row] = (), disks: Sequence[Row] = (), **rest: object
) -> Evidence:
    nodes = sorted({int(str(row["node"])) for row in batches})
    found = disks or [disk(node) for node in nodes]
    return Evidence(make_run(batches=batches, records=records, disks=found, **rest))  # type: ignore[arg-type]  # as there


def keys(voters: VoterSet) -> list[tuple[int, str]]:
    return sorted((one.node, one.directory) for one in voters.keys)


def by_id(voters: VoterSet) -> tuple[int, ...]:
    return tuple(sorted(one.node for one in voters.keys))
