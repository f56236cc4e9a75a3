"""KIP-966's own case in the lanes: the ISR shrinks to one broker, which then goes."""

from checkers.evidence.evidence import Evidence
from checkers.history.events import HistoryKind
from checkers.history.sealed_run import Run
from checkers.page.lanes import fault_windows
from checkers.page.partition_drawing import (
    PartitionLane,
    partition_drawing,
    partition_lanes,
    partitions_section,
)
from tests.support.histories import MS
from tests.support.kafka_runs import Cluster, change, started
from tests.support.logs import LogRun

KEY = "t-0"
END_NS = 60_000 * MS
STARTED_MS = 1_767_225_600_000  # 2026-01-01, when runs of tests begin


def shrinking() -> Cluster:
    """A second apart: all in sync, 3 out, 2 out and eligible, nobody left, 2 leads again."""
    cluster = started()
    cluster.commit(change(KEY, isr=[1, 2]))
    cluster.commit(change(KEY, isr=[1], eligibleLeaderReplicas=[2]))
    cluster.commit(change(KEY, isr=[], leader=-1, eligibleLeaderReplicas=[1, 2]))
    cluster.commit(change(KEY, isr=[2], leader=2, eligibleLeaderReplicas=[], lastKnownElr=[1]))
    for row in cluster.rows["log_batches"]:
        row["timestamp"] = STARTED_MS + 1_000 * int(str(row["base_offset"]))
    return cluster


def lane_of(run: Run) -> PartitionLane:
    (lane,) = partition_lanes(Evidence(run), END_NS)
    return lane


def test_states_are_those_of_the_metadata_log_at_the_times_of_its_clock() -> None:
    cluster = shrinking()
    lane = lane_of(cluster.sent(KEY, 0, 1).run(history=HistoryKind.LOG))
    told = [(s.leader, s.isr, s.elr, s.last_known_elr) for s in lane.spans[-4:]]
    assert told == [
        (1, (1, 2), (), ()),
        (1, (1,), (2,), ()),
        (-1, (), (1, 2), ()),
        (2, (2,), (), (1,)),
    ]
    begins = [span.from_ns for span in lane.spans[-4:]]
    assert begins == [1_000 * MS * (cluster.end - back) for back in (4, 3, 2, 1)]
    assert [span.to_ns for span in lane.spans[-4:]] == [*begins[1:], END_NS]
    assert lane.replicas == (1, 2, 3)


def test_a_clock_that_is_wrong_is_held_within_what_probes_know() -> None:
    cluster = shrinking()
    for row in cluster.rows["log_batches"]:
        row["timestamp"] = STARTED_MS + 3_600_000
    told = {"kind": "partition", "key": KEY, "isr": [1], "elr": [2], "last_known_elr": []}
    lane = lane_of(
        cluster.told(2, 1, 0, 7_000, **told).sent(KEY, 0, 1).run(history=HistoryKind.LOG)
    )
    shrunk = next(span for span in lane.spans if span.isr == (1,))
    assert shrunk.from_ns == 7_000 * MS + MS // 2


def test_without_disks_the_states_are_those_that_brokers_told() -> None:
    log = LogRun()
    log.send(0, 0)
    log.probe(1, 2, 3)
    log.probe(1, 2, 3, node=2)
    log.probe(1)
    log.final((0, 0))
    lane = lane_of(log.run())
    assert [span.isr for span in lane.spans] == [(1, 2, 3), (1,)]
    assert lane.spans[0].to_ns == lane.spans[1].from_ns


def test_what_is_lost_stands_where_it_was_acknowledged() -> None:
    log = LogRun()
    for number in range(3):
        log.send(number, number)
    log.probe(1, 2, 3)
    acknowledged_ns = log.ops[1]["t1"]
    log.poll((0, 0), high_watermark=3)
    log.poll((0, 0), high_watermark=1)
    log.final((0, 0), (2, 2))
    lane = lane_of(log.run())
    assert lane.acknowledged.offset.tolist() == [0, 1, 2]
    assert list(zip(lane.lost.at_ns, lane.lost.offset, strict=True)) == [(acknowledged_ns, 1)]
    assert lane.high_watermarks.offset.tolist() == [3, 1]


def test_each_state_of_each_replica_is_drawn() -> None:
    run = shrinking().sent(KEY, 0, 1).run(history=HistoryKind.LOG)
    shown = partition_drawing(lane_of(run), fault_windows(run.tables["faults"]), END_NS)
    for class_ in ("leader", "follower", "elr", "last-known", "outside", "leaderless"):
        assert f'class="{class_}"' in shown
    assert "[1] +2" in shown
    assert "leader none, epoch 1, ISR [], ELR [1, 2]" in shown


def test_evidence_that_cannot_be_read_has_a_section_that_says_so() -> None:
    run = shrinking().sent(KEY, 0, 1).sent(KEY, 1, 1).run(history=HistoryKind.LOG)
    shown = partitions_section(Evidence(run), [], END_NS)
    assert shown is not None
    assert "They cannot be drawn: ValueError" in shown


def test_registers_have_no_partitions() -> None:
    run = shrinking().sent(KEY, 0, 1).run(history=HistoryKind.REGISTERS)
    assert partitions_section(Evidence(run), [], END_NS) is None
