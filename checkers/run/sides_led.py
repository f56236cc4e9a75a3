"""Two programs in one quorum: did each of them lead, and serve brokers meanwhile?"""

from collections.abc import Collection, Mapping

import pyarrow.compute as pc

from checkers.check import check
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.history.sealed_run import RunInfo
from checkers.verdict import CheckResult, Verdict, counted

# What a scenario may require.
EACH_SIDE_LEADS, EACH_SIDE_CREATES = "each-side-leads", "each-side-creates-topics"
OF_SIDES = (EACH_SIDE_LEADS, EACH_SIDE_CREATES)
_OURS, _KAFKA = "our node", "Apache Kafka"


def _is_to_show(info: RunInfo) -> bool:
    """Applies where a scenario is about a quorum that is led by two programs in turn."""
    return EACH_SIDE_LEADS in info.to_show


@check("each-side-led", applies=_is_to_show, source="")
def each_side_led(evidence: Evidence) -> CheckResult:
    """If two programs share a quorum and are to lead it in turn, each of them led.

    Void otherwise: the other program did not have to accept that leader's records and answers.
    Answers to probes name the leader; its log says which program the node is then: that of the last
    process that began before. Needs: probes, log_errors, node_events.
    """
    epochs = _epochs(evidence)
    never = _without(epochs)
    told = ", ".join(f"{side} in {counted(len(found), 'epoch')}" for side, found in epochs.items())
    return CheckResult(
        verdict=_verdict(never, evidence, Kind.NODE_LOGS, Kind.QUORUM_PROBES),
        message=f"no answer to a probe says that {never} leads" if never else f"leaders: {told}",
        looked_at=sum(map(len, epochs.values())),
    )


def _creates(info: RunInfo) -> bool:
    """Applies where a scenario is about brokers beside a quorum that two programs lead in turn."""
    return EACH_SIDE_CREATES in info.to_show


@check("each-side-created-topics", applies=_creates, source="")
def each_side_created_topics(evidence: Evidence) -> CheckResult:
    """If two programs share a quorum beside brokers, each of them created topics as its leader.

    Void otherwise: the program that did not create any did not serve brokers. By the epochs of the
    records in the metadata logs on disks; which program led an epoch is known as for
    `each-side-led`. Needs: log_records, probes, log_errors, node_events.
    """
    records = evidence.tables["log_records"]
    topics = records.filter(pc.equal(records["type"], "Topic")).select(["offset", "epoch"])
    created = set(zip(topics["offset"].to_pylist(), topics["epoch"].to_pylist(), strict=True))
    sides = {
        side: {offset for offset, epoch in created if epoch in led}
        for side, led in _epochs(evidence).items()
    }
    never = _without(sides)
    told = ", ".join(f"{counted(len(found), 'topic')} by {side}" for side, found in sides.items())
    return CheckResult(
        verdict=_verdict(never, evidence, Kind.NODE_LOGS, Kind.QUORUM_PROBES, Kind.METADATA_LOGS),
        message=f"no topic was created while {never} was known to lead" if never else told,
        looked_at=len(created),
    )


def _without(of_sides: Mapping[str, Collection[int]]) -> str:
    """The sides of which there is nothing; "" if there is something of each."""
    return " or ".join(side for side in (_OURS, _KAFKA) if not of_sides[side])


def _verdict(never: str, evidence: Evidence, *needed: Kind) -> Verdict:
    if not never:
        return Verdict.VALID
    lacking = any(each.kind in needed for each in evidence.missing)
    return Verdict.UNKNOWN if lacking else Verdict.VOID


def _epochs(evidence: Evidence) -> dict[str, set[int]]:
    """The epochs in which nodes led, by their program."""
    began = _began(evidence)
    probes = evidence.tables["probes"]
    found: dict[str, set[int]] = {_OURS: set(), _KAFKA: set()}
    for row in probes.filter(pc.equal(probes["kind"], "quorum")).to_pylist():
        before = [side for t, side in began.get(row["leader"], ()) if t <= row["t0"]]
        if before:
            found[before[-1]].add(row["epoch"])
    return found


def _began(evidence: Evidence) -> dict[int, list[tuple[int, str]]]:
    """For each node, when its processes began and their programs, in order."""
    own, kafka = evidence.tables["node_events"], evidence.tables["log_errors"]
    found: dict[int, list[tuple[int, str]]] = {}
    for rows, side in (
        (own.filter(pc.equal(own["event"], "n.start")), _OURS),
        (kafka.filter(pc.equal(kafka["level"], "INFO")), _KAFKA),
    ):
        for node, t in zip(rows["node"].to_pylist(), rows["t"].to_pylist(), strict=True):
            found.setdefault(node, []).append((t, side))
    return {node: sorted(starts) for node, starts in found.items()}
