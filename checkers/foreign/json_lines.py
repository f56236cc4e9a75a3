"""JSON: an object per line, or one array of all. Two vocabularies, recognised by the first object:

    {"type": "invoke", "process": 1, "f": "cas", "key": "x", "value": [0, 3]}
    {"type":"invoke","i":7,"p":3,"f":"write","k":"r-1","v":42,"t":123}

The first is Jepsen's, `key` only if there are several; the second is that of our own
`events-*.jsonl.zst` (`checkers.history.events`), of which faults, notes and probes are skipped.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from typing import NoReturn

from checkers.foreign.entries import NO_OPERATIONS, FieldNames, HistoryLine, entry_of
from checkers.foreign.foreign_errors import MalformedError, excerpt
from checkers.foreign.foreign_values import Value, float_of

DEEPEST = 64  # nested collections

_JEPSEN = FieldNames(
    type="type", process="process", client="client", f="f", key="key", value="value"
)
_EVENTS = FieldNames(type="type", process="p", client="p", f="f", key="k", value="v")
_BLANK = re.compile(r"[ \t\r\n]*")


def is_own(text: str) -> bool:
    """Whether the first object has our own vocabulary. Raises MalformedError."""
    return any(
        isinstance(form, dict) and (_EVENTS.process in form or _is_no_operation(form))
        for form in first(text)
    )


def read(text: str) -> Iterator[HistoryLine]:
    """Raises MalformedError."""
    own = is_own(text)
    for line, form in objects(text):
        if own and _is_no_operation(form):
            continue
        entry = entry_of(line, form, _EVENTS if own else _JEPSEN)
        if entry is None:
            continue
        yield replace(entry, own=form) if own and isinstance(form, dict) else entry


def first(text: str) -> list[Value]:
    """The first value of a text, if it has any. Raises MalformedError."""
    return [form for _line, form in islice(objects(text), 1)]


def _is_no_operation(form: Value) -> bool:
    return isinstance(form, dict) and form.get("type") in NO_OPERATIONS


def objects(text: str) -> Iterator[tuple[int, Value]]:
    """The values at the top, or those in an array that is the whole file; with their lines."""
    at = _skip_blank(text, 0)
    array = text.startswith("[", at)
    at = _skip_blank(text, at + 1) if array else at
    line, counted = 1, 0
    while at < len(text) and not (array and text[at] == "]"):
        line, counted = line + text.count("\n", counted, at), at
        form, at = _decode(text, at, line)
        yield line, form
        at = _skip_blank(text, at)
        if array:
            at = _skip_comma(text, at)
    if array:
        _require_end(text, at)


def _skip_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()


def _skip_comma(text: str, at: int) -> int:
    """Past the comma after an element; a closing bracket stays."""
    if text.startswith("]", at) or at == len(text):
        return at
    after = _skip_blank(text, at + 1)
    if text[at] != "," or text.startswith("]", after):
        line = text.count("\n", 0, at) + 1
        raise MalformedError(line, "a ',' and another object, or ']'", excerpt(text[at:]))
    return after


def _require_end(text: str, at: int) -> None:
    line = text.count("\n", 0, at) + 1
    if at == len(text):
        raise MalformedError(line, "']' at the end", "the end of the file (truncated?)")
    if rest := text[at + 1 :].strip():
        raise MalformedError(line, "the end of the file after its array", excerpt(rest))


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _exact(text: str) -> Decimal:
    number = float_of(text)
    if number is None:
        raise ValueError(f"{text} has more digits than any number of a history")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_exact)


def _decode(text: str, at: int, line: int) -> tuple[Value, int]:
    try:
        form, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        if text[error.pos :].strip():
            raise MalformedError(error.lineno, "JSON", excerpt(text[error.pos :])) from error
        raise MalformedError(
            line, "a whole JSON object", "the end of the file (truncated?)"
        ) from error
    except (ValueError, RecursionError) as error:
        raise MalformedError(line, "JSON", excerpt(text[at:])) from error
    if isinstance(form, dict):
        for name, value in form.items():
            if isinstance(value, list | dict):
                form[name] = _frozen(value, line, 1)
        return form, end
    return _frozen(form, line, 0), end


def _frozen(value: object, line: int, depth: int) -> Value:
    """Lists as tuples, at every depth."""
    if depth > DEEPEST:
        raise MalformedError(line, f"at most {DEEPEST} nested collections", "more")
    match value:
        case None | bool() | int() | Decimal() | str():
            return value
        case list():
            return tuple(_frozen(item, line, depth + 1) for item in value)
        case dict():
            return {str(key): _frozen(item, line, depth + 1) for key, item in value.items()}
        case _:
            raise AssertionError(value)
