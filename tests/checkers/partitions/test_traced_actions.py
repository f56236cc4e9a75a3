"""What shows of brokers, and their traces do not tell, by hand."""

from dataclasses import replace

import pytest

from checkers.partitions.traced_actions import brokers_trace_what_they_do
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, NodeTrace, disk, node_events
from tests.support.kafka_runs import Cluster, change, register, started, topic_id

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
AT = {"topic": topic_id("t"), "index": 0}
KINDS = ("RegisterBroker", "BrokerRegistrationChange", "Topic", "Partition", "PartitionChange")
SECOND = 1_000_000_000


def ids(*nodes: int) -> list[dict[str, int]]:
    return [{"id": node} for node in nodes]


def cluster() -> Cluster:
    """Node 3 leaves the ISR and comes back; two records, of which a consumer is given one."""
    made = started().commit(change("t-0", isr=[1, 2])).commit(change("t-0", isr=[1, 2, 3]))
    made.sent("t-0", 0, 100).sent("t-0", 1, 101).polled("t-0", 0, 100)
    for span in made.rows["spans"]:
        span["high_watermark"] = None if span["sent"] else 2
    for node in (1, 2, 3):
        made.replica(node, "t-0", [(0, 100, 2, 0)])
        made.add("disks", disk(node, log_end=made.end))
    return made


def replayed(trace: NodeTrace, made: Cluster) -> NodeTrace:
    for row in made.rows["log_records"]:
        if row["node"] == 1 and row["type"] in KINDS:
            trace.emit("c.record", offset=row["offset"], record=row["type"])
    return trace.hwm(made.end, 1, "follower")


def traces(made: Cluster) -> list[NodeTrace]:
    found = []
    for node in (1, 2, 3):
        trace = NodeTrace(node)
        trace.start()
        life = {"epoch": 10 + node, "previous": -1, "fenced": False}
        trace.emit("b.life", state="running", **life)
        role = "leader" if node == 1 else "follower"
        trace.emit("p.role", role=role, epoch=0, end=0, hwm=0, **AT)
        found.append(replayed(trace, made))
    one = found[0]
    one.emit("p.isr", partition_epoch=0, epoch=0, isr=ids(1, 2, 3), maximal=ids(1, 2, 3), **AT)
    one.emit("p.hwm", epoch=0, hwm=2, end=2, ends=[], **AT)
    joining = {"partition_epoch": 1, "replica": 3, "broker_epoch": 13, "offset": 2, "hwm": 2}
    one.emit("p.join", epoch=0, **joining, **AT)
    for trace in found:
        trace.emit("n.stop", 2 * SECOND, code=0, reason="told to")
    return found


def judged(made: Cluster, told: list[NodeTrace]) -> CheckResult:
    run = made.run(target="node test")
    tables = {**run.tables, "node_events": node_events(told)}
    return brokers_trace_what_they_do(replace(run, tables=tables))


def without(event: str, node: int, told: list[NodeTrace]) -> list[NodeTrace]:
    """As if that node never wrote such lines: the others are numbered anew."""
    trace = told[node - 1]
    kept = [line for line in trace.lines if f'"ev": "{event}"' not in line]
    assert len(kept) < len(trace.lines)
    old = [line.split('"seq": ', 1) for line in kept]
    trace.lines = [f'{a}"seq": {n},{b.split(",", 1)[1]}' for n, (a, b) in enumerate(old)]
    return told


def test_all_that_shows_is_told() -> None:
    made = cluster()
    result = judged(made, traces(made))
    assert (result.verdict, result.message) == (
        VALID,
        "19 actions of brokers: each is in the trace of its broker",
    )


@pytest.mark.parametrize(
    ("event", "node", "says"),
    [
        ("p.role", 1, "node 1 traces p.isr in epoch 0 of a partition, but no p.role before"),
        ("p.role", 2, "node 2 holds a replica of t-0, but never traced that it leads or follows"),
        ("p.isr", 1, "node 1 traces p.hwm in epoch 0 of a partition, but no p.isr before"),
        (
            "p.hwm",
            1,
            "the record below 1 of t-0 was acknowledged to acks=all, but no leader had traced",
        ),
        ("p.join", 1, "t-0: node 3 joined the ISR, but node 1, leader of epoch 0, never traced"),
        ("b.life", 2, "node 2 was unfenced in broker epoch 12, but never traced that it was"),
        ("c.record", 3, "node 3 knew all below 12 to be committed, but did not trace that it"),
    ],
)
def test_a_kind_of_line_that_a_node_never_writes(event: str, node: int, says: str) -> None:
    made = cluster()
    result = judged(made, without(event, node, traces(made)))
    assert result.verdict is INVALID
    assert says in result.message


def test_an_answer_comes_after_the_line() -> None:
    made = cluster()
    late = traces(made)
    one = late[0]
    one.emit("p.hwm", 3 * SECOND, epoch=0, hwm=3, end=3, ends=[], **AT)
    made.sent("t-0", 2, 102)
    for node in (1, 2, 3):
        made.replica(node, "t-0", [(0, 100, 3, 0)])
    accused = judged(made, late)
    assert accused.verdict is INVALID
    assert accused.witness[0]["value"] == "0/102", "as people read it, not as it is packed"
    made.rows["ops"][-1]["t1"] = 3 * SECOND + MS
    assert judged(made, late).verdict is VALID


def led(made: Cluster, told: list[NodeTrace]) -> None:
    """Node 2 is elected, by a record that all replay; it does not say that it leads."""
    made.commit(change("t-0", leader=2))
    for trace in told:
        trace.emit("c.record", offset=made.end - 1, record="PartitionChange")
        trace.emit("n.stop", 9 * SECOND, code=0, reason="told to")


def test_who_replayed_that_it_leads_and_does_not() -> None:
    made = cluster()
    told = traces(made)
    led(made, told)
    result = judged(made, told)
    assert result.verdict is INVALID
    assert result.message == (
        "t-0: node 2 replayed that it leads epoch 1, but never traced that it does"
    )


def cut_off(made: Cluster, told: list[NodeTrace], *, tells: bool) -> None:
    """What node 1 acknowledged at offset 1 is another record on its disk."""
    made.rows["replica_spans"] = [row for row in made.rows["replica_spans"] if row["node"] != 1]
    made.rows["replicas"] = [row for row in made.rows["replicas"] if row["node"] != 1]
    made.replica(1, "t-0", [(0, 100, 1, 0), (1, 999, 1, 1)])
    if tells:
        told[0].emit("p.truncate", 3 * SECOND, epoch=1, end=1, hwm=1, cut_epoch=0, **AT)


@pytest.mark.parametrize(("tells", "verdict"), [(False, INVALID), (True, VALID)])
def test_what_was_acknowledged_and_is_gone_was_cut(tells: bool, verdict: Verdict) -> None:
    made = cluster()
    told = traces(made)
    cut_off(made, told, tells=tells)
    assert judged(made, told).verdict is verdict


def test_a_node_that_was_killed_may_have_lost_it() -> None:
    made = cluster().ended("kill", 1, 1_000)
    told = traces(made)
    cut_off(made, told, tells=False)
    assert judged(made, told).verdict is VALID


@pytest.mark.parametrize("replays_s", [3, 30, None])
def test_a_node_that_was_no_replica_for_a_while_has_deleted_its_log(replays_s: int | None) -> None:
    """Also if it learned that from a snapshot."""
    made = cluster()
    told = traces(made)
    moved_away(made, told, replays_s)
    cut_off(made, told, tells=False)
    assert judged(made, told).verdict is VALID


def test_a_log_that_was_deleted_before_has_what_was_acknowledged_since() -> None:
    made = cluster()
    told = traces(made)
    moved_away(made, told, 3)
    cut_off(made, told, tells=False)
    for row in made.rows["ops"]:
        row |= {"t0": 5 * SECOND, "t1": 5 * SECOND + MS}
    result = judged(made, told)
    assert result.verdict is INVALID
    assert "node 1 acknowledged 0/101 at offset 1 of t-0" in result.message


def moved_away(made: Cluster, told: list[NodeTrace], replays_s: int | None) -> None:
    """Node 1 is taken from the replicas of t-0, and is one again."""
    made.commit(change("t-0", leader=2, isr=[2, 3], replicas=[2, 3]))
    made.commit(change("t-0", replicas=[2, 3, 1]))
    for trace in told:
        if trace.node != 1 or replays_s is not None:
            for offset in (made.end - 2, made.end - 1):
                at = (replays_s or 3) * SECOND
                trace.emit("c.record", at, offset=offset, record="PartitionChange")
    told[1].emit("p.role", 4 * SECOND, role="leader", epoch=1, end=2, hwm=2, **AT)


@pytest.mark.parametrize(("tells", "verdict"), [(False, INVALID), (True, VALID)])
def test_a_longer_log_is_cut_before_its_node_joins(tells: bool, verdict: Verdict) -> None:
    made = cluster()
    told = traces(made)
    made.commit(change("t-0", leader=2, isr=[2])).commit(change("t-0", isr=[2, 1]))
    two, one = told[1], told[0]
    for trace in told:
        for offset in (made.end - 2, made.end - 1):
            trace.emit("c.record", offset=offset, record="PartitionChange")
    two.emit("p.role", 5 * SECOND, role="leader", epoch=1, end=2, hwm=2, **AT)
    one.emit("p.role", 5 * SECOND, role="follower", epoch=1, end=4, hwm=2, **AT)
    if tells:
        one.emit("p.truncate", epoch=1, end=2, hwm=2, cut_epoch=0, **AT)
    joining = {"partition_epoch": 3, "replica": 1, "broker_epoch": 11, "offset": 2, "hwm": 2}
    two.emit("p.join", 6 * SECOND, epoch=1, **joining, **AT)
    result = judged(made, told)
    assert result.verdict is verdict
    assert tells or "began to follow epoch 1 with a log that ended at 4" in result.message


@pytest.mark.parametrize(("vouches", "verdict"), [(False, INVALID), (True, VALID)])
def test_a_disk_that_vouches_for_its_logs(vouches: bool, verdict: Verdict) -> None:
    made = cluster()
    made.rows["disks"][0]["clean_shutdown"] = 11
    told = traces(made)
    if vouches:
        told[0].emit("b.life", state="vouching", epoch=11, previous=-1, fenced=True)
    assert judged(made, told).verdict is verdict


def test_a_process_begins_to_replay_where_the_log_or_a_snapshot_does() -> None:
    made = cluster()
    told = traces(made)
    two = told[1]
    two.restart(0, at=4 * SECOND)
    two.emit("c.record", offset=9, record="Partition")
    two.emit("n.stop", 9 * SECOND, code=0, reason="told to")
    result = judged(made, told)
    assert result.verdict is INVALID
    assert "replayed the record at offset 9, but none of those before" in result.message
    two.emit("q.snapshot", what="found", end=9, epoch=1, start=0)
    assert judged(made, told).verdict is VALID


def test_a_trace_with_gaps_accuses_nobody_of_silence() -> None:
    made = cluster()
    told = traces(made)
    told[1].lines = [line for line in told[1].lines if '"ev": "b.life"' not in line]
    assert judged(made, told).verdict is UNKNOWN


@pytest.mark.parametrize(("fenced", "verdict"), [(True, VALID), (False, INVALID)])
def test_nobody_is_unfenced_by_its_own_account_alone(fenced: bool, verdict: Verdict) -> None:
    made = cluster().commit(register(2, 40))
    told = traces(made)
    life = {"epoch": 40, "previous": -1, "fenced": fenced}
    told[1].emit("b.life", state="running", **life)
    result = judged(made, told)
    assert result.verdict is verdict
    assert fenced or "but the metadata log has never unfenced it" in result.message
