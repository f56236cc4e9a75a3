"""Directory ids ignored, and not: the same disks are lost, and what was acknowledged with them."""

from pathlib import Path

import pytest

from chaos.cli import main
from chaos.scenario import Side
from chaos.scenarios.disks import REFORMAT_IGNORED
from checkers.history.store import read_run
from checkers.verdict_file import read_verdict

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("side", REFORMAT_IGNORED.sides, ids=lambda side: side.name)
def test_each_side_is_judged_as_expected(side: Side, tmp_path: Path) -> None:
    settings = [
        word for name, value in side.settings.items() for word in ("--set", f"{name}={value}")
    ]
    wanted = ["--seed", "1", "--runtime", "sim", "--out", str(tmp_path), *settings]
    main(["run", REFORMAT_IGNORED.name, *wanted])
    judged = read_verdict(tmp_path / "latest")
    assert side.expected.mismatch(judged) == ""
    lost = read_run(tmp_path / "latest").tables["lost_disks"]
    assert lost.num_rows == 2
