"""What the checks promise: `kraft-chaos check --list` and `docs/reference/invariants.md`."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from checkers.all_checks import CHECKS
from checkers.check import Check

# The packages of checks, and what they judge.
_JUDGED = {
    "registers": "Registers: what clients wrote and read",
    "log": "Logs: what clients sent and polled",
    "quorum": "The quorum: elections, its log, its high watermark",
    "partitions": "Partitions: leaders, ISR, ELR, replicas, topics",
    "run": "The run: was there enough to judge, and did all nodes go on",
}


def listed() -> Sequence[dict[str, str]]:
    """One row per check: id, promise, source, runs (to which it applies), rests_on, module."""
    return [
        {
            "id": check.id,
            "promise": check.promise,
            "source": check.source,
            "runs": _runs(check),
            "rests_on": ", ".join(sorted(check.rests_on)),
            "module": check.judges.__module__,
        }
        for check in CHECKS
    ]


def as_text() -> str:
    """One paragraph per check, for a terminal."""
    paragraphs = []
    for row in listed():
        lines = [row["id"], f"  {row['promise']}", f"  judged: {row['runs']}"]
        lines += [f"  source: {row['source']}"] if row["source"] else []
        lines += [f"  accuses only with complete: {row['rests_on']}"] if row["rests_on"] else []
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def as_markdown() -> str:
    """A table for each package of checks."""
    return "\n".join(_tables())


def _tables() -> Iterator[str]:
    def package(row: dict[str, str]) -> str:
        return row["module"].split(".")[1]

    rows = sorted(listed(), key=lambda row: list(_JUDGED).index(package(row)))
    for name, found in groupby(rows, key=package):
        yield f"## {_JUDGED[name]}\n"
        yield "| check | promise | source | judged | accuses only with complete |"
        yield "|---|---|---|---|---|"
        for row in found:
            cells = [f"`{row['id']}`", row["promise"], row["source"], row["runs"], row["rests_on"]]
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') or '-' for cell in cells)} |"
        yield ""


def _runs(check: Check) -> str:
    """The runs to which it applies: the first sentence of its `applies`' docstring, without the
    verb."""
    first = (check.applies.__doc__ or "").strip().partition(".\n")[0].split("\n\n")[0]
    return " ".join(first.split()).removeprefix("Applies ").rstrip(".")
