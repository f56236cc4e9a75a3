"""Porcupine's own histories, as its Go module ships them: read whole, judged as it judges them."""

import re
import shutil
from pathlib import Path

import pytest

from checkers.foreign import Declared, Format, UnreadableHistoryError, judge, read_history
from checkers.history.calls import Model
from checkers.verdict import Verdict
from tests.support.foreign import porcupine


@pytest.fixture(scope="module")
def module() -> Path:
    if shutil.which("go") is None:  # a user's machine need not have one, and nothing else needs it
        pytest.skip("no go tool to fetch Porcupine's histories with")
    return porcupine()


def published(module: Path) -> dict[int, bool]:
    """Which etcd histories Porcupine's tests expect to be linearizable."""
    text = (module / "porcupine_test.go").read_text()
    found = re.findall(r"checkJepsen\(t, (\d+), (true|false)\)", text)
    return {int(number): expected == "true" for number, expected in found}


def test_all_etcd_histories(module: Path) -> None:
    expected = published(module)
    assert len(expected) == 102
    for number, linearizable in expected.items():
        history = read_history(module / f"test_data/jepsen/etcd_{number:03d}.log", Declared())
        assert (history.format, history.calls.model) == (Format.LOG, Model.CAS_REGISTER)
        verdict = Verdict.VALID if linearizable else Verdict.INVALID
        assert judge(history).verdict is verdict, number


def test_the_etcd_history_that_is_empty(module: Path) -> None:
    """Its cluster did not start."""
    with pytest.raises(UnreadableHistoryError, match="an empty file"):
        read_history(module / "test_data/jepsen/etcd_095.log", Declared())


def test_all_histories_of_maps(module: Path) -> None:
    files = sorted((module / "test_data/kv").glob("*.txt"))
    assert len(files) == 6
    for path in files:
        history = read_history(path, Declared())
        assert history.calls.model is Model.KV
        assert judge(history).verdict.word == ("valid" if "-ok" in path.name else "invalid")
