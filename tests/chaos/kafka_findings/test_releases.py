"""`kraft-chaos releases`: the releases of Apache Kafka, and what was looked for in each."""

import json
import os
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.labs.findings import FINDINGS, tried
from chaos.setup import kafka_image

# Asked for a release it says nothing; asked where it keeps what it knows, it says so in colour.
MVN = """\
#!/bin/sh
case "$*" in
  *evaluate*) printf '\\033[0m%s\\033[0m' "$KEPT" ;;
  *) printf '\\033[0m' >&2 ;;
esac
"""
METADATA = """\
<metadata><versioning><latest>4.10.0</latest><versions>
<version>3.9.1</version><version>4.2.0</version><version>4.10.0</version>
<version>4.3.0-rc1</version><version>4.2.1</version>
</versions></versioning></metadata>
"""


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "mvn"
    program.parent.mkdir()
    program.write_text(MVN)
    program.chmod(0o755)
    kept = tmp_path / "kept"
    place = kept / "org" / "apache" / "kafka" / "kafka_2.13"
    place.mkdir(parents=True)
    (place / "maven-metadata-there.xml").write_text(METADATA)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("KEPT", str(kept))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.usefixtures("registry")
def test_releases_are_those_that_maven_knows_of_the_newest_first() -> None:
    assert kafka_image.released() == ["4.10.0", "4.2.1", "4.2.0"]


def test_of_each_release_the_page_says_what_was_looked_for() -> None:
    seen = tried()
    first = {number: dict(told).get(number) for told in seen.values() for number, _ in told}
    assert set(first) == {each.section for each in FINDINGS.values()}
    assert dict(seen["4.2.1"])[10] == "22 of 22 (85-100 %)"  # in a cell of another release
    assert 10 in dict(seen["4.3.1"])
    assert 23 in dict(seen["4.4.0"])
    assert 7 not in dict(seen["4.3.1"])  # not run


@pytest.mark.usefixtures("registry")
def test_a_release_in_which_nothing_was_looked_for_has_its_next_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kraft-chaos" / "kafka-4.2.1").mkdir(parents=True)
    assert main(["releases"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split() == ["4.10.0", "-", "not", "run"]
    assert said[1].split()[:3] == ["4.2.1", "here", "findings"]
    assert said[-1].startswith("  try: kraft-chaos setup --target kafka:4.10.0")
    assert main(["releases", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["releases"]
    assert [row["release"] for row in rows] == ["4.10.0", "4.2.1", "4.2.0"]
    assert rows[0] == {"release": "4.10.0", "here": False, "findings": {}}
    assert rows[1]["here"]
    assert rows[1]["findings"]["elr-wiped"] == "22 of 22 (85-100 %)"


def test_without_maven_it_is_said_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kafka_image, "found_program", lambda _: None)
    assert main(["releases"]) == 255
    said = capsys.readouterr().err
    assert "there is no mvn on this machine" in said
    assert said.count("  try: ") == 1
