"""Every check, in the order of a judgement's rows, and what checks promise. A new one is a line
here.

A line is a module; the checks that it defines follow each other as they stand in it.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import groupby

from checkers.check import Check

_MODULES = (
    "registers.linearizable",
    "registers.survival",
    "log.durability",
    "log.checks",
    "log.looked_up",
    "log.committed_offsets",
    "log.processed_once",
    "registers.requests",
    "registers.log_and_clients",
    "run.answers",
    "quorum.disks",
    "quorum.elections",
    "quorum.origins",
    "quorum.read_confirmation",
    "quorum.log_matching",
    "quorum.committed_kept",
    "quorum.watermarks",
    "quorum.snapshots",
    "quorum.stored_snapshots",
    "quorum.voters_followed",
    "quorum.voter_sets",
    "quorum.described_voters",
    "quorum.voters_were",
    "quorum.new_disks",
    "quorum.fsync",
    "quorum.untraced",
    "quorum.leadership",
    "quorum.controllers",
    "quorum.agreement",
    "partitions.acknowledged_and_read",
    "partitions.refusals",
    "partitions.refused_offsets",
    "partitions.replica_agreement",
    "partitions.intact_replicas",
    "partitions.stray_replicas",
    "partitions.partition_watermarks",
    "partitions.joined_isr",
    "partitions.traced_actions",
    "partitions.leaders",
    "partitions.described_partitions",
    "partitions.eligible",
    "partitions.recovered",
    "partitions.leaderless",
    "partitions.acknowledged_topics",
    "partitions.as_asked_for",
    "run.complaints",
    "run.sides_led",
    "run.recovery",
    "run.answered_at_once",
    "run.serving",
    "run.serving_during_faults",
    "run.silent_brokers",
    "run.late_answers",
    "run.whole_isrs",
    "run.sufficiency",
)


def _defined_in(name: str) -> list[Check]:
    module = import_module(f"{__package__}.{name}")
    found = [each for each in vars(module).values() if isinstance(each, Check)]
    return [check for check in found if check.judges.__module__ == module.__name__]


CHECKS: tuple[Check, ...] = tuple(check for name in _MODULES for check in _defined_in(name))


# What the checks promise: `kraft-chaos check --list` and `docs/reference/invariants.md`.


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
