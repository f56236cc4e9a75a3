"""A leader that answers a read still leads: a majority confirmed it since the read arrived."""

from collections.abc import Mapping
from typing import Any

from checkers.check import check, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NodeEvent, witness
from checkers.evidence.voter_history import ReplicaKey
from checkers.history.traces import fields_of
from checkers.verdict import CheckResult


@check("reads-are-confirmed", applies=traced, source="Raft thesis 6.4")
def reads_are_confirmed(evidence: Evidence) -> CheckResult:
    """A read is answered only after a majority of the voters sent a Fetch since it arrived.

    From c.read: each voter that it names sent a Fetch of the epoch after an answer of the leader
    that left at `since`, so later than that. The leader counts itself. All times in a line are of
    the leader's own clock.
    """
    looked_at = 0
    violations: list[Violation] = []
    for life in evidence.lives:
        rows = life.rows("c.read")
        looked_at += len(rows)
        told = zip(
            rows.tolist(),
            evidence.traces.column("epoch")[rows].tolist(),
            evidence.traces.texts("detail", rows),
            strict=True,
        )
        leader = ReplicaKey(life.node, life.directory)
        for row, epoch, detail in told:
            if confirming := _too_few(evidence, leader, epoch, fields_of(detail)):
                violations.append(_unconfirmed(evidence.traces.line(row), *confirming))
    return conclude(
        looked_at=looked_at,
        unit="rounds of reads",
        violations=violations,
        needs=NEED,
        holds="a majority confirmed each after it had begun",
        algorithm="voters whose Fetch followed an answer that left behind the read, line by line",
        nothing="no read was answered" if evidence.lives else "",
    )


def _too_few(
    evidence: Evidence, leader: ReplicaKey, epoch: int, fields: Mapping[str, Any]
) -> tuple[int, list[int]] | None:
    """How many had to confirm a read, and which voters did; None if these are enough."""
    told, arrived = fields.get("heard"), fields.get("arrived")
    heard = told if isinstance(told, list) else []
    since = {ReplicaKey(one["id"], one["dir"]) for one in heard if one["since"] >= arrived}
    sets = evidence.voters.during(epoch)
    if not sets or any(voters.has_majority(since | {leader}) for voters in sets):
        return None
    named = [key.node for key in sorted(since | {leader}) if sets[0].includes(key)]
    return sets[0].majority, named


def _unconfirmed(event: NodeEvent, majority: int, confirming: list[int]) -> Violation:
    text = f"node {event.node} answered a read in epoch {event.epoch}, and of "
    text += f"{majority} voters that are a majority only {confirming} had sent "
    return Violation(f"{text}a Fetch since it arrived", [witness(event, "answers a read")])
