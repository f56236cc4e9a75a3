"""Lanes of nodes that trace nothing, from what brokers answered."""

import pyarrow as pa

from checkers.history.tables import PROBES
from checkers.page.lanes import BEHIND, FOLLOWER, LEADER, fault_windows, lanes_of, probed_roles
from tests.checkers.page.samples import SECOND, run_of
from tests.support.histories import fault, make_run


def said(at_s: int, leader: int, epoch: int, isr: list[int], key: str = "t-0") -> dict[str, object]:
    return {
        "t0": at_s * SECOND,
        "t1": at_s * SECOND,
        "node": 1,
        "kind": "partition",
        "key": key,
        "leader": leader,
        "epoch": epoch,
        "isr": isr,
    }


def probes(*rows: dict[str, object]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=PROBES)


def test_roles_follow_the_newest_epoch() -> None:
    told = probes(
        said(1, 3, 0, [1, 2, 3]),
        said(2, 1, 1, [1]),
        said(3, 3, 0, [1, 2, 3]),  # by a broker that is cut off
        said(4, -1, 2, []),
    )
    assert probed_roles(run_of(probes=told)) == {
        1: [(SECOND, FOLLOWER), (2 * SECOND, LEADER), (4 * SECOND, BEHIND)],
        2: [(SECOND, FOLLOWER), (2 * SECOND, BEHIND)],
        3: [(SECOND, LEADER), (2 * SECOND, BEHIND)],
    }


def test_who_leads_one_partition_is_a_leader() -> None:
    told = probes(said(1, 1, 0, [1, 2]), said(1, 2, 0, [2], key="t-1"))
    assert [probed_roles(run_of(probes=told))[node][-1][1] for node in (1, 2)] == [LEADER, LEADER]


def test_who_is_off_has_no_role_until_it_is_back() -> None:
    kill = {**fault(0, "kill", 2000, 4000), "nodes": [1]}
    run = make_run(faults=[kill], target="kafka 4.3.1", nodes=1)
    told = probes(said(1, 1, 0, [1]), said(3, 1, 0, [1]))
    run = run_of(run.info, faults=run.tables["faults"], probes=told)
    (lane,) = lanes_of(run, fault_windows(run.tables["faults"]), 9 * SECOND)
    assert lane.traced
    assert [span.state for span in lane.spans if span.to_ns > span.from_ns] == [
        "running",
        "leader",
        "off",
        "leader",
    ]
