"""No sentence that is printed says "1 faults": a number before a noun goes through `counted`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkers.counted import counted

ROOT = Path(__file__).parent.parent
PACKAGES = ("chaos", "checkers", "spark_reports", "workloads")
SIZES = ("len", "sum")
# `3 of 1,000 runs` is a share, and plural whatever the number.
PLURAL = re.compile(r"^ (?:(?:more|other|wrong|such|acknowledged|malformed) )?([a-z]+s)\b")
VERBS = {"is", "was", "has", "does", "ms", "s"}
BYTES = "bytes"  # of headers, frames and files that are larger, or wrong whatever their size is


def is_a_number(value: ast.FormattedValue) -> bool:
    """As far as the text itself tells: written with thousands, or what a size is."""
    spec = ast.unparse(value.format_spec) if value.format_spec else ""
    call = value.value
    return "," in spec or (isinstance(call, ast.Call) and ast.unparse(call.func) in SIZES)


def uncounted(source: str) -> Iterator[str]:
    """The f-strings in which a number stands before a plural as if it were never one."""
    for text in ast.walk(ast.parse(source)):
        if not isinstance(text, ast.JoinedStr):
            continue
        before = ""
        for value, after in zip(text.values, [*text.values[1:], None], strict=True):
            if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant):
                found = PLURAL.match(str(after.value))
                plural = found is not None and found[1] not in {*VERBS, BYTES}
                if plural and is_a_number(value) and not before.endswith("of "):
                    yield ast.unparse(text)
            before = str(value.value) if isinstance(value, ast.Constant) else ""


def test_one_of_them_is_one() -> None:
    assert [counted(number, "fault") for number in (0, 1, 2_000)] == [
        "0 faults",
        "1 fault",
        "2,000 faults",
    ]
    assert counted(1, "try", "tries") == "1 try"
    assert counted(2, "try", "tries") == "2 tries"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('f"{bit:,} faults bit"', 1),
        ('f"{len(runs)} more runs"', 1),
        ('f"{good:,} of {runs:,} runs"', 0),
        ("f\"{counted(bit, 'fault')} bit\"", 0),
        ('f"{node} holds {len(data)} bytes"', 0),
    ],
)
def test_what_is_looked_for_is_found(source: str, found: int) -> None:
    assert len(list(uncounted(source))) == found


@pytest.mark.parametrize("package", PACKAGES)
def test_numbers_before_nouns_are_counted(package: str) -> None:
    strange = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for text in uncounted(path.read_text())
    ]
    assert not strange, "\n".join(strange)
