"""The wheel, installed alone: everything works from below `kraft_chaos`, from any directory."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.xdist_group("wheel")  # built and installed once
ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("chaos", "checkers", "node", "spark_reports", "workloads")


@pytest.fixture(scope="module")
def backend() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_backend", ROOT / ".ci/build_backend.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def named_in_strings(tree: ast.AST) -> Iterator[str]:
    """Strings that may name a module of ours, but for those that `module_name` takes."""
    made = {
        part
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "module_name"
        for argument in call.args
        for part in ast.walk(argument)
    }
    for found in ast.walk(tree):
        if isinstance(found, ast.Constant) and isinstance(found.value, str) and found not in made:
            yield found.value


def test_no_string_names_a_module_that_a_wheel_has_elsewhere() -> None:
    """Importing it would fail there, and comparing with it would never hold."""
    beginning = re.compile(rf"({'|'.join(PACKAGES)})((\.[a-z_0-9]+)+)\.?", re.ASCII)
    begun = re.compile(rf"[\"'}}]({'|'.join(PACKAGES)})\.")  # few files need to be parsed
    known = "chaos.setup.shell"  # where the names are made
    wrong = []
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        source = path.read_text()
        if not begun.search(source):
            continue
        for text in filter(beginning.fullmatch, named_in_strings(ast.parse(source))):
            module = ROOT / text.strip(".").replace(".", "/")
            if (module.is_dir() or module.with_suffix(".py").is_file()) and text != known:
                wrong.append(f"{path.relative_to(ROOT)}: {text}")
    assert wrong == []


@pytest.fixture(scope="module")
def wheel(backend: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    return directory / str(backend.build_wheel(str(directory)))


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The wheel alone in a directory, as pip puts it there."""
    into = wheel.parent / "installed"
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*command, "--target", str(into), str(wheel)], check=True, timeout=120)
    return into


def run(
    installed: Path, words: Sequence[str], cwd: Path, exits: int = 0
) -> "subprocess.CompletedProcess[str]":
    """A program of Python that sees the wheel and its libraries, and not this checkout: `-S` reads
    no `.pth` file, of which an editable install is one."""
    path = os.pathsep.join([str(installed), sysconfig.get_path("purelib")])
    # Kernels as Python are quick enough for seconds of history; compiling them takes minutes.
    env = {**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-S", *words]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == exits, done.stdout + done.stderr
    return done


def kraft_chaos(
    installed: Path, *words: str, cwd: Path, exits: int = 0
) -> "subprocess.CompletedProcess[str]":
    return run(installed, [str(installed / "bin" / "kraft-chaos"), *words], cwd, exits)


def test_a_wheel_claims_one_name(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {
        "kraft_chaos",
        "kraft_chaos-0.1.0.dist-info",
    }
    for needed in ("compose/agent/Dockerfile", "compose/kafka-jars/fetch", "node/py.typed"):
        assert f"kraft_chaos/{needed}" in names
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name]


def test_imports_of_our_packages_alone_are_rewritten(backend: ModuleType) -> None:
    source = b"""\
import json; from node.ids import NodeId
from node import (  # a comment
    ids,
)
from nodes import other
from . import beside
if json:
    from chaos import cli as node
text = "from node import x"
"""
    assert backend.mapped(source, "m.py") == source.replace(
        b"from node.ids", b"from kraft_chaos.node.ids"
    ).replace(b"from node import (", b"from kraft_chaos.node import (").replace(
        b"from chaos", b"from kraft_chaos.chaos"
    )


@pytest.mark.parametrize("line", ["import node.ids", "import json, chaos", "from  node import ids"])
def test_what_cannot_be_rewritten_is_refused(backend: ModuleType, line: str) -> None:
    with pytest.raises(backend.UnbuildableError, match=r"m\.py:1: "):
        backend.mapped(line.encode(), "m.py")


def test_a_source_archive_has_what_a_wheel_is_built_from(
    backend: ModuleType, wheel: Path, tmp_path: Path
) -> None:
    """And the same sources make the same wheel, in another directory, process and moment."""
    archive = tmp_path / str(backend.build_sdist(str(tmp_path)))
    subprocess.run(["tar", "-xzf", str(archive), "-C", str(tmp_path)], check=True)
    code = "import build_backend, sys; print(build_backend.build_wheel(sys.argv[1]))"
    (tmp_path / "out").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out")],
        cwd=tmp_path / "kraft_chaos-0.1.0" / ".ci",
        env={**os.environ, "PYTHONPATH": "."},
        check=True,
        capture_output=True,
        text=True,
    )
    again = tmp_path / "out" / done.stdout.strip()
    assert again.read_bytes() == wheel.read_bytes()


@pytest.mark.slow
def test_every_module_of_a_wheel_is_imported_from_below_one_package(
    installed: Path, tmp_path: Path
) -> None:
    code = """
import importlib, pkgutil, sys, kraft_chaos
for found in pkgutil.walk_packages(kraft_chaos.__path__, "kraft_chaos."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
    imported = run(installed, ["-c", code], tmp_path).stdout.split()
    assert "kraft_chaos" in imported
    assert not set(PACKAGES) & set(imported)


@pytest.mark.slow
def test_a_wheel_works_in_an_empty_directory(installed: Path, tmp_path: Path) -> None:
    told = kraft_chaos(installed, "--version", cwd=tmp_path).stdout
    assert "kraft-chaos " in told
    assert "numpy " in told
    if (ROOT / ".git").exists():
        assert "\ncommit " in told

    words = ("run", "partition-leader", "--runtime", "sim", "--seed", "1", "--duration", "3")
    done = kraft_chaos(installed, *words, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["verdict"] == "valid"
    again = kraft_chaos(installed, "check", "runs/latest", "--json", cwd=tmp_path)
    assert json.loads(again.stdout)["verdict"] == "valid"
    planted = ("--mutation", "R-STALE-READ", "--expect", "invalid:linearizable")
    kraft_chaos(installed, *words, *planted, cwd=tmp_path)
    assert "lone-controller" in kraft_chaos(installed, "finding", cwd=tmp_path).stdout
    assert "KIP-966" in kraft_chaos(installed, "finding", "elr-wiped", cwd=tmp_path).stdout


@pytest.mark.slow
def test_images_and_compose_file_name_the_modules_of_a_wheel(
    installed: Path, tmp_path: Path
) -> None:
    code = """
from pathlib import Path
from kraft_chaos.chaos.cluster.compose_file import compose_text
from kraft_chaos.chaos.setup.images import agent_recipe, node_recipe
from kraft_chaos.chaos.setup.shell import repository
recipe = node_recipe("base", Path("no-wheels"))
assert "program/kraft_chaos/node/server/__main__.py" in recipe.files, list(recipe.files)
assert "program/kraft_chaos/chaos/bugs/__main__.py" in recipe.files, list(recipe.files)
assert any(
    path == "program/kraft_chaos/chaos/cluster/docker/agent_program.py"
    for path in agent_recipe("base").files
)
shipped = (repository() / "compose" / "docker-compose.yml").read_text()
assert shipped == compose_text(), shipped
assert "python3 -m kraft_chaos.node.server start" in shipped
"""
    run(installed, ["-c", code], tmp_path)
