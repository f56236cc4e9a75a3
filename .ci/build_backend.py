"""Builds the wheel: every package of the repository below one, `kraft_chaos`.

The repository's packages have short names (`node`, `checkers`). An installed wheel must not claim
those for everybody, so each absolute import of them is rewritten when the wheel is built: `from
node.ids import NodeId` becomes `from kraft_chaos.node.ids import NodeId`. Names of modules in
strings are made by `chaos.setup.shell.module_name`. An editable install is the checkout itself,
with its names, and is setuptools' work.

The wheel also holds `compose/`, the page that `kraft-chaos finding` prints, and the commit that it
was built from. Interface: PEP 517, PEP 660; format: PEP 427.
"""

import ast
import base64
import hashlib
import io
import re
import subprocess
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

TOP = "kraft_chaos"
PACKAGES = ("chaos", "checkers", "node", "spark_reports", "workloads")
DATA = ("compose", "docs/results/findings.md")  # what the packages read
COMMIT = "commit.txt"
ROOT = Path(__file__).resolve().parents[1]
_OF_SDIST = ("pyproject.toml", "README.md", ".ci/build_backend.py")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same sources make the same bytes
_INIT = '''"""kraft-chaos as a wheel has it: the harness is `kraft_chaos.chaos`."""
'''

Settings = Mapping[str, Any] | None


class UnbuildableError(Exception):
    """The sources have something that cannot be moved below one package."""


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    del config_settings
    return []


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    del config_settings
    return []


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    del config_settings
    return ["setuptools>=68"]


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    setuptools = import_module("setuptools.build_meta")  # there for this alone
    return str(setuptools.build_editable(wheel_directory, config_settings, metadata_directory))


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """The wheel's file name, in that directory."""
    del config_settings, metadata_directory
    project = _project()
    name = f"{TOP}-{project['version']}-py3-none-any.whl"
    info = f"{TOP}-{project['version']}.dist-info"
    records: list[str] = []
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content, mode in _files(project, info):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            records.append(f"{path},sha256={digest.decode()},{len(content)}")
            _write(wheel, path, content, mode)
        records.append(f"{info}/RECORD,,")
        _write(wheel, f"{info}/RECORD", "\n".join([*records, ""]).encode(), 0o644)
    return name


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """The archive's file name, in that directory."""
    del config_settings
    project = _project()
    base = f"{TOP}-{project['version']}"
    name = f"{base}.tar.gz"
    with tarfile.open(Path(sdist_directory) / name, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path in (*_OF_SDIST, *PACKAGES, *DATA):
            for source in _below(ROOT / path):
                archive.add(source, f"{base}/{source.relative_to(ROOT)}", recursive=False)
        for path, text in (("PKG-INFO", _metadata(project)), (COMMIT, _commit())):
            member = tarfile.TarInfo(f"{base}/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return name


def _project() -> dict[str, Any]:
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])


def _write(wheel: zipfile.ZipFile, path: str, content: bytes, mode: int) -> None:
    entry = zipfile.ZipInfo(path, _EPOCH)
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(entry, content)


def _files(project: Mapping[str, Any], info: str) -> Iterator[tuple[str, bytes, int]]:
    """Path in the wheel, content, mode."""
    yield f"{TOP}/__init__.py", _INIT.encode(), 0o644
    yield f"{TOP}/{COMMIT}", _commit().encode(), 0o644
    for path in (*PACKAGES, *DATA):
        for source in _below(ROOT / path):
            content = source.read_bytes()
            if source.suffix == ".py":
                content = mapped(content, str(source.relative_to(ROOT)))
            elif source.name == "docker-compose.yml":
                content = re.sub(rb"python3 -m (?=node\.)", b"python3 -m kraft_chaos.", content)
            mode = 0o755 if source.stat().st_mode & 0o100 else 0o644
            yield f"{TOP}/{source.relative_to(ROOT).as_posix()}", content, mode
    yield f"{info}/METADATA", _metadata(project).encode(), 0o644
    told = f"Wheel-Version: 1.0\nGenerator: {TOP}\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    yield f"{info}/WHEEL", told.encode(), 0o644
    yield f"{info}/entry_points.txt", _entry_points(project).encode(), 0o644


def _below(path: Path) -> list[Path]:
    """The files of a tree, or one file."""
    if path.is_file():
        return [path]
    return sorted(
        each
        for each in path.rglob("*")
        if each.is_file() and "__pycache__" not in each.parts and not each.name.startswith(".")
    )


def mapped(source: bytes, name: str) -> bytes:
    """A module's source with our packages imported from below `kraft_chaos`."""
    lines = source.splitlines(keepends=True)
    for node in _statements(ast.parse(source, name)):
        if isinstance(node, ast.ImportFrom) and not node.level and _is_ours(node.module or ""):
            line, at = lines[node.lineno - 1], node.col_offset + len(b"from ")
            if not line.startswith((node.module or "").encode(), at):
                raise UnbuildableError(f"{name}:{node.lineno}: write `from MODULE import ...`")
            lines[node.lineno - 1] = line[:at] + TOP.encode() + b"." + line[at:]
        elif isinstance(node, ast.Import) and any(_is_ours(each.name) for each in node.names):
            raise UnbuildableError(
                f"{name}:{node.lineno}: `import MODULE` binds a top-level name, which a wheel does "
                "not have; write `from MODULE import ...`"
            )
    return b"".join(lines)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All below it, in blocks of any kind; expressions, of which there are many more, hold none."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for each in getattr(node, block, ()):
            yield each
            yield from _statements(each)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


def _metadata(project: Mapping[str, Any]) -> str:
    """Core metadata 2.1."""
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {each}" for each in project["dependencies"]),
    ]
    for extra, needed in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {each} ; extra == "{extra}"' for each in needed]
    lines.append("Description-Content-Type: text/markdown")
    return "\n".join([*lines, "", (ROOT / project["readme"]).read_text()])


def _entry_points(project: Mapping[str, Any]) -> str:
    """The programs, and what others find by name, each below the one package."""
    groups = {"console_scripts": project["scripts"], **project.get("entry-points", {})}
    lines: list[str] = []
    for group, entries in groups.items():
        lines += [f"[{group}]", *(f"{name} = {TOP}.{at}" for name, at in entries.items()), ""]
    return "\n".join(lines)


def _commit() -> str:
    """The checkout's commit, with a remark if files differ from it; "" outside of a checkout."""
    if not (ROOT / ".git").exists():
        kept = ROOT / COMMIT
        return kept.read_text() if kept.exists() else ""
    try:
        commit = _git("rev-parse", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{commit} with changes" if changed else commit


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
