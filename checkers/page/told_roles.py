"""The roles of nodes without traces, by answers to the harness' probes (`PROBES`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from checkers.history.sealed_run import Run

_NOBODY = -1
LEADER, FOLLOWER, BEHIND = "leader", "follower", "unattached"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """About one partition, or the quorum: the newest claim so far."""

    leader: int
    epoch: int
    in_sync: frozenset[int] | None  # None: unknown


def told_roles(run: Run) -> dict[int, list[tuple[int, str]]]:
    """For each node with any answer about it: when (ns) it took which role.

    A leader leads a partition, or the quorum. A follower is in sync in all partitions, and a node
    that is not is behind. A claim of an older leader epoch than an earlier one changes nothing.
    """
    claims: dict[str, _Claim] = {}
    course: dict[int, list[tuple[int, str]]] = {}
    for at_ns, key, claim in _claims(run):
        known = claims.get(key)
        if known is not None and claim.epoch < known.epoch:
            continue
        claims[key] = claim
        for node in sorted({*course, *(claim.in_sync or ()), claim.leader} - {_NOBODY}):
            changes, role = course.setdefault(node, []), _role(node, claims)
            if not changes or changes[-1][1] != role:
                changes.append((at_ns, role))
    return course


def _claims(run: Run) -> Iterator[tuple[int, str, _Claim]]:
    rows = run.tables["probes"].sort_by("t1").to_pylist()
    for row in rows:
        isr = frozenset(row["isr"]) if row["isr"] is not None else None
        yield (
            row["t1"],
            row["key"],
            _Claim(leader=row["leader"], epoch=row["epoch"], in_sync=isr),
        )


def _role(node: int, claims: Mapping[str, _Claim]) -> str:
    if any(claim.leader == node for claim in claims.values()):
        return LEADER
    partitions = [claim.in_sync for claim in claims.values() if claim.in_sync is not None]
    return FOLLOWER if all(node in in_sync for in_sync in partitions) else BEHIND
