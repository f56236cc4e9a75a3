"""What all cuts of an audit have shown, as a table for a terminal and as JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from chaos.audit.matrix import WRITTEN_OUT_AFTER_S, Row, Varies, always_same, rows_of
from chaos.audit.next_start import SUSPECT
from chaos.audit.one_cut import ObservedCut
from chaos.cluster.interface import PowerCutMode
from checkers.counted import counted

SUSPICIOUS, VOID = 1, 3  # exit codes
_FEW = 3  # answers that are shown of one cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What all cuts have shown."""

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
    """Of its cuts; with ~ and why where it came about in some of them only."""
    return f"{row.seen} of {row.cuts}{f' ~{row.varies}' if row.varies else ''}"


def _variation(rows: Sequence[Row]) -> Iterator[str]:
    """How many rows are the same in all cuts, where there are several, and why others are not."""
    if max((row.cuts for row in rows), default=0) < 2:
        return
    count = {each: sum(row.varies is each for row in rows) for each in Varies}
    yield f"the same in all cuts: {count[Varies.NOT]} of {counted(len(rows), 'row')}"
    for each, why in _WHY.items():
        if count[each]:
            yield f"~{each}: {counted(count[each], 'row')}; in the other cuts {why}"


def _changed(cuts: Sequence[ObservedCut]) -> Iterator[str]:
    """What was promised and is another answer now: of each cut a few."""
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
