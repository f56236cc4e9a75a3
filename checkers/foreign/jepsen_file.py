"""Jepsen's files: `test.jepsen` with its blocks, printed operations, and the directories of its
store.

    "JEPSEN" | version, 4 bytes | where the index of blocks is, 8 bytes | blocks ...

A block is its length, 8 bytes, a CRC-32, 4, its type, 2 in a field of 16, and data. The index (type
1) has the number of the root block, and the number and offset of each. The root is the test as a
map in Fressian (2), in which `:history` refers to a block by number: a big vector (5) that has a
count and names chunks, which are streams of operations (4), or a vector in one piece (2). If a test
broke off, the file has what was written up to the last index. The format is described, though the
files differ in places, in https://jepsen-io.github.io/jepsen/jepsen.store.format.html
"""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from checkers.foreign.edn import forms
from checkers.foreign.entries import NEMESIS, HistoryLine, entry_of
from checkers.foreign.foreign_values import ABSENT, MalformedError, Value, excerpt
from checkers.foreign.fressian import FressianError, FressianReader
from checkers.foreign.jepsen import FIELDS
from checkers.history.events import EventType

MAGIC = b"JEPSEN"

_HEAD = 18  # of the file
_BLOCK_HEAD = 28  # length, checksum, and sixteen bytes for a type of two
_INDEX, _FRESSIAN, _PARTIAL_MAP, _STREAM, _BIG_VECTOR = range(1, 6)
_VERSIONS = (0, 1)
_REFERENCE = "block-ref"
_DEEPEST = 8  # big vectors in big vectors; Jepsen makes one


def read(data: bytes) -> Iterator[HistoryLine]:
    """The operations of the history; `line` counts them from 1. Raises MalformedError."""
    try:
        blocks = _Blocks(data)
        for place, operation in enumerate(blocks.history(), start=1):
            entry = entry_of(place, operation, FIELDS)
            if entry is not None:
                yield entry
    except FressianError as error:
        raise MalformedError(0, "a whole test.jepsen", str(error)) from error


class _Blocks:
    """Blocks by number. Its methods raise MalformedError and FressianError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        version, index = _number(data[6:10]), _number(data[10:_HEAD])
        if len(data) < _HEAD or version not in _VERSIONS:
            found = f"version {version}" if len(data) >= _HEAD else "the end of the file"
            raise MalformedError(0, "a test.jepsen of version 0 or 1", found)
        if index == 0:
            raise MalformedError(0, "a test.jepsen with an index of blocks", "none (truncated?)")
        kind, found_index = self._block(index)
        if kind != _INDEX or len(found_index) % 12 != 4:
            raise MalformedError(0, "an index of blocks", f"a block of type {kind}")
        self._root = _number(found_index[:4])
        self._places: Mapping[int, int] = {
            _number(found_index[at : at + 4]): _number(found_index[at + 4 : at + 12])
            for at in range(4, len(found_index), 12)
        }

    def history(self) -> Iterator[Value]:
        """Its operations."""
        found = self._map(self._root).get(":history")
        if isinstance(found, dict) and found.get(":tag") == _REFERENCE:
            return self._elements(_referred(found), 0)
        return iter(_vector(found))

    def _map(self, number: int) -> dict[str, Value]:
        """A map; if it is in several blocks, the part in the first."""
        kind, data = self._numbered(number)
        if kind not in (_FRESSIAN, _PARTIAL_MAP):
            raise MalformedError(0, "a test as the root of test.jepsen", f"a block of type {kind}")
        value = _only(data[4:] if kind == _PARTIAL_MAP else data)
        if not isinstance(value, dict):
            raise MalformedError(0, "a test as the root of test.jepsen", "no map")
        return value

    def _elements(self, number: int, depth: int) -> Iterator[Value]:
        kind, data = self._numbered(number)
        match kind:
            case 2:
                yield from _vector(_only(data))
            case 4:
                yield from FressianReader(data).values()
            case 5 if depth < _DEEPEST:
                yield from self._chunks(data, depth)
            case _:
                raise MalformedError(0, "a history in test.jepsen", f"a block of type {kind}")

    def _chunks(self, data: bytes, depth: int) -> Iterator[Value]:
        """Each chunk begins where the one before it ends, and together they have the vector's
        count."""
        count, seen = _number(data[:8]), 0
        for at in range(8, len(data), 12):
            if _number(data[at : at + 8]) != seen:
                raise MalformedError(0, f"a chunk from operation {seen + 1} on", "another one")
            for element in self._elements(_number(data[at + 8 : at + 12]), depth + 1):
                seen += 1
                yield element
        if seen != count:
            raise MalformedError(0, f"{count} operations in test.jepsen", f"{seen}")

    def _numbered(self, number: int) -> tuple[int, bytes]:
        if number not in self._places:
            raise MalformedError(0, f"block {number} in the index of test.jepsen", "none of it")
        return self._block(self._places[number])

    def _block(self, at: int) -> tuple[int, bytes]:
        """Type and data of the block at a place, checked."""
        head = self._data[at : at + _BLOCK_HEAD]
        length = _number(head[:8])
        data = self._data[at + _BLOCK_HEAD : at + length]
        if len(head) < _BLOCK_HEAD or len(data) != length - _BLOCK_HEAD:
            raise MalformedError(0, f"a whole block at byte {at}", "the end of the file")
        if zlib.crc32(head[:8] + bytes(4) + head[12:], zlib.crc32(data)) != _number(head[8:12]):
            raise MalformedError(0, f"a block at byte {at} with its checksum", "another checksum")
        return _number(head[12:14]), data


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _only(data: bytes) -> Value:
    for value in islice(FressianReader(data).values(), 1):
        return value
    raise MalformedError(0, "a value in a block of test.jepsen", "none")


def _vector(value: Value) -> tuple[Value, ...]:
    """Nil stands for a history that was never begun."""
    if value is None:
        return ()
    if not isinstance(value, tuple):
        raise MalformedError(0, "a history in test.jepsen", "no vector")
    return value


def _referred(reference: dict[str, Value]) -> int:
    parts = reference[":of"]
    if isinstance(parts, tuple) and len(parts) == 1 and type(parts[0]) is int:
        return parts[0]
    raise MalformedError(0, "a reference to a block", "none")


# The lines that Jepsen prints for each operation, in `history.txt` and in today's `jepsen.log`.
#
#     4	:invoke	:cas	[0 3]
#     2025-01-20 12:08:03,850{GMT}	INFO	[jepsen worker 0] jepsen.util: 0	:ok	:read	3
#     INFO [2019-11-08 06:38:56,868] jepsen worker 4-n5 - jepsen.util 4	:fail	:cas	[0 3]	:no
#
# Process, `:type`, `:f`, the value in EDN and perhaps an error, between tabs (jepsen.print's `prn-
# op` and `op->str`, which older versions have in jepsen.util); blanks are read too, as texts on the
# web have them. EDN escapes tabs and line ends, but an error is printed as it is: the lines after
# one continue it. A log has many other lines, which are skipped. Its order is one of real time,
# though a looser one than the history's: a worker logs a completion after it has handed it over,
# and none if it crashed (jepsen.generator.interpreter).


_TYPES = "invoke|ok|fail|info"
_OPERATION = re.compile(
    rf"""([0-9]{{1,18}}|:{NEMESIS})(\s+):({_TYPES})\s+(:[^\s,()\[\]{{}}";]+|nil)(?:\s+(\S.*))?"""
)
# The logger's prefix before an operation: by the pattern of `jepsen.store`, which on a console has
# no time, and by unilog's own, which older versions had.
_LOGGED = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:,.]+\S*\s+)?INFO\s+\[[^\]]*\]\s+"
    r"(?:[^\t]*?\s-\s)?jepsen\.(?:util|print):?\s"
)
LOG_BEGINS = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:,.]+\S*\s+)?(?:DEBUG|INFO|WARN|ERROR)\s+\["
)
HISTORY_BEGINS = re.compile(rf"(?:[0-9]{{1,18}}|:{NEMESIS})\t:(?:{_TYPES})\t")
_LIKE_ONE = re.compile(rf"(?:[0-9]+|:{NEMESIS})\t:")
_EXPECTED = "'PROCESS :invoke|:ok|:fail|:info :F VALUE' between tabs"


def read_history_txt(text: str) -> Iterator[HistoryLine]:
    """Raises MalformedError."""
    goes_on = False  # the line before ends with an error, which may have more lines
    for number, line in _lines(text):
        found = _OPERATION.fullmatch(line)
        if found is not None:
            entry, goes_on = _entry(number, line, found)
            yield from entry
        elif line.strip() and not goes_on:
            raise MalformedError(number, _EXPECTED, excerpt(line))


def read_jepsen_log(text: str) -> Iterator[HistoryLine]:
    """Raises MalformedError."""
    for number, line in _lines(text):
        logged = _LOGGED.match(line)
        if logged is None:
            continue
        found = _OPERATION.fullmatch(line, logged.end())
        if found is not None:
            yield from _entry(number, line, found)[0]
        elif _LIKE_ONE.match(line, logged.end()):
            raise MalformedError(number, _EXPECTED, excerpt(line[logged.end() :]))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Raises MalformedError if the last line is cut: `13` cut to `1` would look complete."""
    lines = text.split("\n")
    if lines[-1]:
        raise MalformedError(len(lines), "a line that ends", f"{excerpt(lines[-1])} (truncated?)")
    for number, line in enumerate(lines[:-1], start=1):
        yield number, line.removesuffix("\r")


def _entry(number: int, line: str, found: re.Match[str]) -> tuple[list[HistoryLine], bool]:
    """None for the nemesis; and whether the line ends with an error."""
    process, blank, kind, f, rest = found.groups()
    if process == f":{NEMESIS}":
        return [], rest is not None and "\t" in rest
    value, error = _value(number, rest, between_tabs="\t" in blank)
    if f == "nil":
        raise MalformedError(number, "an operation with a name", excerpt(line))
    entry = HistoryLine(
        line=number,
        type=EventType(kind),
        process=int(process),
        f=f.removeprefix(":"),
        key=ABSENT,
        value=value,
    )
    return [entry], error


def _value(number: int, rest: str | None, *, between_tabs: bool) -> tuple[Value, bool]:
    """And whether an error follows it."""
    if rest is None:
        return ABSENT, False
    told, tab, _ = rest.partition("\t")
    try:
        found = [value for _line, value in forms(told, unwrap=False)]
    except MalformedError as error:
        error.line = number
        raise
    if not found or (between_tabs and len(found) > 1):
        raise MalformedError(number, "one value in EDN", excerpt(told))
    return found[0], bool(tab) or len(found) > 1


# The directories that Jepsen leaves: a run, `store/NAME/TIME`, and the store of all runs.
#
#     store/latest -> rethink/20260730T194745.000Z        also `current`, and store/NAME/latest
#     store/rethink/20260730T194745.000Z/history.edn      with history.txt, test.jepsen, jepsen.log
#
# `history.edn` says most; `history.txt` is the same in fewer words. A run that broke off has
# neither: then `jepsen.log` has more of it than `test.jepsen`, which is written in pieces.
# (`jepsen.store`)


_ANALYZED = "results.edn"  # written when all others are complete
_WHOLE = ("history.edn", "history.txt", "test.jepsen", "jepsen.log")
_BROKEN_OFF = ("history.edn", "history.txt", "jepsen.log", "test.jepsen")
_LATEST = "latest"


def history_in(directory: Path) -> Path | None:
    """The best file of a run, or of the newest run of a store; None if there is none."""
    own = _best(directory)
    if own is not None:
        return own
    runs = [run for run in _runs(directory) if _best(run) is not None]
    latest = directory / _LATEST
    if latest.is_dir() and latest.resolve() in {run.resolve() for run in runs}:
        return _best(latest.resolve())
    # Their names are their start times.
    return _best(max(runs, key=lambda run: (run.name, str(run)))) if runs else None


def _best(run: Path) -> Path | None:
    names = _WHOLE if (run / _ANALYZED).is_file() else _BROKEN_OFF
    files = (run / name for name in names)
    return next((path for path in files if path.is_file() and path.stat().st_size), None)


def _runs(directory: Path) -> Sequence[Path]:
    """Directories one or two levels below, except links to others of them."""
    below = [path for path in sorted(directory.iterdir()) if _is_own(path)]
    return [
        *below,
        *(deeper for path in below for deeper in sorted(path.iterdir()) if _is_own(deeper)),
    ]


def _is_own(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
