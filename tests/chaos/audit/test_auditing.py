"""What the command prints, and the code with which it ends."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from chaos.cli import main
from chaos.cluster.interface import PowerCutMode
from chaos.labs.audit import auditing
from chaos.labs.audit.auditing import AuditArguments
from chaos.labs.audit.matrix import SUSPICIOUS, VOID, Audited, as_json, as_text
from chaos.labs.audit.moment import ComparedAnswer
from chaos.labs.audit.next_start import NextStart, Status
from chaos.labs.audit.one_cut import CutPlan, ObservedCut
from tests.chaos.audit.test_matrix import cut


def audited(*cuts: ObservedCut) -> Audited:
    return Audited(target="node", mode=PowerCutMode.LOSE_ALL, flushed=False, cuts=list(cuts))


def lost(questions: int) -> Sequence[ComparedAnswer]:
    return [
        ComparedAnswer(
            question=f"question {number}",
            rests_on=("orders-0",),
            acknowledged="5",
            answered="0",
            promised=True,
        )
        for number in range(questions)
    ]


GOOD = cut([("log", Status.SHORTER, NextStart.LOST), ("index", Status.ZEROS, NextStart.IGNORED)])
TRUSTED = cut([("time index", Status.ZEROS, NextStart.TRUSTED)])
REFUSED = cut([("bootstrap.checkpoint", Status.SHORTER, NextStart.REFUSES)])
NEVER = cut([], void="the canary kept its new bytes")


@pytest.mark.parametrize(
    ("cuts", "code"),
    [
        ((GOOD,), 0),
        ((GOOD, TRUSTED), SUSPICIOUS),
        ((REFUSED,), SUSPICIOUS),
        ((GOOD, NEVER), VOID),
        ((TRUSTED, NEVER), SUSPICIOUS),  # proved stays proved
    ],
)
def test_the_exit_code_says_whether_anything_is_suspect(
    cuts: Sequence[ObservedCut], code: int
) -> None:
    assert audited(*cuts).exit_code == code


def test_a_node_that_does_not_start_from_a_whole_disk_is_suspect() -> None:
    found = replace(cut([("log", Status.SAME, NextStart.REBUILT)]), refusal="node 4 exited")
    assert audited(GOOD, found).exit_code == SUSPICIOUS
    assert audited(replace(found, void="the canary kept its new bytes")).exit_code == VOID
    assert "first-start: node 4 exited" in as_text(audited(found))


def test_the_table_has_a_line_for_each_row_and_says_which_are_the_same_in_all_cuts() -> None:
    text = as_text(audited(GOOD, TRUSTED, NEVER))
    lines = [line.split("  ") for line in text.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert ["first-start", "time index", "zeros", "1 of 2 ~program", "trusted"] in cells
    assert ["first-start", "log", "shorter", "1 of 2 ~program", "lost, as allowed"] in cells
    assert "first-start: void, the canary kept its new bytes" in text


def test_where_nothing_differs_that_is_said() -> None:
    text = as_text(audited(cut([("log", Status.SAME, NextStart.REBUILT)])))
    assert text.splitlines() == ["no file differs", "always the same: log"]


def test_of_many_changed_answers_a_few_are_shown_and_all_are_in_json() -> None:
    changed = ObservedCut(
        moment="clean-stop",
        directory="cut",
        files=TRUSTED.files,
        answers=lost(10),
        refusal="",
        void="",
        lived_s=20.0,
    )
    text = as_text(audited(changed))
    assert text.count("was 5, is 0") == 3
    assert "and 7 more answers" in text
    (told,) = json.loads(as_json(audited(changed)))["cuts"]
    assert len(told["changed"]) == 10


def test_where_the_engine_does_not_answer_one_cut_is_void_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[str] = []

    async def cut_once(plan: CutPlan, *_: object) -> ObservedCut:
        made.append(plan.moment.name)
        if len(made) == 1:
            raise requests.ReadTimeout("60 s are over")
        return GOOD

    monkeypatch.setattr(auditing, "cut_once", cut_once)
    monkeypatch.setattr(auditing, "_cluster", lambda *_: None)
    asked = AuditArguments(
        target="node",
        moments=["formatted"],
        mode=PowerCutMode.LOSE_ALL,
        flushed=False,
        nodes=1,
        times=2,
        out=tmp_path,
        as_json=False,
    )
    assert auditing.audit(asked) == VOID
    assert made == ["formatted", "formatted"]
    out, _ = capsys.readouterr()
    assert "formatted: void, the Docker engine: ReadTimeout: 60 s are over" in out


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("--moment replica-moved", "is no moment of this target"),
        ("--flushed", "our own node has no log.flush.interval.messages"),
    ],
)
def test_what_the_target_does_not_have_is_refused_by_name(
    line: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", *line.split()]) == 254
    assert why in capsys.readouterr().err
