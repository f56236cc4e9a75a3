"""Was there enough to judge, and the numbers beside a verdict."""

from dataclasses import replace

import pyarrow as pa
import pytest

from checkers.evidence.faults import Kind
from checkers.history.tables import PROBES
from checkers.run.statistics import statistics
from checkers.run.sufficiency import (
    came_about,
    faults_bit,
    final_reads,
    record_complete,
    workload_succeeded,
)
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import (
    MS,
    NodeTrace,
    fault,
    leader_change,
    make_run,
    op,
    read,
    run_info,
    write,
)

ABOUT = ("q.loaded",)
VALID, UNKNOWN, VOID = Verdict.VALID, Verdict.UNKNOWN, Verdict.VOID


def about_loading(*traces: NodeTrace) -> CheckResult:
    return came_about(make_run(traces=traces, to_show=ABOUT, gives=(Kind.TRACES,)))


def test_what_the_scenario_is_about_has_to_come_about() -> None:
    quiet = NodeTrace(2).start()
    told = NodeTrace(1).start().emit("q.loaded", end=9, epoch=1)
    assert about_loading(quiet, told).verdict is VALID
    for traces in ([quiet], []):
        never = about_loading(*traces)
        assert (never.verdict, never.message) == (VOID, "no node traced q.loaded")
    assert came_about.applies(run_info(to_show=ABOUT))
    assert not came_about.applies(run_info())


def untraced(begins: int, committed: int = 50) -> CheckResult:
    """Node 1 was killed when so much was committed, and in the end its log begins there."""
    header = {"node": 1, "offset": begins - 1, "epoch": 1, "type": "SnapshotHeader"}
    killed = fault(0, "kill", 100, 200)
    run = make_run(faults=[killed], records=[header], to_show=ABOUT, gives=())
    told = {"t0": 50 * MS, "t1": 51 * MS, "node": 2, "kind": "quorum", "high_watermark": committed}
    later = {**told, "t0": 300 * MS, "t1": 301 * MS, "high_watermark": 400}
    probes = pa.Table.from_pylist([told, later], schema=PROBES)
    return came_about(replace(run, tables={**run.tables, "probes": probes}))


def test_a_follower_that_fetched_a_snapshot_by_its_disk() -> None:
    result = untraced(begins=60)
    assert (result.verdict, result.message) == (VALID, "disks show q.loaded 1 time")
    for never in (untraced(begins=50), untraced(begins=60, committed=-1)):
        assert (never.verdict, never.message) == (VOID, "no disk shows q.loaded")


def test_final_reads_of_every_key() -> None:
    ops = [write(1, 0, 1), write(2, 2, None, key="b"), write(3, 3, 4, key="c", outcome="fail")]
    ends = [read(1, 5, 6, phase="final"), read(None, 7, 8, key="b", phase="final")]
    assert final_reads(make_run(ops=[*ops, *ends])).verdict is VALID
    missing = final_reads(make_run(ops=[*ops, ends[0], read(2, 9, 10, key="b")]))
    assert missing.verdict is UNKNOWN
    assert missing.message == "1 of 2 keys were not read at the end: b"
    failed = read(None, 7, None, key="b", phase="final")
    assert final_reads(make_run(ops=[*ops, ends[0], failed])).verdict is UNKNOWN
    assert final_reads(make_run(ops=[read(None, 0, 1)])).verdict is UNKNOWN


@pytest.mark.parametrize(
    ("ok", "info", "expected"), [(50, 0, VALID), (49, 0, VOID), (50, 450, VALID), (50, 451, VOID)]
)
def test_enough_operations_succeeded(ok: int, info: int, expected: Verdict) -> None:
    ops = [write(i, 2 * i, 2 * i + 1) for i in range(ok)]
    ops += [write(i, 2 * i, None) for i in range(ok, ok + info)]
    assert workload_succeeded(make_run(ops=ops)).verdict is expected


def test_final_reads_do_not_make_up_for_a_run_without_success() -> None:
    ops = [write(i, 2 * i, None) for i in range(50)]
    finals = [read(None, 100 + 2 * i, 101 + 2 * i, phase="final") for i in range(500)]
    assert workload_succeeded(make_run(ops=[*ops, *finals])).verdict is VOID
    assert workload_succeeded(make_run()).verdict is VOID


@pytest.mark.parametrize(("writes", "expected"), [(10, VALID), (9, VOID), (0, VOID)])
def test_each_kind_of_operation_succeeded(writes: int, expected: Verdict) -> None:
    ops = [read(None, 2 * i, 2 * i + 1) for i in range(100)]
    ops += [write(i, 200 + 2 * i, 201 + 2 * i) for i in range(writes)]
    ops += [write(90, 300, 301, outcome="fail")]
    result = workload_succeeded(make_run(ops=ops))
    assert result.verdict is expected
    assert expected is VALID or f"only {writes} writes" in result.message


@pytest.mark.parametrize(
    ("fault_at", "expected"),
    [((50, 60), VALID), ((198, 300), VALID), ((199, 300), VOID), ((300, 400), VOID)],
)
def test_something_was_tried_during_each_fault(
    fault_at: tuple[int, int], expected: Verdict
) -> None:
    ops = [write(i, 2 * i, 2 * i + 1) for i in range(100)]
    faults = [fault(0, "kill", 20, 30), fault(1, "pause", *fault_at)]
    result = workload_succeeded(make_run(ops=ops, faults=faults))
    assert result.verdict is expected
    assert expected is VALID or "none was tried during fault 1, pause" in result.message


def test_faults_need_evidence() -> None:
    good = [fault(0, "kill", 1, 9), fault(1, "pause", 11, 19)]
    assert faults_bit(make_run(faults=good, fault_kinds=["kill", "pause"])).verdict is VALID
    for bit in (False, None):
        result = faults_bit(make_run(faults=[*good, fault(2, "kill", 25, 36, bit=bit)]))
        assert result.verdict is VOID
        assert "fault 2, kill, left no evidence: it was never asked" in result.message
    assert faults_bit(make_run(fault_kinds=["kill"])).verdict is VOID
    assert faults_bit(make_run()).verdict is VALID


def test_what_lasts_holds_for_some_time() -> None:
    """A disk is wiped at once, and stays so."""
    row = fault(0, "pause", 1, 9)
    row["t_heal"] = row["t_bit"]
    result = faults_bit(make_run(faults=[row], fault_kinds=["pause"]))
    assert (result.verdict, result.message) == (
        VOID,
        "fault 0, pause, left no evidence: it was healed as soon as it was in effect",
    )
    wiped = fault(0, "wipe", 1, 9)
    wiped["t_heal"] = wiped["t_bit"]
    assert faults_bit(make_run(faults=[wiped], fault_kinds=["wipe"])).verdict is VALID


def test_in_a_run_that_came_to_its_end_everything_was_healed() -> None:
    for_ever = fault(0, "pause", 1, 9) | {"t_heal": None, "t_healed": None}
    result = faults_bit(make_run(faults=[for_ever], fault_kinds=["pause"]))
    assert (result.verdict, result.message) == (VOID, "fault 0, pause, was never healed")
    broke_off = make_run(faults=[for_ever], fault_kinds=["pause"], finished=False)
    assert faults_bit(broke_off).verdict is VALID


@pytest.mark.parametrize("overlap", [False, True])
def test_a_kind_of_fault_that_never_bit_voids_the_run(overlap: bool) -> None:
    """Whatever else bit: a swarm without its power cuts shows nothing about power cuts."""
    kills = [fault(n, "kill", 10 * n, 10 * n + 5) for n in range(10)]
    planned = ["kill", "power-off"]
    absent = faults_bit(make_run(faults=kills, fault_kinds=planned, faults_overlap=overlap))
    assert absent.verdict is VOID
    assert "no power-off bit, though it was planned: no such fault ever began" in absent.message
    cuts = [fault(10, "power-off", 200, 210, bit=False), fault(11, "power-off", 220, 230)]
    toothless = make_run(faults=[*kills, cuts[0]], fault_kinds=planned, faults_overlap=overlap)
    assert faults_bit(toothless).verdict is VOID
    assert "fault 10, power-off, left no evidence" in faults_bit(toothless).message
    once = make_run(faults=[*kills, *cuts], fault_kinds=planned, faults_overlap=overlap)
    assert faults_bit(once).verdict is (VALID if overlap else VOID)


def test_a_record_is_complete_or_says_what_is_missing() -> None:
    assert record_complete(make_run()).verdict is VALID
    assert record_complete(make_run(truncated=("events-1: a frame",))).verdict is UNKNOWN
    assert "broke off" in record_complete(make_run(finished=False)).message


def test_numbers_of_a_run() -> None:
    ops = [
        write(1, 0, 10),
        write(2, 20, 60),
        write(3, 30, None),
        write(4, 50, 1050, process=2),
        write(5, 1100, 1110, outcome="fail"),
        read(1, 1200, 1220),
        read(1, 5000, 5001, phase="final"),
    ]
    node = NodeTrace(1).start().state("leader", 1, leader=1).state("leader", 2, leader=1)
    run = make_run(ops=ops, faults=[fault(0, "kill", 40, 1060)], traces=[node])
    numbers = statistics(run)
    assert (numbers["operations"], numbers["operations_ok"]) == (7, 5)
    assert (numbers["operations_fail"], numbers["operations_info"]) == (1, 1)
    assert numbers["duration_s"] == 1.22
    assert numbers["ok_per_s"] == 3.3
    assert numbers["longest_without_success_s"] == 0.99
    assert (numbers["elections"], numbers["faults"], numbers["faults_bit"]) == (2, 1, 1)
    assert (numbers["before_ok"], numbers["during_ok"], numbers["after_ok"]) == (1, 2, 1)
    assert (numbers["latency_max_ms"], numbers["before_latency_p50_ms"]) == (1000.0, 10.0)
    assert numbers["after_latency_p99_ms"] == 20.0


def test_times_in_which_nobody_tried_do_not_count_as_outage() -> None:
    ops = [write(1, 0, 10), write(2, 5000, 5010)]
    assert statistics(make_run(ops=ops))["longest_without_success_s"] == 0.01
    assert statistics(make_run(ops=[write(1, 0, 10)]))["longest_without_success_s"] == 0.01


def test_one_kind_of_operation_may_stand_still_while_others_succeed() -> None:
    ops = [op("send", at, at, at + 10) for at in range(0, 1000, 20)]
    ops += [
        op("create-topic", None, 0, 10),
        op("create-topic", None, 300, 500, outcome="info"),
        op("delete-topic", None, 600, 900),
    ]
    numbers = statistics(make_run(ops=ops))
    assert numbers["longest_without_send_s"] == 0.01
    assert numbers["longest_without_topic_s"] == 0.6
    assert "longest_without_poll_s" not in numbers


def test_numbers_of_an_empty_run() -> None:
    numbers = statistics(make_run())
    assert numbers["operations"] == 0
    assert numbers["ok_per_s"] is None
    assert numbers["elections"] is None
    assert numbers["latency_p50_ms"] is None
    leaders = [leader_change(1, 0, 1, 1), leader_change(2, 0, 1, 1), leader_change(1, 5, 2, 2)]
    assert statistics(make_run(records=leaders))["elections"] == 2


@pytest.mark.parametrize(("bit", "expected"), [(4, VALID), (2, VALID), (1, VOID), (0, VOID)])
def test_of_overlapping_faults_half_have_to_bite(bit: int, expected: Verdict) -> None:
    faults = [fault(n, "kill", 10 * n, 10 * n + 20, bit=n < bit) for n in range(4)]
    assert faults_bit(make_run(faults=faults, faults_overlap=True)).verdict is expected
    assert faults_bit(make_run(faults=faults)).verdict is (VALID if bit == 4 else VOID)


def test_of_overlapping_faults_some_fall_into_times_without_clients() -> None:
    ops = [write(i, 2 * i, 2 * i + 1) for i in range(100)]
    idle = [fault(0, "pause", 400, 500)]
    assert workload_succeeded(make_run(ops=ops, faults=idle)).verdict is VOID
    overlapping = make_run(ops=ops, faults=idle, faults_overlap=True)
    assert workload_succeeded(overlapping).verdict is VALID


@pytest.mark.parametrize(
    ("told", "changed", "expected"), [(10, 1, VALID), (9, 1, VOID), (10, 0, VOID)]
)
def test_clients_that_change_voters_were_told_and_acknowledged(
    told: int, changed: int, expected: Verdict
) -> None:
    ops = [write(i, 2 * i, 2 * i + 1) for i in range(60)]
    ops += [read(1, 200 + 2 * i, 201 + 2 * i) for i in range(20)]
    ops += [op("describe-quorum", 1, 300 + 2 * i, 301 + 2 * i, key="quorum") for i in range(told)]
    ops += [op("add-voter", None, 400, 401, key="3:c") for _ in range(changed)]
    assert workload_succeeded(make_run(ops=ops, load={"describers": 2})).verdict is expected
    assert workload_succeeded(make_run(ops=ops)).verdict is VALID
