"""Brokers that register after they may have lost records: E5 and E6."""

from checkers.check import check, of_brokers
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import MetadataBatch
from checkers.evidence.planned import Kind
from checkers.evidence.restarts import restarts
from checkers.partitions.leaders import NEED, state
from checkers.verdict import CheckResult, EventValue


@check(
    "E5-unclean-registration-drops",
    applies=of_brokers,
    source="KIP-966",
    rests_on=(Kind.METADATA_LOGS, Kind.FAULTS),
)
def unclean_registration_drops(evidence: Evidence) -> CheckResult:
    """E5: A broker that registers after an unclean shutdown is in no ISR and no ELR until it is
    added again.

    A shutdown is unclean if the broker was killed or lost power, by the fault log; or if the batch
    of its registration removes it from an ELR, and then it has to remove it everywhere. Judged
    while ELR is on. (KIP-966)
    """
    return _registrations(evidence, lossy=False)


@check(
    "E6-lost-bytes-are-not-clean",
    applies=of_brokers,
    source="KIP-966",
    rests_on=(Kind.METADATA_LOGS, Kind.FAULTS),
)
def lost_bytes_are_not_clean(evidence: Evidence) -> CheckResult:
    """E6: A node that lost bytes never registers as cleanly shut down.

    A node that had stopped in good order before its power failed may: it lost nothing that it
    answers for, or has broken another promise. The next registration removes it from every ISR and
    ELR, as after an unclean shutdown; by the fault log. Judged while ELR is on. (KIP-966)
    """
    return _registrations(evidence, lossy=True)


def _registrations(evidence: Evidence, *, lossy: bool) -> CheckResult:
    found = evidence.timeline
    unit = "registrations after " + ("lost bytes" if lossy else "an unclean shutdown")
    if found is None:
        return unread(unit, NEED)
    ends = {id(one.registration): one for one in evidence.once(restarts)}
    looked_at, violations = 0, []
    for batch, partitions in found.walk():
        for registration in batch.registrations if batch.elr_on else ():
            if batch.from_snapshot or registration.before is None:
                continue
            node, end = registration.node, ends.get(id(registration))
            unclean = end is not None and end.fault.unclean and (end.fault.may_lose or not lossy)
            if not unclean and (lossy or not _dropped(batch, node)):
                continue
            looked_at += 1
            kept = [one for one in partitions.values() if node in (*one.isr, *one.elr)]
            if kept:
                text = f"node {node} registered at offset {registration.offset} after "
                text += f"{end.fault.kind if end else 'an unclean shutdown'}, and is still "
                text += f"eligible to lead {kept[0].key}"
                at: dict[str, EventValue] = {
                    "what": "registered",
                    "node": node,
                    "offset": registration.offset,
                    "epoch": registration.after.epoch,
                }
                fault = (
                    [end.fault.shown("ended the process before", end.fault.t_start)] if end else []
                )
                rows = [{"what": "after that batch", **state(one)} for one in kept[:8]]
                violations.append(Violation(text, [*fault, at, *rows]))
    return conclude(
        looked_at=looked_at,
        unit=unit,
        violations=violations,
        needs=NEED,
        holds="each broker was in no ISR and no ELR",
        algorithm="registrations in the metadata log, matched with the fault log by their number",
        nothing=f"there were no {unit}",
    )


def _dropped(batch: MetadataBatch, node: int) -> bool:
    """Whether a change of this batch removed the node from an ELR: no clean registration does."""
    pairs = ((change.before, change.after) for change in batch.changes)
    return any(one and two and node in one.elr and node not in two.elr for one, two in pairs)
