"""Finding 22 on our own node in virtual time: a broker is refused as a voter, and others lead."""

import json
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.cluster.interface import Addition
from checkers.history.store import read_run


@pytest.mark.parametrize(
    ("addition", "refused"), [(Addition.ASKED, True), (Addition.UNASKED, False)]
)
def test_another_controller_leads_on_both_sides(
    tmp_path: Path, addition: Addition, refused: bool
) -> None:
    words = ["run", "voting-broker", "--seed", "1", "--set", f"addition={addition}"]
    assert main([*words, "--runtime", "sim", "--out", str(tmp_path)]) == 0
    directory = (tmp_path / "latest").resolve()
    told = json.loads((directory / "verdict.json").read_text())
    assert told["statistics"]["longest_without_topic_s"] < 20
    ops = read_run(directory).tables["ops"].to_pylist()
    asked = [row["error"] for row in ops if row["f"] == "add-voter"]
    assert asked == (["INVALID_REQUEST"] if refused else [])
