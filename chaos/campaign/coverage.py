"""What was struck, in which role, and how the quorum stood: a campaign's proof of having hurt. And
what checks looked at: its proof of having judged."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from chaos.campaign.standing import Quorum, Role, Standing
from checkers.history.sealed_run import Run
from checkers.verdict import Judgement


class Cell(NamedTuple):
    """`kind` is the fault's, with the mode where that makes it another."""

    kind: str
    role: str
    quorum: str

    def __str__(self) -> str:
        return "|".join(self)


_INVARIANT = "invariant:"
_IMPOSSIBLE = {(Role.LEADER, Quorum.ELECTING)}
COLUMNS: tuple[tuple[Quorum, Role], ...] = tuple(
    (quorum, role)
    for quorum, role in product(Quorum, (Role.LEADER, Role.FOLLOWER, Role.CANDIDATE))
    if (role, quorum) not in _IMPOSSIBLE
)


def struck(run: Run) -> Counter[Cell]:
    """The nodes that faults hit in a run; only faults that bit count."""
    standing = Standing(run)
    found: Counter[Cell] = Counter()
    for fault in run.tables["faults"].to_pylist():
        if fault["bit"] is not True:
            continue
        kind = label(fault["kind"], json.loads(fault["params"]))
        quorum = standing.quorum(fault["t_start"])
        for node in fault["nodes"]:
            found[Cell(kind, standing.role(node, fault["t_start"]), quorum)] += 1
    return found


def looked_at(judgement: Judgement, run: Run | None) -> Counter[str]:
    """By check that judged a run, and by invariant of the simulator that watched it, at how many
    things it looked."""
    found: Counter[str] = Counter()
    for row in judgement.results:
        if not row.check.startswith(_INVARIANT):
            found[row.check] += row.looked_at
    for name, count in run.info.looked_at.items() if run is not None else ():
        found[f"{_INVARIANT}{name}"] += count
    return found


def as_rules(counts: Mapping[str, int], runs: int) -> str:
    """How much each rule looked at in all runs; and which of them looked at nothing."""
    width = max(map(len, counts), default=0)
    lines = [f"  {name.ljust(width)}  {counts[name]:,}" for name in sorted(counts) if counts[name]]
    nothing = sorted(name for name, count in counts.items() if not count)
    lines.insert(0, f"looked at in {runs:,} runs, by check and invariant:")
    if nothing:
        lines.append(f"looked at nothing, {len(nothing)} of {len(counts)}: {', '.join(nothing)}")
    return "\n".join(lines)


def label(kind: str, parameters: Mapping[str, str]) -> str:
    """`power-off torn`: the kind of a fault, and what makes it another fault."""
    words = [kind, *(parameters[name] for name in ("mode", "ways", "disks") if name in parameters)]
    return " ".join(word for word in words if word != "both")


def cell_from(text: str) -> Cell:
    """What `str` of a cell gave."""
    return Cell(*text.split("|"))


def empty(counts: Mapping[Cell, int], kinds: Iterable[str]) -> list[Cell]:
    """The cells that a campaign with these kinds of faults could have filled, and did not."""
    return [
        cell
        for kind in kinds
        for quorum, role in COLUMNS
        if not counts.get(cell := Cell(kind, role, quorum))
    ]


def as_text(counts: Mapping[Cell, int], kinds: Sequence[str]) -> str:
    """The table, and the names of its empty cells."""
    head = [["", *(quorum.value for quorum, _ in COLUMNS), ""]]
    head += [["nodes hit by", *(role.value for _, role in COLUMNS), "down"]]
    lines = head + [[kind, *_row(counts, kind)] for kind in kinds]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head[0]))]
    table = ["  ".join(_aligned(line, widths)).rstrip() for line in lines]
    return "\n".join([*table, *_missing(empty(counts, kinds), len(kinds))])


def _row(counts: Mapping[Cell, int], kind: str) -> list[str]:
    cells = [Cell(kind, role, quorum) for quorum, role in COLUMNS]
    down = sum(n for cell, n in counts.items() if cell.kind == kind and cell.role == Role.DOWN)
    return [*(str(counts.get(cell, 0) or ".") for cell in cells), str(down or ".")]


def _aligned(line: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
    yield line[0].ljust(widths[0])
    for cell, width in zip(line[1:], widths[1:], strict=True):
        yield cell.rjust(width)


def _missing(cells: Sequence[Cell], kinds: int) -> list[str]:
    if not cells:
        return [f"no cell of {kinds * len(COLUMNS)} is empty"]
    by_kind: dict[str, list[str]] = {}
    for cell in cells:
        by_kind.setdefault(cell.kind, []).append(f"{cell.quorum}/{cell.role}")
    named = [f"  {kind}: {', '.join(where)}" for kind, where in by_kind.items()]
    return [f"empty, {len(cells)} of {kinds * len(COLUMNS)} cells:", *named]
