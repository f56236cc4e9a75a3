"""A small share of `python -m tests.fuzz.processes`, and proof that it can tell a lie."""

from pathlib import Path
from random import Random

import pytest

from checkers.disk.metadata_log import METADATA_LOG
from node.ids import NodeId, ReplicaKey
from node.wire.apis import APIS
from tests.fuzz.aftermath import check_described, check_logs, check_one_leader_an_epoch
from tests.fuzz.callers import Exchange
from tests.fuzz.drawing import draw_request
from tests.fuzz.processes import (
    FLOOR_S,
    Report,
    check_exchanges,
    check_leadership,
    check_processes,
    check_waits,
    fuzz,
)
from tests.fuzz.sessions import Surprise
from tests.fuzz.steady import Waits
from tests.fuzz.storm import Leadership
from tests.support.quorum_processes import QuorumProcesses, quorum_processes

COUNT = 2000


@pytest.mark.slow
def test_three_processes_outlive_clients_of_every_kind(tmp_path: Path) -> None:
    with quorum_processes(tmp_path, 3) as quorum:
        report = fuzz(quorum, seed=1, count=COUNT)
    assert report.answered.total() > COUNT / 2
    assert {name.split()[0] for name in report.answered} == {api.name for api in APIS}
    assert report.counts["hang-ups"] > 0
    assert report.counts["epochs that false peers brought about"] > 0
    assert report.counts["resources stored"] > 3
    assert len(report.loaded.operations) > 10 or report.loaded.refusal


@pytest.mark.slow
def test_what_is_not_as_stored_and_who_died_are_seen(tmp_path: Path) -> None:
    with quorum_processes(tmp_path, 3) as quorum:
        quorum.write("r", 1000)
        pids = [node.process.pid for node in quorum.running() if node.process is not None]
        check_processes(quorum.nodes.values(), pids, Report())
        check_described(quorum, {(16, "r"): {"interval.ms": "1000"}})
        with pytest.raises(Surprise, match="does not tell"):
            check_described(quorum, {(16, "r"): {"interval.ms": "2000"}})
        for node in quorum.nodes.values():
            node.terminate()
        with pytest.raises(Surprise, match="died"):
            check_processes(quorum.nodes.values(), pids, Report())
        check_one_leader_an_epoch(quorum)
        assert check_logs(quorum) == {(16, "r"): {"interval.ms": "1000"}}
        (segment,) = (quorum.nodes[2].directory / "data" / METADATA_LOG).glob("*.log")
        sound = segment.read_bytes()
        for damaged in (sound[:-1], sound[:100] + b"?" + sound[101:], b""):
            segment.write_bytes(damaged)
            with pytest.raises(Surprise, match=r"cannot read|different logs"):
                check_logs(quorum)
        _copy_traces_of_leaders(quorum)
        with pytest.raises(Surprise, match="both lead"):
            check_one_leader_an_epoch(quorum)


def _copy_traces_of_leaders(quorum: QuorumProcesses) -> None:
    """To the next node: whoever led, another says of that epoch that it led."""
    told = {number: node.traces.read_text() for number, node in quorum.nodes.items()}
    for number, text in told.items():
        with quorum.nodes[number % len(told) + 1].traces.open("a") as traces:
            traces.write(text)


def test_answers_that_are_none_and_hang_ups_without_cause_are_seen() -> None:
    drawn = draw_request(Random(1), 7)
    with pytest.raises(Surprise, match="the answer to"):
        check_exchanges([Exchange([drawn], [b"\0\0\0\7\xff"])], Report())
    with pytest.raises(Surprise, match="hung up on"):
        check_exchanges([Exchange([drawn], hung_up=True)], Report())


def test_who_waits_too_long_is_seen_where_the_machine_did_not() -> None:
    quiet, loaded = Waits([0.03] * 100, [0.001]), Waits([FLOOR_S + 0.1] * 100, [0.001])
    with pytest.raises(Surprise, match="p99"):
        check_waits(quiet, loaded)
    loaded.late.append(1.0)
    check_waits(quiet, loaded)


def test_a_leader_that_clients_moved_is_seen() -> None:
    voters = (ReplicaKey(NodeId(1)),)
    before, after = Leadership("c", 1, 5, voters), Leadership("c", 1, 6, voters)
    in_time, late = Waits([0.1], [0.1]), Waits([0.1], [1.5])
    with pytest.raises(Surprise, match="moved the leader"):
        check_leadership(before, after, in_time, in_time)
    check_leadership(before, after, late, in_time)
    check_leadership(before, before, in_time)
    with pytest.raises(Surprise, match="was refused"):
        check_leadership(before, before, in_time, Waits([0.1], [0.1], "a write"))
