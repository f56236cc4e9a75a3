"""Standing, fingerprints and coverage, from histories made by hand."""

from collections import Counter
from dataclasses import replace

import pytest

from chaos.campaign.coverage import (
    COLUMNS,
    Cell,
    Fingerprint,
    Quorum,
    Role,
    Standing,
    anomaly,
    as_text,
    cell_from,
    empty,
    fingerprint,
    fingerprints,
    struck,
)
from checkers.history.sealed_run import Run
from checkers.verdict import CheckResult, EventValue, Judgement, Verdict
from tests.support.histories import MS, NodeTrace, fault, make_run

S = 1000 * MS


def traces() -> list[NodeTrace]:
    """Node 1 leads from 1 s to 10 s; node 2 from 12 s on, while 1 does not know it until 15 s."""
    one = NodeTrace(1).start(at=0).state("leader", 1, 1, at=S)
    one.state("resigned", 1, at=10 * S).state("unattached", 1, at=11 * S)
    one.state("leader", 2, 1, at=13 * S).state("follower", 3, 2, at=15 * S)
    two = NodeTrace(2).start(at=0).state("follower", 1, 1, at=2 * S)
    two.state("candidate", 2, at=11 * S).state("leader", 3, 2, at=12 * S)
    three = NodeTrace(3).start(at=0).state("follower", 1, 1, at=2 * S)
    three.state("follower", 3, 2, at=13 * S)
    return [one, two, three]


def run(*faults: dict[str, object]) -> Run:
    return make_run(traces=traces(), faults=faults)


@pytest.mark.parametrize(
    ("at_s", "roles", "quorum"),
    [
        (0.5, "candidate candidate candidate", Quorum.ELECTING),
        (1.5, "leader candidate candidate", Quorum.SPLIT),  # nobody follows it yet
        (5.0, "leader follower follower", Quorum.LED),
        (11.5, "candidate candidate follower", Quorum.ELECTING),
        (14.0, "leader leader follower", Quorum.SPLIT),
        (16.0, "follower leader follower", Quorum.LED),
    ],
)
def test_who_was_what(at_s: float, roles: str, quorum: Quorum) -> None:
    standing, at = Standing(run()), int(at_s * S)
    assert " ".join(standing.role(node, at) for node in (1, 2, 3)) == roles
    assert standing.quorum(at) is quorum


def test_who_is_killed_or_paused_is_down_until_it_is_cured() -> None:
    pause = {**fault(0, "pause", 4000, 6000), "nodes": [2, 3]}
    standing = Standing(run(pause))
    assert standing.role(2, 5 * S) is Role.DOWN
    assert standing.quorum(5 * S) is Quorum.SHORT
    assert standing.role(2, 7 * S) is Role.FOLLOWER
    one, two, three = traces()
    soon = Standing(
        make_run(
            traces=[one, two.restart(0, at=16 * S), three],
            faults=[{**fault(0, "kill", 15_500, 17_000), "nodes": [2]}],
        )
    )
    assert soon.role(2, 16 * S) is Role.DOWN
    assert soon.role(2, 16 * S + 1) is Role.CANDIDATE, "it speaks before it is said to be cured"
    stopped = Standing(make_run(traces=[NodeTrace(1).start(at=0).emit("n.stop", S, code=0)]))
    assert stopped.role(1, 2 * S) is Role.DOWN


def test_what_was_struck_is_counted_as_it_stood() -> None:
    cut = {**fault(0, "partition-one-way", 5000, 6000), "params": '{"ways": "in"}'}
    cut["links"] = ["2->1"]
    cold = {
        **fault(1, "power-off", 11_500, 11_800),
        "params": '{"mode": "torn"}',
        "nodes": [1, 3],
    }
    missed = fault(2, "kill", 7000, 8000, bit=False)
    found = struck(run(cut, cold, missed))
    assert found == Counter(
        {
            Cell("partition-one-way in", Role.LEADER, Quorum.LED): 1,
            Cell("power-off torn", Role.CANDIDATE, Quorum.ELECTING): 1,
            Cell("power-off torn", Role.FOLLOWER, Quorum.ELECTING): 1,
        }
    )
    assert {cell_from(str(cell)) for cell in found} == set(found)


def test_empty_cells_are_counted() -> None:
    assert len(empty({}, ["kill", "pause"])) == 2 * len(COLUMNS)
    full = {Cell("kill", role, quorum): 3 for quorum, role in COLUMNS}
    assert empty(full, ["kill"]) == []
    assert "no cell of 11 is empty" in as_text(full, ["kill"])
    text = as_text({Cell("kill", Role.LEADER, Quorum.LED): 7}, ["kill"])
    assert text.splitlines()[-1].startswith("empty, 10 of 11 cells (a point each)")
    assert text.count(" .") == 11, "whom a fault finds down is no cell to be filled"
    assert "7" in text.splitlines()[2]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("key r-17 read 104, 105 before 9; then more", "key KEY read N before N"),
        ("epoch 4: node 1 and node 2 both lead", "epoch N: node N and node N both lead"),
        ("12,345 of 20 (and 3 more)", "N of N"),
    ],
)
def test_runs_that_fail_alike_say_the_same(message: str, expected: str) -> None:
    assert anomaly(message) == expected


def invalid(check: str, message: str, at: int | None = None, node: int = 2) -> Judgement:
    seen: dict[str, EventValue] = {"what": "it", "t_ns": at, "node": node}
    seen_then: list[dict[str, EventValue]] = [seen, {"what": "so"}]
    witness = [] if at is None else seen_then
    row = CheckResult(
        check=check, verdict=Verdict.INVALID, message=message, count=1, witness=witness
    )
    other = CheckResult(check="Q2", verdict=Verdict.VALID, message="fine", looked_at=1)
    return Judgement(
        run_id="r", verdict=Verdict.INVALID, sentence=f"INVALID: {message}", results=(other, row)
    )


def test_a_fingerprint_is_check_anomaly_and_role() -> None:
    found = fingerprint(invalid("Q22", "node 2 led for 7.5 s", 14 * S), run())
    assert found == Fingerprint(check="Q22", anomaly="node N led for N s", role="leader")
    assert str(found) == "Q22: node N led for N s (leader)"
    same = fingerprint(invalid("Q22", "node 1 led for 12 s", 5 * S, node=1), run())
    assert same == found


def test_every_blamed_row_has_a_fingerprint_and_its_rule() -> None:
    one, other = invalid("Q1", "so"), invalid("invariant:Q22", "node 2 led for 7.5 s")
    both = replace(one, results=(*one.results, *other.results))
    found = fingerprints(both, None)
    assert [each.rule for each in found] == ["Q1", "Q22"]
    assert found[0] == fingerprint(both, None)


def test_without_a_witness_there_is_no_role_and_of_a_valid_run_no_fingerprint() -> None:
    assert fingerprint(invalid("Q1", "so"), run()) == Fingerprint(check="Q1", anomaly="so")
    assert fingerprint(invalid("Q1", "so", S), None) == Fingerprint(check="Q1", anomaly="so")
    valid = Judgement(run_id="r", verdict=Verdict.VALID, sentence="VALID", results=())
    assert fingerprint(valid, run()) is None
