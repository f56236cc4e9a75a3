"""A small share of `python -m tests.fuzz.histories`, and proof that it can tell a difference."""

from itertools import chain
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
    rare = range(100, 101), range(353, 354)  # an invalid one, and one in which nothing succeeded
    found = [check_damaged(7, numbers, tmp_path) for numbers in (range(40), *rare)]
    assert [one.wrong for one in found] == [[], [], []]
    assert {"valid", "invalid", "unknown", "refused"} <= {
        *chain.from_iterable(one.counts for one in found)
    }


def test_another_verdict_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(calls: Calls) -> bool:
        del calls
        return False

    monkeypatch.setattr(histories, "exhaustive", never)
    found = compare(7, range(6), tmp_path, with_porcupine=False)
    assert any("VALID, others say INVALID" in one for one in found.wrong)
