"""Who changes voters looks, asks the leader, and writes down each request."""

import base64
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import pytest

from chaos.cluster.interface import NodeId
from chaos.probes import driver_for
from chaos.recorder import Recorder
from chaos.run.seal import operations_table
from chaos.run.watches import QuorumAnswers
from tests.chaos.test_recorder import HandClock, lines_of
from tests.support.fake_cluster import FakeCluster
from tests.support.fake_node import Misbehaviour
from tests.support.virtual_time import in_virtual_time
from workloads.connection import ClientEntry
from workloads.operation_history import Tally
from workloads.operator import NeverChangedError, Operator, Voter

REACHED = {node: ClientEntry(host=f"node-{node}", port=9100 + node) for node in (1, 2, 3)}


def voter(cluster: FakeCluster, node: int) -> Voter:
    """By the disk that it has now."""
    directory = cluster.registers.replicas[node].bytes
    return Voter(node, base64.urlsafe_b64encode(directory).decode().rstrip("="))


def operated(
    directory: Path, cluster: FakeCluster, act: Callable[[Operator], Awaitable[object]]
) -> list[tuple[str, str, str, str | None]]:
    """What was asked: f, key, outcome and error of each operation."""
    tally = Tally()

    async def main(recorder: Recorder) -> None:
        await cluster.create()
        operator = Operator(
            driver_for(cluster), REACHED, recorder, tally, QuorumAnswers(recorder, HandClock())
        )
        try:
            await act(operator)
        finally:
            operator.close()
            await cluster.destroy()

    with Recorder(directory, HandClock()) as recorder:
        in_virtual_time(main(recorder))
        counts = recorder.counts
    assert tally.as_json() == {name: counts[name] for name in ("invoked", "ok", "fail", "info")}
    rows = operations_table(lines_of(directory / "events-ops.jsonl.zst")).to_pylist()
    return [(row["f"], row["key"], row["outcome"], row["error"]) for row in rows]


def test_a_new_disk_takes_the_place_of_the_lost_one(tmp_path: Path) -> None:
    cluster = FakeCluster()
    lost = voter(cluster, 2)
    cluster.registers.replicas[2] = uuid4()
    new = voter(cluster, 2)
    asked = operated(tmp_path, cluster, lambda operator: operator.add(new, 10.0))
    assert asked == [
        ("add-voter", str(new), "fail", "DUPLICATE_VOTER"),
        ("remove-voter", str(lost), "ok", None),
        ("add-voter", str(new), "ok", None),
    ]
    assert {voter(cluster, node) for node in (1, 2, 3)} >= {new}
    assert len(cluster.registers.voters) == 3


def test_a_voter_goes_and_comes_back(tmp_path: Path) -> None:
    cluster = FakeCluster()
    one = voter(cluster, 1)

    async def act(operator: Operator) -> None:
        assert one in await operator.voters(10.0)
        assert one not in await operator.remove(one, 10.0)
        assert one in await operator.add(one, 10.0)

    asked = operated(tmp_path, cluster, act)
    assert [(f, outcome) for f, _, outcome, _ in asked] == [
        ("remove-voter", "ok"),
        ("add-voter", "ok"),
    ]


def test_what_leaders_say_of_the_voters_is_recorded(tmp_path: Path) -> None:
    cluster = FakeCluster()
    three = voter(cluster, 3)
    before = [str(voter(cluster, node)) for node in (1, 2, 3)]
    operated(tmp_path, cluster, lambda operator: operator.remove(three, 10.0))
    first, *_, last = [
        line
        for line in lines_of(tmp_path / "events-nemesis.jsonl.zst")
        if line["type"] == "probe" and line["kind"] == "quorum"
    ]
    told, later = (json.loads(str(line["detail"])) for line in (first, last))
    assert (told["voters"], later["voters"]) == (before, before[:2])
    assert set(told["ends"]) <= set(before)
    assert (first["node"], first["leader"]) == (1, 1)


def test_what_seems_to_be_done_is_asked_for_once(tmp_path: Path) -> None:
    """The leader alone knows whether it is committed; it answers 126 or 127 once it is."""
    cluster = FakeCluster()
    asked = operated(tmp_path, cluster, lambda o: o.add(voter(cluster, 3), 10.0))
    assert asked == [("add-voter", str(voter(cluster, 3)), "fail", "DUPLICATE_VOTER")]


@pytest.mark.parametrize("how", [Misbehaviour.CLOSE, Misbehaviour.GARBAGE])
def test_a_request_without_an_answer_is_in_doubt(how: Misbehaviour, tmp_path: Path) -> None:
    cluster = FakeCluster()
    gone = voter(cluster, 3)
    cluster.fakes[NodeId(1)].misbehaviour = how

    async def act(operator: Operator) -> None:
        with pytest.raises(NeverChangedError, match="is still a voter"):
            await operator.remove(gone, 1.0)
        cluster.fakes[NodeId(1)].misbehaviour = Misbehaviour.NONE
        await operator.remove(gone, 10.0)

    *lost, last = operated(tmp_path, cluster, act)
    assert {(f, outcome, bool(error)) for f, _, outcome, error in lost} == {
        ("remove-voter", "info", True)
    }
    assert last == (
        "remove-voter",
        str(gone),
        "fail",
        "VOTER_NOT_FOUND",
    )  # the first one had been done


def test_who_does_not_follow_is_not_added(tmp_path: Path) -> None:
    cluster = FakeCluster()

    async def act(operator: Operator) -> None:
        with pytest.raises(NeverChangedError, match=r"after 1 s 3:.* is not a voter; node 1, lead"):
            await operator.add(Voter(3, "AAAAAAAAAAAAAAAAAAAAAQ"), 1.0)

    assert operated(tmp_path, cluster, act) == []


def test_without_a_leader_nobody_is_asked(tmp_path: Path) -> None:
    cluster = FakeCluster(election_s=3600)

    async def act(operator: Operator) -> None:
        for fake in cluster.fakes.values():
            await fake.stop()
        with pytest.raises(NeverChangedError, match="no leader answered"):
            await operator.voters(0.5)

    assert operated(tmp_path, cluster, act) == []
