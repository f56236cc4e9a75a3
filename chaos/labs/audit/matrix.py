"""Many cuts as a matrix: file kind, moment, status on the disk, outcome at the start, n of m.

If a kind of file has an outcome in some of the cuts only, the matrix says why. The kernel may have
written out what was not synced, but on its own it writes nothing younger than half a minute. So
that may be the reason if the cuts without the outcome have the file whole, and their disks were
older. In younger ones the program had synced it, or had not written it yet, or had not acknowledged
its content: the cut met the program elsewhere. Between shorter and zeros the kernel always decides:
any sync commits the size of a file with the journal, but not its bytes.

A node that refuses to start although its disk held the whole content of its files has a row as
well, without a file.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from chaos.cluster.interface import PowerCutMode
from chaos.labs.audit.next_start import SUSPECT, WORST, NextStart, Status
from chaos.labs.audit.one_cut import ObservedCut, ObservedFile
from checkers.verdict import counted

# The age from which the kernel writes bytes out unasked: vm.dirty_expire_centisecs, Linux's
# default.
WRITTEN_OUT_AFTER_S = 30.0
NO_FILE = "no file"  # the disk held all files whole, and the node refused to start


class Varies(StrEnum):
    """Why a kind of file has an outcome in some cuts only."""

    NOT = ""  # it has it in all cuts
    KERNEL = "kernel"  # which may have written the file out in the other cuts
    PROGRAM = "program"  # which was elsewhere when its power failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    moment: str
    kind: str
    status: Status
    outcome: NextStart
    seen: int  # cuts with such a file
    of_outcome: int  # cuts with a file of this kind and outcome, whatever its status
    cuts: int  # at that moment, without void ones
    files: int  # in all those cuts
    varies: Varies


def rows_of(cuts: Sequence[ObservedCut]) -> list[Row]:
    """Differences, and refusals without any, in the order of moments; within one, the worst outcome
    first."""
    sound = [cut for cut in cuts if not cut.void]
    found: list[Row] = []
    for moment in dict.fromkeys(cut.moment for cut in sound):
        of_moment = [cut for cut in sound if cut.moment == moment]
        found += sorted(_rows(moment, of_moment), key=_rank)
    return found


def always_same(cuts: Sequence[ObservedCut]) -> list[str]:
    """Kinds of files that every disk held whole."""
    files = [each for cut in cuts if not cut.void for each in cut.files]
    differing = {each.kind for each in files if each.file.differs}
    return sorted({each.kind for each in files} - differing)


def _rows(moment: str, cuts: Sequence[ObservedCut]) -> list[Row]:
    seen: dict[tuple[str, Status, NextStart], list[tuple[int, ObservedFile | None]]] = {}
    for number, cut in enumerate(cuts):
        for each in cut.differences:
            assert each.outcome is not None, "every difference has one"
            key = (each.kind, each.file.status, each.outcome)
            seen.setdefault(key, []).append((number, each))
    for number, cut in enumerate(cuts):
        if cut.refusal and not cut.differences:
            seen.setdefault((NO_FILE, Status.SAME, NextStart.REFUSES), []).append((number, None))
    of_outcome: dict[tuple[str, NextStart], set[int]] = {}
    for (kind, _, outcome), found in seen.items():
        of_outcome.setdefault((kind, outcome), set()).update(number for number, _ in found)
    return [
        Row(
            moment=moment,
            kind=kind,
            status=status,
            outcome=outcome,
            seen=len({number for number, _ in found}),
            of_outcome=len(of_outcome[kind, outcome]),
            cuts=len(cuts),
            files=sum(each is not None for _, each in found),
            varies=_varies(
                kind, [cut for n, cut in enumerate(cuts) if n not in of_outcome[kind, outcome]]
            ),
        )
        for (kind, status, outcome), found in seen.items()
    ]


def _varies(kind: str, others: Sequence[ObservedCut]) -> Varies:
    """Compares the cuts of that moment in which such a file had another outcome."""
    if not others:
        return Varies.NOT
    written_out = any(_may_be_written_out(kind, cut) for cut in others)
    return Varies.KERNEL if written_out else Varies.PROGRAM


def _may_be_written_out(kind: str, cut: ObservedCut) -> bool:
    files = [each for each in cut.files if each.kind == kind]
    whole = bool(files) and not any(each.file.differs for each in files)
    return whole and cut.lived_s >= WRITTEN_OUT_AFTER_S


def _rank(row: Row) -> tuple[int, str, str]:
    return WORST.index(row.outcome), row.kind, row.status


# The results of all cuts of an audit, as a table for a terminal and as JSON.


SUSPICIOUS, VOID = 1, 3  # exit codes
_FEW = 3  # shown answers of one cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """The results of all cuts."""

    target: str
    mode: PowerCutMode
    flushed: bool
    cuts: list[ObservedCut] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        return rows_of(self.cuts)

    @property
    def title(self) -> str:
        flushed = ", flushed" if self.flushed else ""
        return f"What the disks of {self.target} held, {self.mode}{flushed}"

    @property
    def exit_code(self) -> int:
        refused = any(cut.refusal for cut in self.cuts if not cut.void)
        if refused or any(row.outcome in SUSPECT for row in self.rows):
            return SUSPICIOUS
        return VOID if any(cut.void for cut in self.cuts) else 0


_WHY = {
    Varies.KERNEL: f"the disk held the file whole, and was older than {WRITTEN_OUT_AFTER_S:g} s: "
    "the kernel may have written it out",
    Varies.PROGRAM: "the program had synced the file, or not written it, or acknowledged less "
    "when its power failed, and the kernel had no time to write it out",
}
_HEADINGS = ("moment", "file", "on the disk", "n of m", "the next start")


def as_text(found: Audited) -> str:
    shown = _table(found.rows) if found.rows else ["no file differs"]
    refused = [f"{cut.moment}: {cut.refusal}" for cut in found.cuts if cut.refusal and not cut.void]
    void = [f"{cut.moment}: void, {cut.void}" for cut in found.cuts if cut.void]
    same = f"always the same: {', '.join(always_same(found.cuts))}"
    told = [*_changed(found.cuts), *dict.fromkeys(refused), *void]
    return "\n".join([*shown, *_variation(found.rows), same, *told])


def _table(rows: Sequence[Row]) -> list[str]:
    lines = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def in_how_many(row: Row) -> str:
    """The number of its cuts; with ~ and the reason if only some cuts have it."""
    return f"{row.seen} of {row.cuts}{f' ~{row.varies}' if row.varies else ''}"


def _variation(rows: Sequence[Row]) -> Iterator[str]:
    """How many rows are the same in all cuts, if there are several, and why others are not."""
    if max((row.cuts for row in rows), default=0) < 2:
        return
    count = {each: sum(row.varies is each for row in rows) for each in Varies}
    yield f"the same in all cuts: {count[Varies.NOT]} of {counted(len(rows), 'row')}"
    for each, why in _WHY.items():
        if count[each]:
            yield f"~{each}: {counted(count[each], 'row')}; in the other cuts {why}"


def _changed(cuts: Sequence[ObservedCut]) -> Iterator[str]:
    """Promises with another answer now: a few for each cut."""
    for cut in cuts:
        broken = [answer for answer in cut.answers if answer.broken]
        for each in broken[:_FEW]:
            was, now = each.acknowledged, each.answered
            yield f"{cut.moment}: {each.question} was {was}, is {now}"
        if len(broken) > _FEW:
            yield f"{cut.moment}: and {len(broken) - _FEW} more answers; see {cut.directory}"


def _cells(row: Row) -> Sequence[str]:
    return row.moment, row.kind, row.status, in_how_many(row), row.outcome


def as_json(found: Audited) -> str:
    content: Mapping[str, object] = {
        "target": found.target,
        "mode": found.mode,
        "flushed": found.flushed,
        "rows": [asdict(row) for row in found.rows],
        "same": always_same(found.cuts),
        "cuts": [
            {
                "moment": cut.moment,
                "directory": cut.directory,
                "void": cut.void,
                "lived_s": cut.lived_s,
                "refusal": cut.refusal,
                "changed": [asdict(answer) for answer in cut.answers if answer.changed],
            }
            for cut in found.cuts
        ],
    }
    return json.dumps(content, indent=2)
