"""Finding 20 on our own node in virtual time: who is being removed stands, and without that nobody
leads."""

import json
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.cluster.interface import Removal
from node.raft.known_quorum import Candidacy


def run(directory: Path, removal: Removal) -> int:
    words = ["run", "removed-leader", "--seed", "1", "--set", f"removal={removal}"]
    return main([*words, "--runtime", "sim", "--out", str(directory)])


def told(directory: Path) -> dict[str, dict[str, str]]:
    results = json.loads((directory / "latest" / "verdict.json").read_text())["results"]
    return {row["check"]: row for row in results}


@pytest.mark.parametrize("removal", Removal)
def test_our_own_node_leads_again_on_both_sides(tmp_path: Path, removal: Removal) -> None:
    assert run(tmp_path, removal) == 0
    assert told(tmp_path)["faults-bit"]["message"].startswith("3 of 3 faults bit")


def test_where_voters_alone_stand_nobody_leads_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Apache Kafka decides it, and as our own node did."""
    monkeypatch.setattr(Candidacy, "_is_being_removed", lambda _self, _committed: False)
    assert run(tmp_path, Removal.ASKED) == 1
    assert told(tmp_path)["recovers-when-healed"]["verdict"] == "invalid"
    assert run(tmp_path, Removal.UNASKED) == 0
