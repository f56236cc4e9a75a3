"""The kill table: what holds, what does not, and how it is said."""

from dataclasses import replace

import pytest

from chaos.selftest.kill_table import (
    SuspectKind,
    SuspectRow,
    SuspectTry,
    as_json,
    as_text,
    is_decided,
    trial_of,
)
from checkers.conclusion import STARVED
from checkers.verdict import CheckResult, Judgement, Verdict

NAMED = ("Q17-no-leader-again", "Q5-log-matching")


def trial(
    *accusers: str,
    inside: tuple[str, ...] = (),
    verdict: Verdict | None = None,
    seconds: float = 20.0,
) -> SuspectTry:
    return SuspectTry(
        seed=1,
        verdict=verdict or (Verdict.INVALID if accusers or inside else Verdict.VALID),
        accusers=accusers,
        inside=inside,
        sentence="what was judged",
        seconds=seconds,
        directory="runs/selftest/1",
    )


def planted(*trials: SuspectTry) -> SuspectRow:
    return SuspectRow(
        kind=SuspectKind.MUTATION,
        id="Q-SAME-EPOCH",
        scenario="kill-leader",
        named=NAMED,
        trials=trials,
    )


def correct(*trials: SuspectTry) -> SuspectRow:
    return SuspectRow(
        kind=SuspectKind.CORRECT, id="correct node", scenario="kill-leader", named=(), trials=trials
    )


def test_found_by_a_named_check_at_the_second_try() -> None:
    row = planted(trial(), trial("Q5-log-matching", "durability"))
    assert row.holds
    assert row.by_name == ("Q5-log-matching",)
    assert row.seconds == 40.0
    text = as_text([row])
    assert (
        "ok  Q-SAME-EPOCH  kill-leader  Q5-log-matching  -       yes    1 valid, 1 invalid  1"
        in text
    )
    assert text.endswith("every planted bug was found, and nothing else")


def test_unseen_or_found_by_others_only() -> None:
    unseen, strange = planted(trial(), trial()), planted(trial("durability"))
    assert not unseen.holds
    assert not strange.holds
    text = as_text([unseen, strange])
    assert "Q-SAME-EPOCH: unseen in 2 tries; the last: what was judged  (runs/selftest/1)" in text
    assert "accused by durability, and by none of Q17-no-leader-again, Q5-log-matching" in text


def test_found_from_inside_only_by_the_invariant_of_a_named_check() -> None:
    found = planted(trial("durability", inside=("Q5-log-matching",)))
    assert found.holds
    assert (found.by_name, found.inside_by_name) == ((), ("Q5-log-matching",))
    assert "durability  Q5-log-matching  inside  1" in as_text([found])
    strange = planted(trial(inside=("Q18-durable-before-counted",)))
    assert not strange.holds
    assert "accused by Q18-durable-before-counted, and by none of" in as_text([strange])
    assert is_decided(SuspectKind.MUTATION, NAMED, found.last)
    assert not is_decided(SuspectKind.MUTATION, NAMED, strange.last)


def test_what_was_seen_from_inside_is_no_accuser() -> None:
    rows = [
        CheckResult(check=check, verdict=verdict, message="it is so", count=count)
        for check, verdict, count in (
            ("invariant:Q5-log-matching", Verdict.INVALID, 1),
            ("Q5-log-matching", Verdict.INVALID, 1),
            ("durability", Verdict.VALID, 0),
        )
    ]
    judgement = Judgement(
        run_id="r", verdict=Verdict.INVALID, sentence="INVALID: so", results=tuple(rows)
    )
    made = trial_of(judgement, seed=7, seconds=1.04, directory="runs/7")
    assert (made.accusers, made.inside) == (("Q5-log-matching",), ("Q5-log-matching",))
    assert (made.seed, made.seconds) == (7, 1.0)


def test_a_correct_node_may_be_expected_to_be_unknown_and_no_other() -> None:
    for verdict in Verdict:
        row = replace(correct(trial(verdict=verdict)), expected=Verdict.UNKNOWN)
        assert row.holds == (verdict is Verdict.UNKNOWN)
    accused = replace(correct(trial("durability")), expected=Verdict.UNKNOWN)
    assert not accused.holds
    assert "no bug is planted in it, and yet" in as_text([accused])


def test_a_correct_node_must_be_valid() -> None:
    assert correct(trial()).holds
    assert not correct(trial("durability")).holds
    assert not correct(trial(verdict=Verdict.VOID)).holds
    assert "no bug is planted in it, and yet: what was judged" in as_text(
        [correct(trial("durability"))]
    )


@pytest.mark.parametrize("nothing", [Verdict.ERROR, Verdict.VOID])
def test_no_retry_makes_good_what_came_to_nothing(nothing: Verdict) -> None:
    broken, found = trial(verdict=nothing), trial("Q5-log-matching")
    assert not correct(broken, broken, trial()).holds
    assert not correct(trial(), broken).holds
    assert not planted(broken, found).holds
    assert planted(trial(verdict=Verdict.UNKNOWN), found).holds
    assert not correct(trial(verdict=Verdict.UNKNOWN), trial()).holds
    text = as_text([planted(trial(), broken)])
    assert f"1 valid, 1 {nothing.word}" in text
    assert "Q-SAME-EPOCH: a try failed: what was judged" in text
    rows = as_json([planted(trial(), broken)])["rows"]
    assert isinstance(rows, list)
    assert rows[0]["verdicts"] == ["valid", nothing.word]
    assert is_decided(SuspectKind.MUTATION, NAMED, broken)


def test_where_seeds_draw_faults_one_that_could_not_bite_is_a_try_like_others() -> None:
    """A crash of the harness is none."""
    void, crash, found = (
        trial(verdict=Verdict.VOID),
        trial(verdict=Verdict.ERROR),
        trial("Q5-log-matching"),
    )
    assert not is_decided(SuspectKind.MUTATION, NAMED, void, drawn=True)
    assert is_decided(SuspectKind.MUTATION, NAMED, crash, drawn=True)
    assert replace(planted(void, found), drawn=True).holds
    assert not replace(planted(crash, found), drawn=True).holds
    assert "unseen in 1 try" in as_text([replace(planted(void), drawn=True)])


def test_when_another_run_would_tell_nothing_more() -> None:
    assert is_decided(SuspectKind.MUTATION, NAMED, trial("Q5-log-matching"))
    assert not is_decided(SuspectKind.MUTATION, NAMED, trial("durability"))
    assert not is_decided(SuspectKind.MUTATION, NAMED, trial())
    assert not is_decided(SuspectKind.CORRECT, (), trial()), (
        "it has to be valid as often as was asked"
    )
    assert is_decided(SuspectKind.CORRECT, (), trial("durability"))
    assert is_decided(SuspectKind.CORRECT, (), trial(verdict=Verdict.VOID))


def test_json_is_one_object() -> None:
    found = as_json([planted(trial("Q5-log-matching")), correct(trial("durability"))])
    assert found["holds"] is False
    assert found["seconds"] == 40.0
    rows = found["rows"]
    assert isinstance(rows, list)
    assert [row["holds"] for row in rows] == [True, False]
    assert rows[0]["accused_by_named"] == ["Q5-log-matching"]
    assert (rows[0]["inside"], rows[0]["inside_named"], rows[0]["seeds"]) == ([], [], [1])


def test_a_try_that_was_starved_is_tried_again() -> None:
    failed = trial(verdict=Verdict.ERROR)
    assert is_decided(SuspectKind.MUTATION, NAMED, failed)
    assert not is_decided(SuspectKind.MUTATION, NAMED, replace(failed, starved=True))
    slow = CheckResult(
        check="recovers-when-healed", verdict=Verdict.ERROR, message="", facts={STARVED: 1}
    )
    judgement = Judgement(run_id="1", verdict=Verdict.ERROR, sentence="", results=(slow,))
    assert trial_of(judgement, seed=1, seconds=2.0, directory="runs/1").starved
