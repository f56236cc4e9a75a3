"""The clients' libraries: fetched once, in the versions that the files beside the programs pin."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from zlib import crc32

from chaos.setup.shell import cache_dir

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_PATIENCE_S = 1_500.0
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies"


class NotToBeHad(Exception):
    """On this machine."""


def place(kind: str, *files: Path) -> Path:
    """Where what these files ask for is kept: other versions, another place."""
    number = crc32(b"".join(each.read_bytes() for each in files))
    return cache_dir() / "clients" / f"{kind}-{number:08x}"


def call(*words: str | Path, where: Path | None = None, more: Mapping[str, str] = {}) -> None:
    """Raises NotToBeHad."""
    command = [str(each) for each in words]
    if shutil.which(command[0]) is None:
        raise NotToBeHad(f"there is no {command[0]}")
    try:
        done = subprocess.run(
            command,
            cwd=where,
            env={**os.environ, **more},
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise NotToBeHad(f"{command[0]} took more than {_PATIENCE_S:.0f} s") from late
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines() or ["it said nothing"]
        errors = [each for each in said if "ERROR" in each]  # Maven's last lines are of help
        raise NotToBeHad(f"{command[0]}: {(errors or said[-1:])[0][:200]}")


def python_venv(requirements: str = "requirements.txt", *, only_wheels: bool = True) -> Path:
    """The Python of an environment of its own: the harness' is not touched."""
    wanted = HERE / "python" / requirements
    found = place("python", wanted)
    interpreter = found / "bin" / "python"
    if not (found / "whole").exists():
        wheels = ("--only-binary", ":all:") if only_wheels else ()
        call(sys.executable, "-m", "venv", "--clear", found)
        call(interpreter, "-m", "pip", "install", "-q", *wheels, "-r", wanted)
        (found / "whole").touch()
    return interpreter


def go_program(name: str) -> Path:
    sources = HERE / "go"
    files = sorted(
        (*sources.glob("go.*"), *sources.glob("try/*.go"), *sources.glob(f"{name}/*.go"))
    )
    found = place(f"go-{name}", *files)
    if not (found / name).exists():
        found.mkdir(parents=True, exist_ok=True)
        call("go", "build", "-o", found / name, f"./{name}", where=sources)
    return found / name


def node_modules() -> Path:
    wanted = HERE / "javascript" / "package.json"
    found = place("javascript", wanted)
    if not (found / "whole").exists():
        found.mkdir(parents=True, exist_ok=True)
        shutil.copy(wanted, found)
        call("npm", "install", "--silent", "--no-audit", "--no-fund", where=found)
        (found / "whole").touch()
    return found / "node_modules"


def jars(name: str) -> Path:
    """What `java/NAME.xml` depends on."""
    wanted = HERE / "java" / f"{name}.xml"
    found = place(f"jars-{name}", wanted)
    if not (found / "whole").exists():
        call("mvn", "-q", "-B", "-f", wanted, _COPY, f"-DoutputDirectory={found}")
        (found / "whole").touch()
    return found


def kafka_jars(release: str) -> Path:
    """Of Apache Kafka whole, with its tools."""
    fetch = ROOT / "compose" / "kafka-jars" / "fetch"
    found = place(f"kafka-{release}", fetch, fetch.with_name("pom.xml"))
    if not (found / "whole").exists():
        call(fetch, release, found)
        (found / "whole").touch()
    return found


def java_classes(libraries: Path, *sources: str) -> Path:
    files = [HERE / "java" / f"{each}.java" for each in sources]
    found = place("classes", *files)
    if not (found / "whole").exists():
        call("javac", "-nowarn", "-cp", f"{libraries}/*", "-d", found, *files)
        (found / "whole").touch()
    return found


def installed(program: str, mend: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise NotToBeHad(f"there is no {program}; {mend}")
    return found
