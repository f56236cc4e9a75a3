"""All checks over one run, and the sentence that says what they found.

A check is a pure function of what a run left. One that raises is an error of ours and makes the
run's verdict `error`, never `valid`; the others still run, so that a proved violation is shown.
"""

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace

from checkers.check import Check
from checkers.evidence.evidence import Evidence
from checkers.history.sealed_run import Run
from checkers.log.checks import log_offsets, log_polls, log_sends
from checkers.log.durability import log_durability, log_final_reads
from checkers.partitions.acknowledged_topics import (
    acknowledged_topics_are_committed,
    deleted_topics_are_gone,
)
from checkers.partitions.eligible import (
    eligible_are_kept,
    elr_elected_with_empty_isr,
    elr_joined_from_isr,
    elr_only_below_min_isr,
    isr_and_elr_are_disjoint,
    nobody_else_is_elected,
    unclean_leader_recovers,
)
from checkers.partitions.handed_out import broker_epochs_rise, producer_ids_are_unique
from checkers.partitions.held import eligible_hold_all, replicas_agree
from checkers.partitions.leaders import (
    leader_in_isr,
    one_leader_per_partition_epoch,
    only_active_brokers_lead,
)
from checkers.partitions.min_isr import acknowledged_with_min_isr
from checkers.partitions.registrations import lost_bytes_are_not_clean, unclean_registration_drops
from checkers.partitions.served import (
    leaders_hold_acknowledged,
    reads_are_stored,
)
from checkers.quorum.after_the_fact import (
    epochs_on_disks,
    later_leaders_hold_committed,
    told_high_watermarks,
)
from checkers.quorum.agreement import metadata_logs_agree
from checkers.quorum.ballots import elected_by_a_majority
from checkers.quorum.contiguity import logs_have_no_holes, partitions_have_no_holes
from checkers.quorum.controllers import (
    active_after_replay,
    epochs_rise_in_logs,
    reads_are_committed,
)
from checkers.quorum.disturbance import returning_node_disturbs_nobody
from checkers.quorum.epochs import (
    monotonic_epochs,
    no_leader_again_after_restart,
    one_leader_per_epoch,
)
from checkers.quorum.fsync import durable_before_counted
from checkers.quorum.keeping_up import followers_keep_up
from checkers.quorum.leadership import (
    a_majority_elects,
    cut_off_leader_resigns,
)
from checkers.quorum.log_matching import committed_agree, leader_completeness, log_matching
from checkers.quorum.origins import epochs_have_an_origin, heard_leader_is_kept
from checkers.quorum.read_confirmation import reads_are_confirmed
from checkers.quorum.votes import one_vote_per_epoch
from checkers.quorum.watermarks import (
    no_cut_below_high_watermark,
    node_high_watermark,
    published_above_leader_change,
    quorum_high_watermark,
)
from checkers.registers.linearizable import linearizable
from checkers.registers.provenance import records_were_asked_for
from checkers.registers.requests import requests_are_whole, written_once
from checkers.registers.survival import acknowledged_writes_survive
from checkers.run.answers import answers_are_well_formed, wrong_requests_are_refused
from checkers.run.calm import calm_operations_are_quick
from checkers.run.evidence_complete import evidence_complete
from checkers.run.kept_running import nodes_kept_running
from checkers.run.recovery import recovers_when_healed
from checkers.run.statistics import Number, statistics
from checkers.run.sufficiency import (
    faults_bit,
    final_reads,
    record_complete,
    workload_succeeded,
)
from checkers.verdict import CheckResult, Judgement, Verdict, worst
from checkers.verdict_file import read_verdict, write_verdict

__all__ = ["CHECKS", "judge", "read_verdict", "write_verdict"]

Stopwatch = Callable[[], float]


CHECKS: tuple[Check, ...] = (
    linearizable,
    acknowledged_writes_survive,
    log_durability,
    log_offsets,
    log_polls,
    log_sends,
    records_were_asked_for,
    answers_are_well_formed,
    wrong_requests_are_refused,
    written_once,
    requests_are_whole,
    logs_have_no_holes,
    partitions_have_no_holes,
    monotonic_epochs,
    one_leader_per_epoch,
    one_vote_per_epoch,
    elected_by_a_majority,
    epochs_have_an_origin,
    heard_leader_is_kept,
    reads_are_confirmed,
    followers_keep_up,
    log_matching,
    quorum_high_watermark,
    node_high_watermark,
    no_cut_below_high_watermark,
    leader_completeness,
    committed_agree,
    published_above_leader_change,
    no_leader_again_after_restart,
    durable_before_counted,
    a_majority_elects,
    cut_off_leader_resigns,
    returning_node_disturbs_nobody,
    nodes_kept_running,
    recovers_when_healed,
    reads_are_committed,
    active_after_replay,
    epochs_rise_in_logs,
    epochs_on_disks,
    told_high_watermarks,
    later_leaders_hold_committed,
    metadata_logs_agree,
    leaders_hold_acknowledged,
    reads_are_stored,
    acknowledged_with_min_isr,
    eligible_hold_all,
    replicas_agree,
    one_leader_per_partition_epoch,
    leader_in_isr,
    only_active_brokers_lead,
    isr_and_elr_are_disjoint,
    elr_only_below_min_isr,
    eligible_are_kept,
    elr_joined_from_isr,
    unclean_registration_drops,
    lost_bytes_are_not_clean,
    elr_elected_with_empty_isr,
    nobody_else_is_elected,
    unclean_leader_recovers,
    broker_epochs_rise,
    producer_ids_are_unique,
    acknowledged_topics_are_committed,
    deleted_topics_are_gone,
    final_reads,
    log_final_reads,
    workload_succeeded,
    calm_operations_are_quick,
    faults_bit,
    record_complete,
    evidence_complete,
)


_SAID_FIRST = ("linearizable", "log-durability")  # what the workloads are about


def judge(
    run: Run | Evidence, checks: Sequence[Check] = CHECKS, stopwatch: Stopwatch = time.perf_counter
) -> Judgement:
    """Run every check that applies; the worst verdict is the run's.

    `stopwatch` measures what each costs, in seconds.
    """
    evidence = run if isinstance(run, Evidence) else Evidence(run)
    run = evidence.run
    applicable = [check for check in checks if check.applies(run.info)]
    results = tuple(_judged(check, evidence, stopwatch) for check in applicable)
    numbers = statistics(run)
    verdict = worst(result.verdict for result in results)
    return Judgement(
        run_id=run.info.run_id,
        verdict=verdict,
        sentence=_sentence(verdict, results, numbers),
        results=results,
        statistics=numbers,
    )


def _judged(check: Check, evidence: Evidence, stopwatch: Stopwatch) -> CheckResult:
    began = stopwatch()
    try:
        result = _as_far_as_known(check(evidence), check, evidence)
    except Exception as error:  # noqa: BLE001 - whatever it is, it must become a verdict
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
        result = CheckResult(
            check=check.id,
            verdict=Verdict.ERROR,
            message=f"the check itself failed: {type(error).__name__}: {error} ({where})",
            promise=check.promise,
        )
    judged = _acquitted(check, result, evidence)
    return replace(judged, seconds=round(stopwatch() - began, 4))


def _acquitted(check: Check, result: CheckResult, evidence: Evidence) -> CheckResult:
    """What is missing accuses nobody: where an accusation needs it whole, it is a suspicion."""
    if result.verdict is not Verdict.INVALID:
        return result
    lacking = [each for each in evidence.missing if each.kind in check.rests_on]
    if not lacking:
        return result
    return replace(
        result,
        verdict=Verdict.UNKNOWN,
        message=f"nobody can tell, for evidence is missing ({lacking[0]}): {result.message}",
        count=0,
    )


def _as_far_as_known(result: CheckResult, check: Check, evidence: Evidence) -> CheckResult:
    """What is missing accuses nobody: where an accusation rests on what should be there and is not,
    it is no more than a suspicion. Nor is there nothing to judge where nobody could see it."""
    lacking = [each for each in evidence.missing if each.kind in check.rests_on]
    accuses = result.verdict is Verdict.INVALID
    saw_nothing = result.verdict is Verdict.VALID and not result.looked_at
    if not lacking or not (accuses or saw_nothing):
        return result
    why = f"it rests on {lacking[0].kind.value}, and some are missing ({lacking[0]})"
    suspicion = f"a suspicion only, {why}: {result.message}"
    return replace(
        result,
        verdict=Verdict.UNKNOWN,
        count=0,
        message=suspicion if accuses else f"{result.message}; but {why}",
    )


def _sentence(verdict: Verdict, results: Sequence[CheckResult], numbers: dict[str, Number]) -> str:
    if verdict is Verdict.VALID:
        return f"VALID: {_praise(results, numbers)}"
    blamed = [result for result in results if result.verdict is verdict]
    if not blamed:
        return f"{verdict.name}: nothing was judged"
    more = f" (and {len(blamed) - 1} more {verdict.word})" if len(blamed) > 1 else ""
    return f"{verdict.name}: {blamed[0].check}: {blamed[0].message}{more}"


def _praise(results: Sequence[CheckResult], numbers: dict[str, Number]) -> str:
    messages = {result.check: result.message for result in results}
    said = [messages[check] for check in _SAID_FIRST if check in messages]
    others = [result for result in results if result.check not in (*_SAID_FIRST, "faults-bit")]
    held = sum(result.looked_at > 0 for result in others)
    faults = f"{numbers['faults_bit']} faults bit" if numbers["faults"] else "no faults"
    gap = numbers["longest_without_success_s"]
    quiet = "" if gap is None else f"; longest time without a success {gap:.1f} s"
    first = "".join(f"{message}, " for message in said)
    return f"{first}{held} more checks hold, {faults}{quiet}"
