"""A leader that answers a read still leads: a majority confirmed it since the read arrived."""

from checkers.check import check, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NodeEvent, witness
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
    since = {voter["id"] for voter in heard if voter["since"] >= arrived}
    confirming = (since | {event.node}) & set(evidence.voters)
    if len(confirming) >= evidence.majority:
        return []
    text = f"node {event.node} answered a read in epoch {event.epoch}, and of "
    text += f"{evidence.majority} voters that are a majority only {sorted(confirming)} had sent "
    return [Violation(f"{text}a Fetch since it arrived", [witness(event, "answers a read")])]
