"""The audit, on containers: of the correct node nothing is trusted wrongly, of a planted bug
something is, and a cut that did not bite shows nothing."""

import json
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.cluster.docker.power_cuts import Power
from chaos.installation import prepare

pytestmark = pytest.mark.container


@pytest.fixture(scope="module", autouse=True)
def _images() -> None:
    prepare(print)


def audit(out: Path, *words: str) -> int:
    return main(["audit", "--out", str(out), "--json", *words])


def test_all_that_our_node_acknowledges_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(tmp_path, "--moment", "record-acknowledged", "clean-stop") == 0
    found = json.loads(capsys.readouterr().out)
    assert {cut["moment"] for cut in found["cuts"]} == {"record-acknowledged", "clean-stop"}
    assert "metadata log segment" in found["same"]


def test_a_node_that_forgets_its_fsync_is_found_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(tmp_path, "--moment", "record-acknowledged", "--mutation", "Q-NO-FSYNC") == 1
    found = json.loads(capsys.readouterr().out)
    assert ("metadata log segment", "trusted") in {
        (row["kind"], row["outcome"]) for row in found["rows"]
    }
    (cut,) = found["cuts"]
    assert cut["changed"]


def test_a_cut_that_forgets_nothing_shows_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Power, "_forget", lambda *_: None)
    assert audit(tmp_path, "--moment", "record-acknowledged", "--mutation", "Q-NO-FSYNC") == 3
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == []
    assert "canary" in found["cuts"][0]["void"]
