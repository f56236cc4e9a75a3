"""A leader that answers a read still leads: a majority confirmed it since the read arrived."""

from checkers.check import check, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NodeEvent, witness
from checkers.evidence.voter_history import ReplicaKey
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
        for event in life.events():
            if event.event == "c.read":
                looked_at += 1
                violations += _unconfirmed(event, evidence)
    return conclude(
        looked_at=looked_at,
        unit="rounds of reads",
        violations=violations,
        needs=NEED,
        holds="a majority confirmed each after it had begun",
        algorithm="voters whose Fetch followed an answer that left behind the read, line by line",
        nothing="no read was answered" if evidence.lives else "",
    )


def _unconfirmed(event: NodeEvent, evidence: Evidence) -> list[Violation]:
    told, arrived = event.more.get("heard"), event.more.get("arrived")
    heard = told if isinstance(told, list) else []
    since = {ReplicaKey(one["id"], one["dir"]) for one in heard if one["since"] >= arrived}
    confirming = sorted(since | {ReplicaKey(event.node, event.directory)})
    sets = evidence.voters.during(event.epoch)
    if not sets or any(voters.has_majority(confirming) for voters in sets):
        return []
    names = [key.node for key in confirming if sets[0].includes(key)]
    text = f"node {event.node} answered a read in epoch {event.epoch}, and of "
    text += f"{sets[0].majority} voters that are a majority only {names} had sent "
    return [Violation(f"{text}a Fetch since it arrived", [witness(event, "answers a read")])]
