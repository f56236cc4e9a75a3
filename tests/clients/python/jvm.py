"""Programs of Java's, as the programs in Python here start them; their jars are in $JARS."""

import os
import subprocess
from pathlib import Path

from tests.clients.python.program import PATIENCE_S, Failed

JVM = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def java(main: str, *words: str | Path) -> list[str]:
    binary = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    return [str(binary), *JVM, "-cp", f"{os.environ['JARS']}/*", main, *map(str, words)]


def told(main: str, *words: str | Path, given: str = "") -> str:
    """What it prints. Raises Failed where it exits otherwise than with 0."""
    done = subprocess.run(
        java(main, *words),
        input=given,
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE_S,
        check=False,
    )
    if done.returncode:
        said = (done.stderr + done.stdout).strip().splitlines() or ["nothing"]
        raise Failed(f"{main.rpartition('.')[2]}: {said[0]}")
    return done.stdout
