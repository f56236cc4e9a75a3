"""Two programs in one quorum: did each of them lead?"""

import pyarrow.compute as pc

from checkers.check import check
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.history.sealed_run import RunInfo
from checkers.verdict import CheckResult, Verdict

EACH_SIDE_LEADS = "each-side-leads"  # what a scenario may have to show
_OURS, _KAFKA = "our node", "Apache Kafka"


def _is_to_show(info: RunInfo) -> bool:
    """Applies where a scenario is about a quorum that is led by two programs in turn."""
    return EACH_SIDE_LEADS in info.to_show


@check("each-side-led", applies=_is_to_show, source="")
def each_side_led(evidence: Evidence) -> CheckResult:
    """Where two programs share a quorum, and are to lead it in turn, each of them did.

    Void otherwise: what a leader writes and answers, the other program did not have to take. Who
    leads is what probes are told; which program a node is then, its log tells: that of the last
    process that began before. Needs: probes, log_errors, node_events.
    """
    epochs = _epochs(evidence)
    never = [side for side in (_OURS, _KAFKA) if not epochs[side]]
    lacking = [
        each for each in evidence.missing if each.kind in (Kind.NODE_LOGS, Kind.QUORUM_PROBES)
    ]
    told = ", ".join(f"{side} in {counted(len(found), 'epoch')}" for side, found in epochs.items())
    message = f"no probe was told that {' or '.join(never)} leads" if never else f"leaders: {told}"
    return CheckResult(
        verdict=Verdict.VALID if not never else Verdict.UNKNOWN if lacking else Verdict.VOID,
        message=message,
        looked_at=sum(map(len, epochs.values())),
    )


def _epochs(evidence: Evidence) -> dict[str, set[int]]:
    """In which epochs nodes led, by what they were."""
    began = _began(evidence)
    probes = evidence.tables["probes"]
    found: dict[str, set[int]] = {_OURS: set(), _KAFKA: set()}
    for row in probes.filter(pc.equal(probes["kind"], "quorum")).to_pylist():
        before = [side for t, side in began.get(row["leader"], ()) if t <= row["t0"]]
        if before:
            found[before[-1]].add(row["epoch"])
    return found


def _began(evidence: Evidence) -> dict[int, list[tuple[int, str]]]:
    """Of each node, when its processes began and what they were, in order."""
    own, kafka = evidence.tables["node_events"], evidence.tables["log_errors"]
    found: dict[int, list[tuple[int, str]]] = {}
    for rows, side in (
        (own.filter(pc.equal(own["event"], "n.start")), _OURS),
        (kafka.filter(pc.equal(kafka["level"], "INFO")), _KAFKA),
    ):
        for node, t in zip(rows["node"].to_pylist(), rows["t"].to_pylist(), strict=True):
            found.setdefault(node, []).append((t, side))
    return {node: sorted(starts) for node, starts in found.items()}
