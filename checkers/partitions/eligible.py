"""Which replicas may lead: E1-E4, E7-E9 and E11, in the committed metadata log.

Eligible leader replicas (KIP-966) exist where the feature is on; without it, their rules have
nothing to judge.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace
from functools import partial

from checkers.check import check, of_brokers
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence import promised as promise
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.image import Change, MetadataBatch, Timeline
from checkers.evidence.promised import AskedFor
from checkers.evidence.restarts import clean_registrations
from checkers.partitions.leaders import NEED, both, names, state
from checkers.verdict import CheckResult, EventValue

_ALGORITHM = "replay of the committed metadata log"

_Judged = tuple[MetadataBatch, Change]
Rule = Callable[[MetadataBatch, Change], str]  # what is wrong with a change, or ""


@check("E1-isr-elr-disjoint", applies=of_brokers, source="KIP-966", rests_on=(Kind.METADATA_LOGS,))
def isr_and_elr_are_disjoint(evidence: Evidence) -> CheckResult:
    """E1: No replica is in ISR and ELR at once. (KIP-966)"""
    return _judge(
        evidence,
        _with_elr,
        _in_both,
        "ELRs",
        "none shares a node with its ISR",
    )


@check("E2-elr-below-min-isr", applies=of_brokers, source="KIP-966", rests_on=(Kind.METADATA_LOGS,))
def elr_only_below_min_isr(evidence: Evidence) -> CheckResult:
    """E2: There is an ELR only while the ISR is smaller than min ISR. (KIP-966)

    The effective min ISR: as configured at the change, and never more than there are replicas. If a
    batch sets another, no ELR that it forbids is left at its end.
    """
    return _judge(
        evidence,
        _with_elr,
        _superfluous,
        "ELRs",
        "each had a small ISR beside",
        _kept,
    )


@check("E3-eligible-are-kept", applies=of_brokers, source="KIP-966", rests_on=(Kind.METADATA_LOGS,))
def eligible_are_kept(evidence: Evidence) -> CheckResult:
    """E3: ISR and ELR together fall below min ISR only for one of the reasons of KIP-966.

    Reasons are an unclean registration, unregistering, a reassignment, another min ISR or feature
    level (ClearElr), and an election from outside both. A registration is no reason if it names the
    broker epoch of a clean shutdown, or if the broker was only asked to stop, and did. Min ISR is
    never less than was asked for. Judged while ELR is on. (KIP-966)
    """
    return _judge(
        evidence,
        _with_feature,
        partial(_dropped_for_nothing, evidence.once(clean_registrations)),
        "changes with ELR on",
        "no eligible replica was dropped without a reason",
    )


@check(
    "E4-elr-joined-from-isr", applies=of_brokers, source="KIP-966", rests_on=(Kind.METADATA_LOGS,)
)
def elr_joined_from_isr(evidence: Evidence) -> CheckResult:
    """E4: A replica joins the ELR only by leaving the ISR in the same change. (KIP-966)"""
    return _judge(
        evidence,
        _with_elr,
        _from_nowhere,
        "ELRs",
        "all came from the ISR",
    )


@check(
    "E11-elr-alone-keeps-epoch",
    applies=of_brokers,
    source="KIP-966",
    rests_on=(Kind.METADATA_LOGS,),
)
def elr_alone_keeps_epoch(evidence: Evidence) -> CheckResult:
    """E11: A change of the ELR alone does not change the leader epoch. (KIP-966)"""
    return _judge(
        evidence,
        _alone,
        _new_epoch,
        "changes of an ELR alone",
        "none began a leader epoch",
    )


@check(
    "E7-elr-elected-with-empty-isr",
    applies=of_brokers,
    source="KIP-966",
    rests_on=(Kind.METADATA_LOGS,),
)
def elr_elected_with_empty_isr(evidence: Evidence) -> CheckResult:
    """E7: A member of the ELR is elected only when no member of the ISR is active, and it becomes
    the ISR.

    Not active is a broker that is fenced, gone or shutting down when the batch is committed.
    (KIP-966)
    """
    return _judge(
        evidence,
        _elections_from_elr,
        _isr_not_empty,
        "elections from an ELR",
        "each when the ISR was empty",
    )


@check(
    "E8-nobody-else-is-elected",
    applies=of_brokers,
    source="KIP-966",
    rests_on=(Kind.METADATA_LOGS,),
)
def no_other_is_elected(evidence: Evidence) -> CheckResult:
    """E8: With unclean elections off, no replica outside ISR and ELR becomes leader.

    With one exception: with ELR, and both empty, the sole last known leader (part one of KIP-966).
    That is allowed and counted, as is any election where unclean ones are on: others may have held
    more. With a recovery manager (part two) no last leader is elected for having led. Under
    Balanced a replica may be, once ISR and ELR are empty, and all that are last known to be
    eligible are active; under Aggressive any may be, and under None none. An operator may ask for
    either, or name a replica, whatever the strategy.
    """
    found = evidence.timeline
    if found is None:
        return unread("elections of partition leaders", NEED)
    elections = [(batch, change) for batch, change in found.changes() if change.elected is not None]
    outside = [(batch, change) for batch, change in elections if change.elected_outside]
    is_allowed = partial(_may_elect, evidence.promised)
    violations = [_violation(c) for b, c in outside if not is_allowed(b, c)]
    return conclude(
        looked_at=len(elections),
        unit="elections of partition leaders",
        violations=violations,
        needs=NEED,
        holds="all from ISR or ELR, or allowed",
        algorithm=_ALGORITHM,
        allowed=[_violation(c) for b, c in outside if is_allowed(b, c)],
        nothing="no new leader of a partition was ever elected",
    )


@check(
    "E9-unclean-leader-recovers",
    applies=of_brokers,
    source="KIP-704, KIP-966",
    rests_on=(Kind.METADATA_LOGS,),
)
def unclean_leader_recovers(evidence: Evidence) -> CheckResult:
    """E9: An election from outside makes the leader the only member of the ISR, RECOVERING, and
    empties the ELR.

    While it is RECOVERING, the ISR has no other member. (KIP-704, KIP-966)
    """
    return _judge(
        evidence,
        _unclean_or_recovering,
        _not_alone,
        "elections from outside ISR and ELR",
        "each leader was alone, and recovering",
    )


def _judge(
    evidence: Evidence,
    choose: Callable[[Timeline], Iterable[_Judged]],
    wrong: Rule,
    unit: str,
    holds: str,
    others: Callable[[Timeline], Iterable[Violation]] = lambda _: (),
) -> CheckResult:
    """Judges a rule about single changes of partitions, and other violations of it."""
    found = evidence.timeline
    if found is None:
        return unread(unit, NEED)
    chosen = list(choose(found))
    told = [(change, wrong(batch, change)) for batch, change in chosen]
    return conclude(
        looked_at=len(chosen),
        unit=unit,
        violations=[
            *(Violation(text, both(change)) for change, text in told if text),
            *others(found),
        ],
        needs=NEED,
        holds=holds,
        algorithm=_ALGORITHM,
        nothing=f"there were no {unit}",
    )


# --- which changes a rule is about ---


def _with_elr(found: Timeline) -> Iterator[_Judged]:
    return ((b, c) for b, c in found.changes() if c.after is not None and c.after.elr)


def _alone(found: Timeline) -> Iterator[_Judged]:
    """Changes of an ELR, or of its last known members, and of nothing else."""
    for batch, change in found.changes():
        before, after = change.before, change.after
        if before is None or after is None:
            continue
        elrs = [(one.elr, one.last_known_elr) for one in (before, after)]
        rest = replace(
            after,
            elr=before.elr,
            last_known_elr=before.last_known_elr,
            leader_epoch=before.leader_epoch,
            partition_epoch=before.partition_epoch,
        )
        if elrs[0] != elrs[1] and rest == before:
            yield batch, change


def _with_feature(found: Timeline) -> Iterator[_Judged]:
    return ((b, c) for b, c in found.changes() if b.elr_on and c.before and c.after)


def _elections_from_elr(found: Timeline) -> Iterator[_Judged]:
    for batch, change in found.changes():
        before = change.before
        if change.elected is None or before is None or change.elected_outside:
            continue
        if change.ends_reassignment:
            continue  # an ISR was proposed, and the replica that was removed led it
        if change.elected in before.elr and change.elected not in before.isr:
            yield batch, change


def _unclean_or_recovering(found: Timeline) -> Iterator[_Judged]:
    for batch, change in found.changes():
        if change.elected_outside or (change.after is not None and change.after.recovering):
            yield batch, change


# --- what is wrong with one ---


def _in_both(_: MetadataBatch, change: Change) -> str:
    one = change.partition
    shared = tuple(sorted(set(one.isr) & set(one.elr)))
    return f"{one.key}: [{names(shared)}] are in ISR and ELR at once" if shared else ""


def _new_epoch(_: MetadataBatch, change: Change) -> str:
    before, after = change.before, change.partition
    assert before is not None
    if after.leader_epoch == before.leader_epoch:
        return ""
    text = f"{after.key}: only the ELR changed, from [{names(before.elr)}] to [{names(after.elr)}]"
    return f"{text}, yet the leader epoch went from {before.leader_epoch} to {after.leader_epoch}"


def _kept(found: Timeline) -> Iterator[Violation]:
    for batch in found.batches:
        for one, min_isr in batch.kept_elr:
            if len(one.isr) >= min_isr:
                text = f"{one.key}: the ELR [{names(one.elr)}] is left after a batch that set min "
                text += f"ISR to {min_isr}, which the ISR [{names(one.isr)}] has"
                at: dict[str, EventValue] = {"what": f"after the batch at offset {batch.base}"}
                yield Violation(text, [at | state(one)])


def _superfluous(_: MetadataBatch, change: Change) -> str:
    one = change.partition
    if len(one.isr) < change.min_isr:
        return ""
    text = f"{one.key}: the ELR is [{names(one.elr)}] although the ISR [{names(one.isr)}] has "
    return f"{text}min ISR, {change.min_isr}"


def _dropped_for_nothing(clean: Set[int], batch: MetadataBatch, change: Change) -> str:
    before, after = change.before, change.after
    assert before is not None
    assert after is not None
    gone = {*before.isr, *before.elr} - {*after.isr, *after.elr}
    excused = {one.node for one in batch.registrations if one.offset not in clean}
    excused |= batch.unregistered
    excused |= set(before.replicas) - set(after.replicas)
    least = max(change.min_isr, change.asked_min_isr)
    few = len({*after.isr, *after.elr}) < least
    if not few or not gone - excused or batch.cleared_elr or change.reassigned:
        return ""
    if change.elected_outside:
        return ""
    left = names(tuple(sorted(gone - excused)))
    text = f"{after.key}: [{left}] left both ISR and ELR, which leaves "
    return f"{text}fewer than min ISR, {least}, for no reason"


def _from_nowhere(_: MetadataBatch, change: Change) -> str:
    if change.before is None:
        return f"{change.partition.key} was made with an ELR"
    before, after = change.before, change.partition
    came = set(after.elr) - set(before.elr)
    strange = tuple(sorted(came - (set(before.isr) - set(after.isr))))
    return f"{after.key}: [{names(strange)}] joined the ELR from outside the ISR" if strange else ""


def _isr_not_empty(batch: MetadataBatch, change: Change) -> str:
    before, after = change.before, change.partition
    assert before is not None
    left = tuple(node for node in before.isr if batch.active(change, node, ever=False))
    if left:
        text = f"{after.key}: node {after.leader} was elected from the ELR although "
        return f"{text}[{names(left)}] of the ISR were active"
    if after.isr != (after.leader,):
        text = f"{after.key}: node {after.leader} was elected from the ELR, but the ISR became "
        return f"{text}[{names(after.isr)}]"
    return ""


def _may_elect(promised: AskedFor, batch: MetadataBatch, change: Change) -> bool:
    """By the strategy, or by what an operator asked for."""
    before = change.before
    assert before is not None
    strategies = promised.recoveries()
    if promise.AGGRESSIVE in strategies or change.elected in promised.designated():
        return True
    if promise.OFF in strategies and (change.unclean or _last_known(batch, change)):
        return True
    if promise.BALANCED not in strategies:
        return False
    needed = before.last_known_elr or before.replicas
    is_lost = batch.elr_on and not (before.isr or before.elr)
    return is_lost and all(batch.active(change, node, ever=True) for node in needed)


def _last_known(batch: MetadataBatch, change: Change) -> bool:
    """Whether the sole last known leader was elected when no eligible replica was left.

    The registration that makes the last of them ineligible is in the same batch as the election,
    and may follow it.
    """
    before, after = change.before, change.after
    assert before is not None
    assert after is not None
    alone = before.last_known_elr == (after.leader,)
    gone = {one.node for one in batch.registrations} | batch.unregistered
    return batch.elr_on and alone and not {*before.isr, *before.elr} - gone


def _violation(change: Change) -> Violation:
    before = change.before
    assert before is not None
    text = f"{before.key}: node {change.elected} was elected, from outside the ISR "
    return Violation(f"{text}[{names(before.isr)}] and the ELR [{names(before.elr)}]", both(change))


def _not_alone(_: MetadataBatch, change: Change) -> str:
    after = change.partition
    if change.elected_outside and not (after.recovering and after.isr == (after.leader,)):
        return f"{after.key}: node {after.leader}, from outside, is not alone and recovering"
    if change.elected_outside and after.elr:
        return f"{after.key}: node {after.leader}, from outside, left the ELR [{names(after.elr)}]"
    if after.recovering and len(after.isr) > 1:
        return f"{after.key} is recovering, and the ISR is [{names(after.isr)}]"
    return ""
