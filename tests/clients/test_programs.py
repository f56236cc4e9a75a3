"""The programs of the clients that the harness has anyway, against our brokers; and the table."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import brokers
from tests.clients.brokers import KAFKA, OURS
from tests.clients.catalogue import CLIENTS
from tests.clients.features import FEATURES
from tests.clients.fetched import ROOT, NotToBeHad, call, place
from tests.clients.results import is_red, load, save, table
from tests.clients.tries import Outcome, Result, tried

LIBRDKAFKA = ("auto-create", "static-member", "seek-in-gzip", "groups", "no-such-feature")
KAFKA_PYTHON = ("auto-create", "configs-of-old", "log-dirs", "delete-records")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with brokers.ours(tmp_path_factory.mktemp("clients") / "ours") as found:
        yield found


@pytest.mark.parametrize(
    ("module", "feature"),
    [
        *(("librdkafka", each) for each in LIBRDKAFKA),
        *(("kafka_python", each) for each in KAFKA_PYTHON),
    ],
)
def test_what_applications_expect_works(servers: str, module: str, feature: str) -> None:
    command = [sys.executable, "-m", f"tests.clients.python.{module}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = tried(command, environment, servers, module, feature)
    works = Outcome.WORKS if feature in FEATURES else Outcome.NOT_IN_CLIENT
    assert found == Result(outcome=works)


def test_a_table_says_where_a_feature_works(tmp_path: Path) -> None:
    fails = Result(outcome=Outcome.FAILS, why="No: `a|b`")
    works, lacks = Result(outcome=Outcome.WORKS), Result(outcome=Outcome.NOT_IN_CLIENT)
    results = {
        (OURS, "kcat", "gzip"): works,
        (KAFKA, "kcat", "gzip"): works,
        (OURS, "kcat", "lz4"): works,
        (OURS, "kcat", "groups"): lacks,
        (KAFKA, "kcat", "groups"): lacks,
        (OURS, "kcat", "transactions"): fails,
        (KAFKA, "kcat", "transactions"): works,
    }
    told = table(results)
    (kcat,) = (each for each in CLIENTS if each.name == "kcat")
    assert f"| | kcat {kcat.release} |" in told
    assert "| gzip | yes |" in told
    assert "| lz4 | yes, on ours |" in told
    assert "UNSUPPORTED_VERSION) | ours no, Kafka yes |" in told
    assert FEATURES["groups"] not in told
    assert f"* kcat, transactions, {OURS}: `No: 'a/b'`" in told
    assert not is_red(results)
    results[OURS, "kcat", "gzip"] = fails
    assert is_red(results)
    results[KAFKA, "kcat", "gzip"] = fails
    assert not is_red(results)
    save(tmp_path / "r.json", results)
    assert load(tmp_path / "r.json") == results
    assert load(tmp_path / "none.json") == {}


def test_what_cannot_be_fetched_says_why() -> None:
    with pytest.raises(NotToBeHad, match="there is no kraft-chaos-nothing"):
        call("kraft-chaos-nothing")
    with pytest.raises(NotToBeHad, match=r"python.*: nope"):
        call(sys.executable, "-c", "import sys; sys.exit('nope')")


def test_other_versions_have_another_place(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("a==1")
    before = place("python", file)
    file.write_text("a==2")
    assert place("python", file) != before
