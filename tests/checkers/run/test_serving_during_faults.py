"""While few are hurt the others serve: registers by a majority, partitions by enough of an ISR."""

from dataclasses import replace

import pytest

from checkers.history.events import HistoryKind
from checkers.run.serving_during_faults import serves_during_faults
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, Row, fault, make_run, op, write
from tests.support.kafka_runs import ALL, Cluster, change, started

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
BEGIN, END = 10_000, 30_000  # ms, of the fault
OWN_S, ELECTION_S = 3, 9  # by when others serve: a leader that nothing happens to, or another


def load(from_ms: int, to_ms: int, *, ok: bool = True, node: int = 1) -> list[Row]:
    """A write each fifty milliseconds, by one who asks a leader."""
    ops = []
    for at in range(from_ms, to_ms, 50):
        row = write(100 + at, at, at + 10, node=node)
        row |= {"t0": at * MS, "t1": (at + 10) * MS}
        row |= {} if ok else {"outcome": "info", "error": "timed-out"}
        ops.append(row)
    return ops


def silent(for_ms: int, *, node: int = 1) -> list[Row]:
    """Nothing succeeds from the fault on, for so long."""
    until = BEGIN + for_ms
    return load(0, BEGIN, node=node) + load(BEGIN, until, ok=False) + load(until, 40_000)


def hurt(kind: str, node: int, begin: int = BEGIN, end: int = END, number: int = 0) -> Row:
    return fault(number, kind, begin, end) | {"nodes": [node]}


def judged(ops: list[Row], *faults: Row, **info: object) -> CheckResult:
    run = make_run(ops=ops, faults=list(faults), duration_ns=40_000 * MS, runtime="sim")
    return serves_during_faults(replace(run, info=replace(run.info, **info)))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["kill", "pause", "power-off"])
@pytest.mark.parametrize(("node", "within_s"), [(2, OWN_S), (1, ELECTION_S)])
def test_registers_are_served_by_who_is_left(kind: str, node: int, within_s: int) -> None:
    """Node 1 leads when it begins."""
    inside, beyond = silent(within_s * 1000 - 100), silent(within_s * 1000 + 200)
    result = judged(inside, hurt(kind, node))
    assert (result.verdict, result.looked_at) == (VALID, 1), result.message
    result = judged(beyond, hurt(kind, node))
    assert (result.verdict, result.count) == (INVALID, 1)
    assert f"of the {kind} of node {node}, which leaves enough of the others" in result.message


def test_who_is_cut_off_leaves_the_others_in_peace() -> None:
    cut = hurt("partition", 2) | {"links": ["2->1", "1->2"]}
    assert judged(silent(5_000), cut).verdict is INVALID
    between = cut | {"links": ["1->3"]}
    assert judged(silent(20_000), between).looked_at == 0


def test_without_a_majority_nobody_serves() -> None:
    result = judged(silent(20_000), hurt("kill", 2) | {"nodes": [2, 3]})
    assert (result.verdict, result.looked_at) == (VALID, 0)


def test_faults_that_follow_one_another_or_lie_over_one_another_are_not_judged() -> None:
    ops = silent(20_000)
    assert judged(ops, hurt("kill", 2), hurt("kill", 3, 7_500, 8_000, 1)).looked_at == 0
    assert judged(ops, hurt("kill", 2), hurt("kill", 3, 29_000, 31_000, 1)).looked_at == 0
    assert judged(ops, hurt("kill", 2), hurt("kill", 3, 1_000, 2_000, 1)).verdict is INVALID


def test_where_nobody_asks_nobody_has_to_serve() -> None:
    ops = load(0, BEGIN) + load(END, 40_000)
    assert (judged(ops, hurt("kill", 2)).verdict, judged(ops, hurt("kill", 2)).looked_at) == (
        VALID,
        0,
    )


def test_voters_that_are_changed_and_disks_that_are_lost_are_others_to_judge() -> None:
    removed = op("remove-voter", None, 1, 2, key="3:x")
    assert judged([*silent(20_000), removed], hurt("kill", 2)).looked_at == 0
    assert judged(silent(20_000), hurt("kill", 2), hurt("wipe", 3, 1, 2, 1)).looked_at == 0


def test_where_time_is_real_it_takes_longer_and_the_machine_may_be_to_blame() -> None:
    assert judged(silent(9_000), hurt("kill", 2), runtime="docker").verdict is VALID
    figures = {"longest_late_ms": 1.0}
    late = {"runtime": "docker", "pressure": figures}
    assert judged(silent(11_000), hurt("kill", 2), **late).verdict is INVALID
    late = {"runtime": "docker", "pressure": {"longest_late_ms": 1e4}}
    assert judged(silent(11_000), hurt("kill", 2), **late).verdict is Verdict.ERROR


# --- partitions ---


def sending(cluster: Cluster, *silences: tuple[int, int], acks: int = -1) -> Cluster:
    """To t-0, each hundred milliseconds."""
    for number, at in enumerate(range(0, 40_000, 100)):
        cluster.sent("t-0", number, 100 + number)
        row = cluster.rows["ops"][-1]
        row |= {"t0": at * MS, "t1": (at + 1) * MS}
        cluster.rows["spans"][-1]["acks"] = acks
        if any(begin <= at < end for begin, end in silences):
            row |= {"outcome": "info", "error": "timed-out"}
    return cluster


def of_partitions(cluster: Cluster, *nodes: int) -> CheckResult:
    cluster.rows["faults"] = [hurt("kill", nodes[0]) | {"nodes": list(nodes)}]
    run = cluster.run(history=HistoryKind.LOG)
    info = replace(run.info, runtime="sim", duration_ns=40_000 * MS)
    return serves_during_faults(replace(run, info=info))


def known(cluster: Cluster, **state: object) -> Cluster:
    for node in ALL:
        cluster.told(node, 1, 0, 5_000, kind="partition", key="t-0", **state)
    return cluster


def test_a_partition_is_served_once_a_session_and_an_election_are_over() -> None:
    """Brokers that are controllers as well: 3 s, 6 s of an election, and 3 s."""
    whole = {"isr": ALL, "elr": []}
    result = of_partitions(sending(known(started(), **whole), (BEGIN, BEGIN + 11_900)), 2)
    assert (result.verdict, result.looked_at) == (VALID, 1), result.message
    result = of_partitions(sending(known(started(), **whole), (BEGIN, BEGIN + 12_200)), 2)
    assert (result.verdict, result.count) == (INVALID, 1)
    assert result.message.startswith("no send to t-0 succeeded for 12.2 s of the kill of node 2")


def test_of_too_small_an_isr_nothing_is_asked() -> None:
    cluster = started().commit(change("t-0", isr=[1, 2], eligibleLeaderReplicas=[]))
    known(cluster, isr=[1, 2], elr=[])
    assert of_partitions(sending(cluster, (BEGIN, END)), 2).looked_at == 0


def test_what_nobody_answers_is_no_success() -> None:
    cluster = sending(known(started(), isr=ALL, elr=[]), acks=0)
    assert of_partitions(cluster, 2).looked_at == 0
