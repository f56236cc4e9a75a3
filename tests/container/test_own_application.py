"""The recipe of `docs/how-to/own-application.md`, as it stands there, by the page's own command."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.run.installation import prepare
from tests.container.clusters import left_of
from tests.support.readme import OWN_APP, ROOT, command_of

PAGE = ROOT / "docs" / "how-to" / "own-application.md"


@pytest.mark.timeout(400)
def test_an_application_of_a_few_lines_is_judged_while_brokers_lose_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(print)
    (text,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "app.py").write_text(text)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    assert main(command_of(OWN_APP)) == 0
    directory = (tmp_path / "runs" / "latest").resolve()
    verdict = json.loads((directory / "verdict.json").read_text())
    rows = {row["check"]: row for row in verdict["results"]}
    assert rows["own-app-history"]["looked_at"] > 100
    assert rows["own-app-lives"]["verdict"] == "valid"
    assert "own-app-history" in (directory / "report.html").read_text()
    assert left_of(directory.name) == []
