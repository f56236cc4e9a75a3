"""Planted bugs are found in containers, the correct node is not accused, the controls are red.

Three of them here, one by each kind of evidence; `kraft-chaos selftest` runs all.
"""

import json
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.releases import NEWEST
from chaos.run.installation import prepare


def selftest(out: Path, capsys: pytest.CaptureFixture[str], *mutations: str) -> dict[str, object]:
    """What it prints as JSON; its exit code must say the same."""
    code = main(["selftest", "--mutation", *mutations, "--json", "--out", str(out)])
    table = json.loads(capsys.readouterr().out)
    assert isinstance(table, dict)
    assert code == (0 if table["holds"] else 1)
    return table


@pytest.mark.timeout(600)
def test_a_bug_is_found_and_the_correct_node_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(print)
    capsys.readouterr()
    table = selftest(tmp_path, capsys, "R-STALE-READ")
    assert table["holds"], table
    rows = table["rows"]
    assert isinstance(rows, list)
    assert [(row["kind"], row["id"]) for row in rows] == [
        ("mutation", "R-STALE-READ"),
        ("correct", "correct node"),
    ]
    assert "reads-are-confirmed" in rows[0]["accused_by_named"]
    page = Path(rows[0]["directories"][-1]) / "report.html"
    assert "R-STALE-READ" in page.read_text(encoding="utf-8")
    again = (page.parent / "repro.sh").read_text()
    assert "--mutation R-STALE-READ" in again


@pytest.mark.timeout(600)
def test_disks_that_lie_are_found_out(tmp_path: Path) -> None:
    """The second control: an unmodified node on disks that acknowledge syncs and do none."""
    prepare(print)
    assert main(["run", "lying-fsync", "--seed", "1", "--out", str(tmp_path)]) == 1
    verdict = json.loads((tmp_path / "latest" / "verdict.json").read_text())
    accusers = {row["check"] for row in verdict["results"] if row["verdict"] == "invalid"}
    assert accusers & {"durability", "linearizable", "Q18-durable-before-counted"}


@pytest.mark.timeout(600)
def test_clients_that_lie_about_apache_kafka_are_found_out(tmp_path: Path) -> None:
    """The brokers did nothing wrong, and only who was lied about is accused of it."""
    prepare(print, NEWEST)
    words = ["run", "rash-client", "--target", "kafka", "--seed", "1", "--out", str(tmp_path)]
    assert main(words) == 1
    verdict = json.loads((tmp_path / "latest" / "verdict.json").read_text())
    accusing = [row for row in verdict["results"] if row["verdict"] == "invalid"]
    assert [row["check"] for row in accusing] == ["log-polls"]
    assert accusing[0]["message"].startswith("G1a: ")
