"""One cut for a terminal: the bytes of files before the power failed, on the disk, and after."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaos.audit.bytes_shown import shown_bytes
from chaos.audit.copies import ByteRange
from chaos.audit.next_start import SUSPECT
from chaos.audit.one_cut import FOUND
from chaos.cluster.topology import host_name
from chaos.foreign_files import printable
from chaos.operator_errors import OperatorError, UsageError

_FILES, _ANSWERS = 4, 4
_COPIES = {"said": "the file said", "held": "the disk held", "now": "after the start"}


def is_cut(directory: Path) -> bool:
    return (directory / FOUND).is_file()


def cut_shown(directory: Path, moments: Sequence[str]) -> str:
    """Files that were trusted or refused, if any were; else all that differ. UsageError for a cut
    at another moment, OperatorError for what cannot be read."""
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
    for each in changed[:_ANSWERS]:
        words = f"{each['question']} was {each['acknowledged']}, is {each['answered']}"
        yield f"\n{printable(words)}"
    if len(changed) > _ANSWERS:
        yield f"\nand {len(changed) - _ANSWERS} answers more"


def _void(cut: Mapping[str, Any]) -> str:
    return f", void: {printable(cut['void'])}" if cut["void"] else ""


def _file(each: Mapping[str, Any], directory: Path) -> Iterator[str]:
    """The first range of its bytes that differs, in all three copies of its disk."""
    file, disk = each["file"], host_name(each["node"])
    ranges = file["ranges"] or [{"start": 0, "end": max(file["said"], file["held"])}]
    yield f"\n{disk}/{printable(file['path'])}: {file['status']}; the next start: {each['outcome']}"
    for copy, words in _COPIES.items():
        yield f"  {words}:"
        content = shown_bytes(directory / copy / disk / file["path"], ByteRange(**ranges[0]))
        yield from (f"    {line}" for line in content.splitlines())
