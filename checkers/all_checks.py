"""Every check there is, in the order of a judgement's rows. A new one is a line here.

A line is a module; the checks that it defines follow each other as they stand in it.
"""

from importlib import import_module

from checkers.check import Check

_MODULES = (
    "registers.linearizable",
    "registers.survival",
    "log.durability",
    "log.checks",
    "log.ended_transactions",
    "log.looked_up",
    "log.committed_offsets",
    "log.deleted_records",
    "registers.records_explained",
    "registers.requests",
    "registers.log_and_clients",
    "run.answers",
    "quorum.contiguity",
    "quorum.intact_disks",
    "quorum.epochs",
    "quorum.votes",
    "quorum.ballots",
    "quorum.origins",
    "quorum.read_confirmation",
    "quorum.denials",
    "quorum.keeping_up",
    "quorum.log_matching",
    "quorum.reigns_begin",
    "quorum.committed_kept",
    "quorum.append_order",
    "quorum.watermarks",
    "quorum.snapshots",
    "quorum.stored_snapshots",
    "quorum.stored_features",
    "quorum.voters_followed",
    "quorum.voter_sets",
    "quorum.voters_told",
    "quorum.voters_undone",
    "quorum.voters_were",
    "quorum.without_majority",
    "quorum.new_disks",
    "quorum.held_by_majority",
    "quorum.fsync",
    "quorum.untold",
    "quorum.leadership",
    "quorum.disturbance",
    "quorum.controllers",
    "quorum.unseating",
    "quorum.after_the_fact",
    "quorum.agreement",
    "partitions.served",
    "partitions.min_isr",
    "partitions.refusals",
    "partitions.shown",
    "partitions.held",
    "partitions.intact_replicas",
    "partitions.marks_kept",
    "partitions.stray_replicas",
    "partitions.kept_unfenced",
    "partitions.partition_watermarks",
    "partitions.kept_up",
    "partitions.isr_and_cuts",
    "partitions.joined_isr",
    "partitions.vouched",
    "partitions.traced_deeds",
    "partitions.leaders",
    "partitions.told_partitions",
    "partitions.eligible",
    "partitions.leaderless",
    "partitions.registrations",
    "partitions.reassigned",
    "partitions.replayed",
    "partitions.handed_out",
    "partitions.acknowledged_topics",
    "partitions.as_asked_for",
    "partitions.known_topics",
    "run.kept_running",
    "run.complaints",
    "run.sides_led",
    "run.recovery",
    "run.change_answers",
    "run.calm",
    "run.answered_at_once",
    "run.serving",
    "run.let_in",
    "run.late_answers",
    "run.silent_brokers",
    "run.sufficiency",
    "run.evidence_complete",
)


def _defined_in(name: str) -> list[Check]:
    module = import_module(f"checkers.{name}")
    found = [each for each in vars(module).values() if isinstance(each, Check)]
    return [check for check in found if check.judges.__module__ == module.__name__]


CHECKS: tuple[Check, ...] = tuple(check for name in _MODULES for check in _defined_in(name))
