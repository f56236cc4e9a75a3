"""All checks over one run, and the sentence that says what they found.

A check is a pure function of the sealed tables. One that raises is an error of ours and makes the
run's verdict `error`, never `valid`; the others still run, so that a proved violation is shown.
"""

import inspect
import re
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace

from checkers.applicable import Check, of_logs, of_registers, of_traces
from checkers.evidence.committed import metadata_logs_agree
from checkers.history.sealed_run import Run
from checkers.log.checks import log_offsets, log_polls, log_sends
from checkers.log.durability import log_durability, log_final_reads
from checkers.partitions.acknowledged_topics import acknowledged_topics_are_committed
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
from checkers.partitions.registrations import lost_bytes_are_not_clean, unclean_registration_drops
from checkers.partitions.served import (
    acknowledged_with_min_isr,
    leaders_hold_acknowledged,
    reads_are_stored,
)
from checkers.quorum.after_the_fact import (
    epochs_on_disks,
    later_leaders_hold_committed,
    told_high_watermarks,
)
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
from checkers.quorum.leadership import (
    a_majority_elects,
    cut_off_leader_resigns,
)
from checkers.quorum.log_matching import committed_agree, leader_completeness, log_matching
from checkers.quorum.votes import one_vote_per_epoch
from checkers.quorum.watermarks import (
    no_cut_below_high_watermark,
    node_high_watermark,
    published_above_leader_change,
    quorum_high_watermark,
)
from checkers.registers.linearizable import linearizable
from checkers.registers.provenance import records_were_asked_for
from checkers.registers.survival import acknowledged_writes_survive
from checkers.run.statistics import Number, statistics
from checkers.run.sufficiency import (
    faults_bit,
    final_reads,
    record_complete,
    recovers_when_healed,
    workload_succeeded,
)
from checkers.verdict import CheckResult, Judgement, Verdict, worst
from checkers.verdict_file import read_verdict, write_verdict

__all__ = ["CHECKS", "judge", "read_verdict", "write_verdict"]

Stopwatch = Callable[[], float]


CHECKS: tuple[Check, ...] = (
    of_registers(linearizable),
    of_registers(acknowledged_writes_survive),
    log_durability,
    log_offsets,
    log_polls,
    log_sends,
    of_registers(records_were_asked_for),
    logs_have_no_holes,
    partitions_have_no_holes,
    of_traces(monotonic_epochs),
    one_leader_per_epoch,
    one_vote_per_epoch,
    log_matching,
    of_traces(quorum_high_watermark),
    of_traces(node_high_watermark),
    of_traces(no_cut_below_high_watermark),
    of_traces(leader_completeness),
    of_traces(committed_agree),
    of_traces(published_above_leader_change),
    of_traces(no_leader_again_after_restart),
    of_traces(durable_before_counted),
    of_traces(a_majority_elects),
    of_traces(cut_off_leader_resigns),
    of_traces(returning_node_disturbs_nobody),
    recovers_when_healed,
    of_registers(reads_are_committed),
    of_traces(active_after_replay),
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
    of_logs(one_leader_per_partition_epoch),
    of_logs(leader_in_isr),
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
    of_registers(final_reads),
    log_final_reads,
    workload_succeeded,
    faults_bit,
    record_complete,
)


_SAID_FIRST = ("linearizable", "log-durability")  # what the workloads are about


def judge(
    run: Run, checks: Sequence[Check] = CHECKS, stopwatch: Stopwatch = time.perf_counter
) -> Judgement:
    """Run every check; the worst verdict is the run's. One that does not apply has no row.

    `stopwatch` measures what each costs, in seconds.
    """
    found = (_run(check, run, stopwatch) for check in checks)
    results = tuple(result for result in found if result is not None)
    numbers = statistics(run)
    verdict = worst(result.verdict for result in results)
    return Judgement(
        run_id=run.info.run_id,
        verdict=verdict,
        sentence=_sentence(verdict, results, numbers),
        results=results,
        statistics=numbers,
    )


def _run(check: Check, run: Run, stopwatch: Stopwatch) -> CheckResult | None:
    began = stopwatch()
    try:
        result = check(run)
    except Exception as error:  # noqa: BLE001 - whatever it is, it must become a verdict
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
        result = CheckResult(
            check=check.__name__.replace("_", "-"),
            verdict=Verdict.ERROR,
            message=f"the check itself failed: {type(error).__name__}: {error} ({where})",
        )
    if result is None:
        return None
    seconds = round(stopwatch() - began, 4)
    return replace(result, seconds=seconds, promise=promise_of(check))


def promise_of(check: Check) -> str:
    """What a check says that has to hold: the first paragraph about it, without its number."""
    first = (inspect.getdoc(check) or "").partition("\n\n")[0]
    return re.sub(r"^[A-Z]+\d+: ", "", " ".join(first.split()))


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
    held = sum(result.check not in (*_SAID_FIRST, "faults-bit") for result in results)
    faults = f"{numbers['faults_bit']} faults bit" if numbers["faults"] else "no faults"
    gap = numbers["longest_without_success_s"]
    quiet = "" if gap is None else f"; longest time without a success {gap:.1f} s"
    first = "".join(f"{message}, " for message in said)
    return f"{first}{held} more checks hold, {faults}{quiet}"
