"""The page of an audit: the matrix, with cells that link to the differing bytes; one cut as
text."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaos.cluster.topology import host_name
from chaos.errors import OperatorError, UsageError
from chaos.labs.audit.matrix import NO_FILE, Row, always_same, in_how_many, rows_of
from chaos.labs.audit.next_start import SUSPECT, ByteRange
from chaos.labs.audit.one_cut import FOUND, ObservedCut, ObservedFile
from chaos.run.foreign_files import printable
from checkers.page.document import Child, Markup, document, joined, section, tag
from checkers.page.page_tables import table
from checkers.verdict import counted

# Bytes of a file for people: position, hexadecimal, and text.


_WIDTH, _LINES = 16, 8


def shown_bytes(path: Path, part: ByteRange) -> str:
    """The beginning of a range, sixteen bytes a line; missing bytes are marked."""
    if not path.is_file():
        return "no such file"
    start = part.start // _WIDTH * _WIDTH
    with path.open("rb") as file:
        file.seek(start)
        content = file.read(min(part.end - start, _WIDTH * _LINES))
    lines = [_line(start + at, content[at : at + _WIDTH]) for at in range(0, len(content), _WIDTH)]
    left = part.end - start - len(content)
    if len(content) == _WIDTH * _LINES and left > 0:
        lines.append(f"... {left:,} bytes more of this range")
    elif left > 0:
        lines.append(f"the file ends at {start + len(content):,}")
    return "\n".join(lines)


def _line(at: int, content: bytes) -> str:
    text = "".join(chr(each) if 0x20 <= each < 0x7F else "." for each in content)
    return f"{at:08x}  {content.hex(' '):<{3 * _WIDTH - 1}}  {text}"


_RANGES = 2  # shown files
_ANSWERS = 40
_Key = tuple[str, str]  # moment, file kind


def render_audit(title: str, cuts: Sequence[ObservedCut], out: Path) -> str:
    """A self-contained page for `out`, which also has the copies of the disks."""
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
    """Empty if no node has such a file."""
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
    linked: set[str] = set()  # from the matrix, if no bytes can be shown
    for cut in cuts:
        if not cut.refusal:
            continue
        words = tag("pre", cut.refusal)
        if not cut.differences and cut.moment not in linked:
            linked.add(cut.moment)
            words = tag("pre", cut.refusal, id=_anchor(cut.moment, NO_FILE))
        yield section(f"{cut.moment}: refused to start", words)


def _closeups(cuts: Sequence[ObservedCut], out: Path) -> Iterator[Markup]:
    """One file for each cell: the first of the first cut that has one."""
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


# One cut for a terminal: the bytes of files before the power failed, on the disk, and after.


_FILES, _SHOWN_ANSWERS = 4, 4
_COPIES = {"said": "the file said", "held": "the disk held", "now": "after the start"}


def is_cut(directory: Path) -> bool:
    return (directory / FOUND).is_file()


def cut_shown(directory: Path, moments: Sequence[str]) -> str:
    """Files that were trusted or refused, if there are any; else all that differ. UsageError for a
    cut at another moment, OperatorError for unreadable files."""
    try:
        cut = json.loads((directory / FOUND).read_bytes())
        if cut["moment"] not in moments:
            shown = " and ".join(moments) or "no moment of an audit"
            raise UsageError(f"{directory} is a cut at {cut['moment']}; it is shown by {shown}")
        return "\n".join(_lines(cut, directory))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OperatorError(
            f"{directory / FOUND} cannot be read ({type(error).__name__})\n"
            "  try: kraft-chaos audit --target kafka, which makes another"
        ) from error


def _lines(cut: Mapping[str, Any], directory: Path) -> Iterator[str]:
    yield f"{directory}: the power failed at {cut['moment']}{_void(cut)}"
    differing = [each for each in cut["files"] if each["outcome"] is not None]
    shown = [each for each in differing if each["outcome"] in SUSPECT] or differing
    for each in shown[:_FILES]:
        yield from _file(each, directory)
    if len(shown) > _FILES:
        yield f"\nand {len(shown) - _FILES} files more"
    yield from (f"\n{printable(line)}" for line in cut["refusal"].splitlines())
    changed = [each for each in cut["answers"] if each["acknowledged"] != each["answered"]]
    for each in changed[:_SHOWN_ANSWERS]:
        words = f"{each['question']} was {each['acknowledged']}, is {each['answered']}"
        yield f"\n{printable(words)}"
    if len(changed) > _SHOWN_ANSWERS:
        yield f"\nand {len(changed) - _ANSWERS} answers more"


def _void(cut: Mapping[str, Any]) -> str:
    return f", void: {printable(cut['void'])}" if cut["void"] else ""


def _file(each: Mapping[str, Any], directory: Path) -> Iterator[str]:
    """The first range of differing bytes, in all three copies of its disk."""
    file, disk = each["file"], host_name(each["node"])
    ranges = file["ranges"] or [{"start": 0, "end": max(file["said"], file["held"])}]
    yield f"\n{disk}/{printable(file['path'])}: {file['status']}; the next start: {each['outcome']}"
    for copy, words in _COPIES.items():
        yield f"  {words}:"
        content = shown_bytes(directory / copy / disk / file["path"], ByteRange(**ranges[0]))
        yield from (f"    {line}" for line in content.splitlines())
