"""The code's own bars: how many files a reader finds, and how many lie loose in one folder.

A folder that has sub-packages is a table of contents: more loose modules beside them than a reader
takes in at a glance are splinters. Words that speak of people are for people: a node is "it".
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.bench.row import Row

ROOT = Path(__file__).parents[2]
PACKAGES = ("node", "chaos", "workloads", "checkers", "spark_reports")
FILES = 650
LOOSE = 12
SMALL_LINES = 60
PEOPLE = re.compile(r"(?<![\w-])(?:nobody|whoever)(?![\w-])", re.IGNORECASE)  # not in ids of checks


def measure() -> Iterator[Row]:
    texts = {path: path.read_text() for name in PACKAGES for path in (ROOT / name).rglob("*.py")}
    lines = {path: len(text.splitlines()) for path, text in texts.items()}
    small = [path for path, count in lines.items() if count < SMALL_LINES]
    yield Row(
        name="code: product files",
        value=len(texts),
        unit="files",
        bar=FILES,
        note=f"{sum(lines.values()):,} lines; {len(small)} files below {SMALL_LINES}",
    )
    for name in PACKAGES:
        folder, loose = max(_loose(ROOT / name), key=lambda found: found[1])
        yield Row(
            name=f"code: loose modules in one folder of {name}",
            value=loose,
            unit="files",
            bar=LOOSE,
            note=folder,
        )
    said = [path for path, text in texts.items() if PEOPLE.search(text)]
    yield Row(
        name='code: files that say "nobody" or "whoever"',
        value=len(said),
        unit="files",
        bar=0,
        note=", ".join(str(path.relative_to(ROOT)) for path in sorted(said)[:3]),
    )


def _loose(package: Path) -> list[tuple[str, int]]:
    """Each folder that has sub-packages and how many modules lie beside them; one that has none
    counts as empty."""
    found = [(str(package.relative_to(ROOT)), 0)]
    for inside in package.rglob("__init__.py"):
        folder = inside.parent
        if any(folder.glob("*/__init__.py")):
            found.append((str(folder.relative_to(ROOT)), len(list(folder.glob("*.py")))))
    return found
