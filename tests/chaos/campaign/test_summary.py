"""Rows as a whole: what was found, how bad it is, and when nothing was proved."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from chaos.campaign.coverage import Cell, Fingerprint
from chaos.campaign.job import SeedRow, crashed, row_from
from chaos.campaign.summary import Summary, as_json, as_text, tolerated_void_share
from checkers.verdict import Verdict

CELL = Cell("kill", "leader", "led")
VALID = SeedRow(seed=1, verdict=Verdict.VALID, operations=900, faults=3, struck=Counter({CELL: 3}))
ZOMBIE = Fingerprint(check="Q22", anomaly="node N led", role="leader")


def bad(seed: int, found: Fingerprint = ZOMBIE) -> SeedRow:
    return SeedRow(
        seed=seed,
        verdict=Verdict.INVALID,
        fingerprint=found,
        sentence=f"INVALID: in seed {seed}",
        operations=10,
        faults=1,
        command=f"kraft-chaos run swarm --seed {seed}",
        directory=f"runs/swarm-{seed}",
    )


def of(*rows: SeedRow) -> Summary:
    summary = Summary(asked=len(rows), kinds=("kill",))
    for row in rows:
        summary.add(row)
    return summary


@pytest.mark.parametrize("row", [VALID, bad(7), crashed(3, "KeyError", "here", "again")])
def test_a_row_comes_back_from_its_line(row: SeedRow) -> None:
    assert row_from(json.loads(json.dumps(row.as_json()))) == row


def test_the_worst_verdict_is_the_campaigns() -> None:
    assert of(VALID).verdict is Verdict.VALID
    assert of(VALID, VALID, crashed(3, "KeyError", "here", "")).verdict is Verdict.ERROR
    assert of(VALID, crashed(3, "KeyError", "here", ""), bad(4)).verdict is Verdict.INVALID


def test_some_void_runs_are_counted_and_do_not_spoil_the_others() -> None:
    summary = of(*(VALID for _ in range(9)), SeedRow(seed=7, verdict=Verdict.VOID))
    assert summary.verdict is Verdict.VALID
    assert "9 valid" in as_text(summary, 1.0)
    assert "1 void" in as_text(summary, 1.0)
    assert "1 of 10 runs were void; at most 1 are tolerated (5 %)" in as_text(summary, 1.0)
    assert of(VALID, VALID, SeedRow(seed=7, verdict=Verdict.UNKNOWN)).verdict is Verdict.UNKNOWN


def test_more_void_runs_than_are_tolerated_make_a_campaign_void() -> None:
    """A share that is stated and small: 5 %, and 15 % of runs of a few seconds."""
    assert (tolerated_void_share(None), tolerated_void_share(40.0)) == (0.05, 0.05)
    assert tolerated_void_share(4.0) == 0.15
    rows = [VALID] * 37 + [SeedRow(seed=7, verdict=Verdict.VOID)] * 3
    assert of(*rows).verdict is Verdict.VOID
    assert of(*rows).lacking == "3 of 40 runs were void; at most 2 are tolerated (5 %)"
    short = replace(of(*rows), void_share=0.15)
    assert short.verdict is Verdict.VALID
    assert as_json(short, 1.0)["void_tolerated"] == 6
    assert of(*rows, bad(8)).verdict is Verdict.INVALID


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ((), "only 0 of 0"),
        ((SeedRow(seed=1, verdict=Verdict.VALID, operations=9),), "no fault"),
        ((SeedRow(seed=1, verdict=Verdict.VALID, faults=9),), "no operation"),
        ((VALID, *(SeedRow(seed=n, verdict=Verdict.VOID) for n in range(2))), "only 1 of 3"),
    ],
)
def test_an_empty_campaign_is_void(rows: tuple[SeedRow, ...], why: str) -> None:
    summary = of(*rows)
    assert summary.verdict is Verdict.VOID
    assert summary.verdict.exit_code == 3
    assert why in summary.lacking
    assert f"too little happened: {why}" in as_text(summary, 1.0)


def test_what_rules_looked_at_is_summed_and_nothing_is_named() -> None:
    row = replace(VALID, looked_at=Counter({"durability": 40, "Q22": 0, "invariant:Q9": 7}))
    assert row_from(json.loads(json.dumps(row.as_json()))) == row
    summary = of(row, row)
    text = as_text(summary, 1.0)
    assert "looked at in 2 runs, by check and invariant:\n  durability    80\n" in text
    assert "looked at nothing, 1 of 3: Q22" in text
    assert as_json(summary, 1.0)["looked_at"] == {"Q22": 0, "durability": 80, "invariant:Q9": 14}


@pytest.mark.parametrize(("runs", "judges_all", "idle"), [(1000, 1, 1), (999, 1, 0), (1000, 0, 0)])
def test_a_rule_that_looked_at_nothing_in_a_thousand_seeds_is_an_error(
    runs: int, judges_all: int, idle: int
) -> None:
    summary = of(*[replace(VALID, looked_at=Counter({"durability": 1, "Q22": 0}))] * runs)
    summary.is_to_judge_all = bool(judges_all)
    assert summary.verdict is (Verdict.ERROR if idle else Verdict.VALID)
    said = "error of the tests: in 1,000 runs and more these rules looked at nothing: Q22"
    assert (said in as_text(summary, 1.0)) == bool(idle)
    assert as_json(summary, 1.0)["idle"] == ["Q22"] * idle


def test_an_idle_rule_hides_no_broken_promise_and_no_void_run_hides_it() -> None:
    looked_at = Counter({"durability": 1, "Q22": 0})
    summary = of(*[replace(VALID, looked_at=looked_at)] * 1000, bad(9))
    summary.is_to_judge_all = True
    assert summary.verdict is Verdict.INVALID
    void = replace(VALID, verdict=Verdict.VOID, looked_at=looked_at)
    summary = of(*[replace(VALID, looked_at=looked_at)] * 800, *[void] * 200)
    summary.is_to_judge_all = True
    assert summary.lacking
    assert (summary.verdict, summary.verdict.exit_code) == (Verdict.ERROR, 255)


def test_what_has_no_subject_in_a_scenario_is_not_missed_and_is_said() -> None:
    summary = of(*[replace(VALID, looked_at=Counter({"durability": 1, "Q22": 0, "V2": 0}))] * 1000)
    summary.is_to_judge_all, summary.without_subject = True, frozenset({"V2"})
    assert summary.idle == ["Q22"]
    summary.without_subject = frozenset({"V2", "Q22"})
    assert (summary.idle, summary.verdict) == ([], Verdict.VALID)
    assert "without a subject, by the scenario's plan: Q22, V2" in as_text(summary, 1.0)


def test_runs_that_fail_alike_are_one_finding_with_the_line_that_shows_it() -> None:
    other = Fingerprint(check="durability", anomaly="N writes are lost")
    summary = of(VALID, bad(9), bad(4), bad(5, other), SeedRow(seed=8, verdict=Verdict.VALID))
    assert [(str(found), len(rows)) for found, rows in summary.by_weight()] == [
        ("Q22: node N led (leader)", 2),
        ("durability: N writes are lost", 1),
    ]
    text = as_text(summary, 10.0)
    assert text.startswith("INVALID: 5 of 5 seeds: 3 invalid, 2 valid\n")
    assert "invalid x 2  Q22: node N led (leader)\n  seeds  4, 9\n" in text
    assert "again  kraft-chaos run swarm --seed 4\n  kept   runs/swarm-4" in text
    found = as_json(summary, 10.0)
    assert found["findings"][0]["seeds"] == [4, 9]
    assert found["struck"] == {"kill|leader|led": 3}
    assert "kill|leader|led" not in found["empty"]


def test_a_summary_does_not_grow_with_valid_runs() -> None:
    summary = of(*(VALID for _ in range(1000)))
    assert summary.runs == 1000
    assert not summary.findings
    assert len(summary.struck) == 1


def expected(mismatch: str | None, verdict: Verdict = Verdict.INVALID) -> SeedRow:
    return replace(bad(5), verdict=verdict, unlike=mismatch)


def test_what_a_side_expects_is_no_finding_and_what_it_does_not_is_one() -> None:
    lost, kept = expected(""), expected("valid, expected invalid", Verdict.VALID)
    assert row_from(json.loads(json.dumps(kept.as_json()))) == kept
    summary = Summary(asked=3, kinds=("kill",), expected="elr=off: records are lost (invalid)")
    summary.add(lost)
    summary.add(lost)
    assert (summary.verdict, summary.findings) == (Verdict.VALID, {})
    told = as_text(summary, 1.0)
    assert told.startswith("AS EXPECTED: 2 of 3 seeds: 2 invalid\n  as expected: 2 of 2 (")
    assert "elr=off: records are lost (invalid)" in told
    summary.add(kept)
    assert summary.verdict is Verdict.INVALID
    assert [len(rows) for rows in summary.findings.values()] == [1]
    assert as_json(summary, 1.0)["as_expected"] == 2


@pytest.mark.parametrize("verdict", [Verdict.VOID, Verdict.ERROR, Verdict.UNKNOWN])
def test_what_decides_nothing_is_not_turned_into_a_finding_about_nodes(verdict: Verdict) -> None:
    assert expected("something else", verdict).counts_as is verdict
