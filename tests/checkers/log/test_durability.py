"""Lost, late, allowed: acknowledged records against final reads, disks and faults."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from checkers.history.sealed_run import Run, RunInfo
from checkers.log.checks import log_offsets, log_polls
from checkers.log.durability import log_durability, log_final_reads
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS
from tests.support.judged import saw_nothing
from tests.support.logs import BROKERS, LogRun

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
HELD = [(0, 1), (1, 2)]  # offset and value of two records


def judged(run: Run) -> CheckResult:
    result = log_durability(run)
    assert result is not None
    return result


def finals(run: Run) -> CheckResult:
    result = log_final_reads(run)
    assert result is not None
    return result


def two_records() -> LogRun:
    log = LogRun()
    log.send(1, 0)
    log.send(2, 1)
    return log


def with_configs(run: Run, configs: Mapping[str, str]) -> Run:
    """With these of the load's topics, in a run of a second."""
    load = {**run.info.load, "configs": dict(configs)}
    info: RunInfo = replace(run.info, load=load, duration_ns=1000 * MS)
    return replace(run, info=info)


def on_all_disks(log: LogRun, *records: tuple[int, int]) -> LogRun:
    for node in BROKERS:
        log.disk(node, *records)
    return log


def test_what_is_read_at_the_end_is_there() -> None:
    log = two_records()
    log.final(*HELD)
    result = judged(log.run())
    assert (result.verdict, result.looked_at) == (VALID, 2)
    assert result.message == "2 of 2 acknowledged records are there at the end"
    assert finals(log.run()).verdict is VALID


def test_what_a_final_read_passes_over_is_lost() -> None:
    log = two_records()
    log.final((1, 2))
    result = judged(log.run())
    assert (result.verdict, result.count) == (INVALID, 1)
    assert result.message.startswith("lost-write: 0/1, acknowledged at offset 0 of t-0, is lost")
    assert [row["what"] for row in result.witness] == [
        "sent 0/1, acknowledged: lost",
        "read t-0 at the end, up to 1",
    ]


def test_what_no_disk_has_is_lost_even_at_the_end_of_the_log() -> None:
    log = on_all_disks(two_records(), (0, 1))
    log.final((0, 1))
    result = judged(log.run())
    assert (result.verdict, result.count) == (INVALID, 1)
    assert finals(log.run()).verdict is VALID  # it need not reach what is not there


def test_what_a_disk_has_is_late() -> None:
    log = two_records()
    log.final((0, 1))
    for node in BROKERS:
        log.disk(node, *(HELD if node == 3 else HELD[:1]))
    result = judged(log.run())
    assert (result.verdict, result.facts["late"]) == (VALID, 1)
    assert "1 of them only on disks" in result.message
    short = finals(log.run())
    assert short.verdict is UNKNOWN
    assert short.message.endswith("were not read to their end: t-0 to offset 0 of 1")


@pytest.mark.parametrize("damage", ["missing", "damaged", "begins later"])
def test_absence_on_disks_that_were_not_read_whole_proves_nothing(damage: str) -> None:
    log = two_records()
    log.final((0, 1))
    log.disk(1, (0, 1))
    log.disk(2, (0, 1))
    if damage == "damaged":
        log.disk(3, (0, 1), problem="wrong CRC")
    elif damage == "begins later":
        log.disk(3, log_start=2)
    settings = {"retention.ms": "0"} if damage == "begins later" else {}
    result = judged(with_configs(log.run(), settings))
    assert (result.verdict, result.facts["undecided"]) == (UNKNOWN, 1)
    assert "lost or late" in result.message


def test_a_log_that_begins_behind_what_retention_had_to_keep_has_lost_it() -> None:
    log = two_records()
    log.final()
    for node in BROKERS:
        log.disk(node, log_start=2)
    result = judged(log.run())
    assert (result.verdict, result.count) == (INVALID, 2)
    assert judged(with_configs(log.run(), {"retention.ms": "0"})).verdict is UNKNOWN


def test_a_power_cut_behind_a_stop_in_good_order_allows_for_no_loss() -> None:
    """Whoever had said by then that all is on its disk did not shut down uncleanly."""
    for kind, verdict in (("stop-then-power-off", INVALID), ("power-off", VALID)):
        log = two_records()
        log.fault(kind, *BROKERS)
        log.heal()
        log.final()
        for node in BROKERS:
            log.disk(node, log_start=2)
        log.send(3, 2)
        log.final((2, 3))
        result = judged(log.run())
        assert (result.verdict, result.facts["allowed_loss"]) == (verdict, 0 if result.count else 2)


def test_what_a_disk_has_below_the_start_of_its_log_is_given_to_nobody() -> None:
    log = two_records()
    log.final()
    log.disk(1, log_start=2)
    for node in (2, 3):
        log.disk(node, *HELD, log_start=2)
    assert (judged(log.run()).verdict, judged(log.run()).count) == (INVALID, 2)


def test_without_final_reads_and_disks_nothing_is_known() -> None:
    assert judged(two_records().run()).verdict is UNKNOWN
    assert "t-0 not at all of 1" in finals(two_records().run()).message


@pytest.mark.parametrize("outcome", ["ok", "fail"])
@pytest.mark.parametrize("high_watermark", [None, 0, 1, 9])
def test_what_was_polled_and_is_gone_vanished(high_watermark: int | None, outcome: str) -> None:
    """P13: acks=1 promised nothing, but a consumer was given it, committed or not."""
    log = LogRun()
    log.send(1, 0, acks=1)
    log.send(2, 1)
    log.poll((0, 1), high_watermark=high_watermark, outcome=outcome)
    log.final((1, 2))
    result = judged(log.run())
    assert result.verdict is INVALID
    assert result.message.startswith("vanished: 0/1, polled at offset 0 of t-0, is lost")


@pytest.mark.parametrize("high_watermark", [None, 0, 1, 9])
def test_what_was_polled_and_is_another_changed(high_watermark: int | None) -> None:
    log = LogRun()
    log.send(1, 0, acks=1)
    log.send(2, 0)
    log.poll((0, 1), high_watermark=high_watermark)
    log.final((0, 2))
    result = log_offsets(log.run())
    assert result is not None
    assert (result.verdict, result.facts["inconsistent-offsets"]) == (INVALID, 1)
    assert judged(log.run()).facts["lost"] == 1


@pytest.mark.parametrize("acks", [0, 1])
def test_what_not_all_acknowledged_is_promised_nothing(acks: int) -> None:
    log = LogRun()
    log.send(1, 0 if acks else None, acks=acks)
    log.send(2, 0)
    on_all_disks(log, (0, 2)).final((0, 2))
    result = judged(log.run())
    assert (result.verdict, result.facts["lost"]) == (VALID, 0)
    assert result.facts[f"gone_of_acks_{acks}"] == 1


def test_runs_that_promise_nothing_have_no_row() -> None:
    log = LogRun()
    log.send(1, 0, acks=1)
    assert saw_nothing(log_durability(log.run()))


def test_unknown_sends_are_recovered_or_did_not_happen() -> None:
    log = LogRun()
    log.send(1, None, outcome="info", process=0)
    log.send(1 << 32, None, outcome="info", process=1)
    log.send(2 << 32, 1, process=2)
    on_all_disks(log, (0, 1), (1, 2 << 32)).final((0, 1), (1, 2 << 32))
    facts = judged(log.run()).facts
    assert (facts["info"], facts["recovered"], facts["not_happened"]) == (2, 1, 1)


def test_all_sends_refused_is_unknown() -> None:
    log = LogRun()
    log.send(1, None, outcome="fail")
    assert judged(log.run()).verdict is UNKNOWN
    assert finals(log.run()).verdict is UNKNOWN


# --- the budget: as the stories of Apache Kafka go


def last_replica_standing() -> LogRun:
    """Links of 3 and 2 are cut, then the power of 1: one lossy shutdown with min ISR 2."""
    log = two_records()
    log.fault("partition", 3)
    log.fault("partition", 2)
    log.fault("power-off", 1)
    log.heal()
    return on_all_disks(log)


@pytest.mark.parametrize("elr", ["off", "on"])
def test_the_last_replica_standing_is_within_the_budget(elr: str) -> None:
    run = last_replica_standing().run(elr=elr)
    result = judged(run)
    assert (result.verdict, result.count) == (INVALID, 2)
    assert "at most 1 were" in result.message
    faults = [row["what"] for row in result.witness if "fault" in str(row["what"])]
    assert faults[-1] == "fault 2: power-off of 1"


def test_a_loss_after_all_were_unclean_is_allowed() -> None:
    """Two kills lose nothing, and spend the budget of part one of KIP-966 all the same."""
    log = two_records()
    log.fault("kill", 3)
    log.fault("kill", 2)
    log.fault("power-off", 1)
    log.heal()
    result = judged(on_all_disks(log).run())
    assert (result.verdict, result.facts["allowed_loss"], result.facts["lost"]) == (VALID, 2, 0)
    assert "2 are an allowed loss" in result.message
    assert "at most 3 were" in result.message


def test_kills_alone_lose_nothing() -> None:
    log = two_records()
    for node in BROKERS:
        log.fault("kill", node)
    log.heal()
    assert judged(on_all_disks(log).run()).verdict is INVALID


def test_the_same_replica_twice_is_one_replica() -> None:
    log = two_records()
    for _ in range(2):
        log.fault("power-off", 1)
        log.heal()
    assert judged(on_all_disks(log).run()).verdict is INVALID


def test_the_controller_has_no_replica() -> None:
    log = two_records()
    log.fault("power-off", 1, 4)
    log.heal()
    assert judged(on_all_disks(log).run()).verdict is INVALID


def test_min_isr_1_allows_the_loss_of_one() -> None:
    assert judged(last_replica_standing().run(min_isr="1")).verdict is VALID


def test_without_a_metadata_log_nobody_knows_of_unclean_elections() -> None:
    log = two_records()
    log.fault("partition", 1)
    log.heal()
    run = on_all_disks(log).run(unclean="on")
    assert judged(run).verdict is UNKNOWN
    quiet = on_all_disks(two_records()).run(unclean="on")
    assert judged(quiet).verdict is INVALID


def power_off(log: LogRun, node: int, *probes: tuple[int, ...]) -> None:
    """Off and on again, and what a broker says of the ISR meanwhile."""
    log.fault("power-off", node)
    log.probe(*(other for other in BROKERS if other != node))
    log.heal()
    for isr in probes:
        log.probe(*isr)


def test_a_full_recovery_refills_the_budget() -> None:
    """Rolling power cuts: each alone is within it."""
    log = two_records()
    power_off(log, 1, BROKERS)
    power_off(log, 2, BROKERS)
    assert judged(on_all_disks(log).run()).verdict is INVALID


@pytest.mark.parametrize("said", [(), ((2, 3),)])
def test_without_an_answer_nobody_knows_of_a_full_recovery_between_two(
    said: tuple[tuple[int, ...], ...],
) -> None:
    log = two_records()
    power_off(log, 1, *said)
    power_off(log, 2, BROKERS)
    assert judged(on_all_disks(log).run()).verdict is UNKNOWN


def test_an_isr_that_no_broker_has_left_yet_may_be_no_recovery() -> None:
    """The controller has not missed the broker: it is in the ISR with what it has lost."""
    log = two_records()
    log.fault("power-off", 1)
    log.heal()
    log.probe(*BROKERS)
    power_off(log, 2, BROKERS)
    assert judged(on_all_disks(log).run()).verdict is UNKNOWN


def test_an_answer_of_another_broker_may_be_older() -> None:
    log = two_records()
    log.fault("power-off", 1)
    log.probe(2, 3, node=2)
    log.heal()
    log.probe(*BROKERS, node=3)
    power_off(log, 2, BROKERS)
    assert judged(on_all_disks(log).run()).verdict is UNKNOWN


def test_what_is_sent_after_the_recovery_must_stay() -> None:
    log = LogRun()
    log.send(1, 0)
    log.fault("power-off", *BROKERS)
    for node in BROKERS:
        log.probe(*(other for other in BROKERS if other != node))
    log.heal()
    log.probe(*BROKERS)
    log.send(2, 1)
    result = judged(on_all_disks(log).run())
    assert (result.verdict, result.count, result.facts["allowed_loss"]) == (INVALID, 1, 1)
    assert "0/2" in result.message


def test_offsets_given_again_after_an_allowed_loss_are_no_accusation() -> None:
    log = two_records()
    log.poll(*HELD)
    log.fault("power-off", *BROKERS)
    log.heal()
    log.send(3, 1)
    log.final((0, 1), (1, 3))
    on_all_disks(log, (0, 1), (1, 3))
    result = log_offsets(log.run())
    assert result is not None
    assert result.verdict is VALID
    assert result.facts["allowed_inconsistent-offsets"] == 1
    assert judged(log.run()).facts["allowed_loss"] == 1


@pytest.mark.parametrize(("records", "verdict"), [([], VALID), ([(1, 3)], INVALID)])
def test_a_poll_may_go_past_what_was_allowed_to_be_lost_and_past_nothing_else(
    records: list[tuple[int, int]], verdict: Verdict
) -> None:
    """At offset 1, that of the lost record, stands nothing, or another one."""
    log = two_records()
    log.fault("power-off", *BROKERS)
    for node in BROKERS:
        log.probe(*(other for other in BROKERS if other != node))
    log.heal()
    log.probe(*BROKERS)
    for offset, value in records:
        log.send(value, offset)
    log.send(4, 2)
    log.poll((0, 1))
    log.poll((2, 4))
    log.final((0, 1), *records, (2, 4))
    on_all_disks(log, (0, 1), *records, (2, 4))
    result = log_polls(log.run())
    assert result.verdict is verdict
    assert ("poll-skip: process 50 went from offset 0" in result.message) is (verdict is INVALID)
