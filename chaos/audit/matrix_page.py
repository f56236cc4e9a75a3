"""The page of an audit: the matrix, with cells that link to the differing bytes."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from chaos.audit.audited import in_how_many
from chaos.audit.bytes_shown import shown_bytes
from chaos.audit.copies import ByteRange
from chaos.audit.matrix import NO_FILE, Row, always_same, rows_of
from chaos.audit.next_start import SUSPECT
from chaos.audit.one_cut import ObservedCut, ObservedFile
from checkers.counted import counted
from checkers.page.document import document, section
from checkers.page.markup import Child, Markup, joined, tag
from checkers.page.page_tables import table

_RANGES = 2  # of a file, that are shown
_ANSWERS = 40
_Key = tuple[str, str]  # moment, file kind


def render_audit(title: str, cuts: Sequence[ObservedCut], out: Path) -> str:
    """A self-contained page, to lie in `out`, below which the copies of the disks are."""
    rows = rows_of(cuts)
    bad = [row for row in rows if row.outcome in SUSPECT]
    said = f"{counted(len(cuts), 'power cut')}, {counted(len(bad), 'row')} trusted or refused"
    body = (
        tag(
            "header",
            tag("h1", tag("span", title, class_="what")),
            tag("p", said, class_="sentence"),
            tag("p", _LEGEND, class_="soft"),
            class_="invalid" if bad else "valid",
        ),
        section("What the disks held, and what the next start made of it", _matrix(rows, cuts)),
        tag("p", f"Always as they said: {', '.join(always_same(cuts))}.", class_="soft"),
        section("Answers that changed", _answers(cuts)),
        *_refusals(cuts),
        section("Bytes", *_closeups(cuts, out)),
    )
    return document(title, body)


_LEGEND = (
    "Rows are kinds of files, columns are moments; a cell has what the disk held of such a file "
    "after the power cut, in how many of how many cuts, and what the node made of it. Marked ~ is "
    "what came about in some of the cuts only: ~kernel where the kernel may have written the file "
    "out in the others, ~program where they met the program elsewhere."
)


def _matrix(rows: Sequence[Row], cuts: Sequence[ObservedCut]) -> Markup:
    sound = [cut for cut in cuts if not cut.void]
    moments = list(dict.fromkeys(cut.moment for cut in sound))
    there = {(cut.moment, each.kind) for cut in sound for each in cut.files}
    cells: dict[_Key, list[Row]] = {}
    for row in rows:
        cells.setdefault((row.moment, row.kind), []).append(row)
    lines = [
        ("", [kind, *(_cell(cells.get((m, kind), []), (m, kind) in there) for m in moments)])
        for kind in sorted({row.kind for row in rows})
    ]
    return table([("file", "fixed"), *((moment, "narrow") for moment in moments)], lines)


def _cell(rows: Sequence[Row], is_there: bool) -> Markup:
    """Empty where no node has such a file."""
    if rows or not is_there:
        return joined(*(tag("p", _link(row)) for row in rows))
    return tag("p", "same", class_="soft")


def _link(row: Row) -> Markup:
    words = f"{row.status}, {in_how_many(row)}: {row.outcome}"
    bad = "word invalid" if row.outcome in SUSPECT else None
    return tag("a", words, href=f"#{_anchor(row.moment, row.kind)}", class_=bad)


def _anchor(moment: str, kind: str) -> str:
    return f"{moment}-{kind}".replace(" ", "-").replace("'", "")


_ANSWER_COLUMNS = (
    ("moment", "fixed"),
    ("question", "wide"),
    ("acknowledged", "middling"),
    ("after the cut", "middling"),
    ("promised", "fixed"),
)


def _answers(cuts: Sequence[ObservedCut]) -> Markup:
    lines: list[tuple[str, Sequence[Child]]] = [
        (
            "bad" if answer.broken else "",
            [
                cut.moment,
                answer.question,
                answer.acknowledged,
                answer.answered,
                "yes" if answer.promised else "no",
            ],
        )
        for cut in cuts
        for answer in [each for each in cut.answers if each.changed][:_ANSWERS]
    ]
    return table(_ANSWER_COLUMNS, lines) if lines else tag("p", "None did.", class_="soft")


def _refusals(cuts: Sequence[ObservedCut]) -> Iterator[Markup]:
    linked: set[str] = set()  # by the matrix, where no bytes can be shown
    for cut in cuts:
        if not cut.refusal:
            continue
        words = tag("pre", cut.refusal)
        if not cut.differences and cut.moment not in linked:
            linked.add(cut.moment)
            words = tag("pre", cut.refusal, id=_anchor(cut.moment, NO_FILE))
        yield section(f"{cut.moment}: refused to start", words)


def _closeups(cuts: Sequence[ObservedCut], out: Path) -> Iterator[Markup]:
    """Of each cell one file: the first of the first cut that has one."""
    first: dict[_Key, tuple[ObservedCut, ObservedFile]] = {}
    for cut in cuts:
        for each in () if cut.void else cut.differences:
            first.setdefault((cut.moment, each.kind), (cut, each))
    for (moment, kind), (cut, each) in first.items():
        yield tag("h3", f"{moment}: {kind}, {each.file.status}", id=_anchor(moment, kind))
        yield _closeup(cut, each, out)


def _closeup(cut: ObservedCut, each: ObservedFile, out: Path) -> Markup:
    copies = {
        "said": f"{cut.directory}/said/node-{each.node}/{each.file.path}",
        "on the disk": f"{cut.directory}/held/node-{each.node}/{each.file.path}",
        "after the start": f"{cut.directory}/now/node-{each.node}/{each.file.path}",
    }
    size = f"{each.file.said:,} bytes said, {each.file.held:,} on the disk"
    ranges = each.file.ranges[:_RANGES] or (ByteRange(start=0, end=each.file.said),)
    more = len(each.file.ranges) - len(ranges)
    return joined(
        tag("p", tag("code", each.file.path), f", node {each.node}: {size}"),
        *(_range(copies, part, out) for part in ranges),
        tag("p", f"and {counted(more, 'range')} more", class_="soft") if more > 0 else None,
    )


def _range(copies: Mapping[str, str], part: ByteRange, out: Path) -> Markup:
    return joined(
        *(
            joined(
                tag("p", tag("a", name, href=path) if (out / path).is_file() else name),
                tag("pre", shown_bytes(out / path, part)),
            )
            for name, path in copies.items()
        )
    )
