"""A small share of `python -m tests.fuzz.histories`, and proof that it can tell a difference."""

from pathlib import Path

import pytest

from checkers.history.calls import Calls, Model
from tests.fuzz import histories
from tests.fuzz.histories import check_damaged, compare, drawn


def test_random_histories_are_judged_as_by_an_exhaustive_search(tmp_path: Path) -> None:
    found = compare(7, range(60), tmp_path, with_porcupine=False)
    assert found.wrong == []
    said = {name.rsplit(" ", 1)[0] for name in found.counts}
    assert said == {model.value for model in histories.MODELS}
    assert {name.rsplit(" ", 1)[1] for name in found.counts} >= {"valid", "invalid"}


def test_of_every_model_there_are_one_and_many_keys() -> None:
    seen: dict[Model, set[int]] = {}
    for number in range(300):
        calls = drawn(1, number)
        seen.setdefault(calls.model, set()).add(len(calls.keys))
    assert set(seen) == set(histories.MODELS)
    assert all(1 in keys and max(keys) > 100 for keys in seen.values())


def test_damaged_files_are_one_line_each(tmp_path: Path) -> None:
    rare = 100, 353  # an invalid one, and one in which nothing succeeded
    found = check_damaged(7, [*range(40), *rare], tmp_path)
    assert found.wrong == []
    assert {"valid", "invalid", "unknown", "refused"} <= {*found.counts}


def test_another_verdict_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(calls: Calls) -> bool:
        del calls
        return False

    monkeypatch.setattr(histories, "exhaustive", never)
    found = compare(7, range(6), tmp_path, with_porcupine=False)
    assert any("VALID, others say INVALID" in one for one in found.wrong)
