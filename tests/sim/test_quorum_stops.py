"""Two of three disks are lost: the quorum stops; and a node that does not stop is found out."""

import json
from pathlib import Path

import pytest

from chaos.cli import main

pytestmark = pytest.mark.slow

CHECK = "stops-without-a-majority"


@pytest.mark.parametrize("form", ["quorum=dynamic", "quorum=listed"])
@pytest.mark.parametrize(("mutation", "verdict"), [("", "valid"), ("V-REFORMAT", "invalid")])
def test_the_quorum_stops_rather_than_forgets(
    form: str, mutation: str, verdict: str, tmp_path: Path
) -> None:
    """A bug that counts the votes of new disks as those of the lost ones is named by the check."""
    planted = ["--mutation", mutation] if mutation else []
    wanted = ["--duration", "12", "--seed", "2", "--set", form, "--out", str(tmp_path)]
    code = main(["run", "disk-loss-majority", "--runtime", "sim", *wanted, *planted])
    told = json.loads((tmp_path / "latest" / "verdict.json").read_text())
    row = next(row for row in told["results"] if row["check"] == CHECK)
    assert code == (1 if mutation else 0)
    assert row["verdict"] == verdict
    assert row["looked_at"] > 0
    assert ", of 3 voters, lost their disks" in row["message"]
