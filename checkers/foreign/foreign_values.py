"""The values in a foreign file, whether EDN or JSON: how they are compared and shown; errors of a
file that is no history."""

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

# Errors of a file that is no history.


_EXCERPT = 60  # characters of a file that an error shows


class UnreadableHistoryError(Exception):
    """The file cannot be judged. Its message is one line: file, line, what was expected, found."""


class MalformedError(Exception):
    """The same while the name of the file is not known; never leaves `read_history`.

    `line` counts from 1; 0 if the fault is the file's as a whole.
    """

    def __init__(self, line: int, expected: str, found: str) -> None:
        super().__init__(f"expected {expected}, found {found}")
        self.line = line


def excerpt(text: str) -> str:
    """The beginning of `text` on one line, quoted, safe to print on a terminal."""
    head = text[: _EXCERPT + 1].split("\n", 1)[0].rstrip("\r")
    if not head.strip():
        return "nothing" if not text.strip() else "an empty line"
    shown = head[:_EXCERPT] + ("..." if len(head) > _EXCERPT else "")
    return "'" + "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown) + "'"


@dataclass(frozen=True, slots=True)
class Word:
    """A keyword (with its colon) or symbol of EDN, as it was written, or a number that is neither
    whole nor a float: a ratio or `1.5M`, or none that can be counted with, such as `##Inf`."""

    text: str


@dataclass(frozen=True, slots=True)
class EdnSet:
    """The rendered elements, sorted."""

    elements: tuple[str, ...]


class Absent(Enum):
    """A missing field, which is not the same as nil."""

    ABSENT = ""


ABSENT = Absent.ABSENT

# A map is keyed by text (in EDN the rendered keys, such as `:type`): any value may be a key there.
# A float is the written number, with every digit of it, and not the nearest float of the machine:
# two that differ in the file differ here.
Value: TypeAlias = "bool | int | Decimal | str | Word | EdnSet | Absent | Items | Map | None"
Items: TypeAlias = tuple["Value", ...]
Map: TypeAlias = dict[str, "Value"]


_WHOLE = r"[+-]?(?:0|[1-9][0-9]{0,399})"
_FLOAT = re.compile(_WHOLE + r"(\.[0-9]{0,4000})?([eE][+-]?[0-9]{1,5})?")
_RATIO = re.compile(rf"({_WHOLE})/([1-9][0-9]{{0,399}})")


def float_of(text: str) -> Decimal | None:
    """The written number, exactly; None if it is none, or has too many digits."""
    return Decimal(text) if _FLOAT.fullmatch(text) else None


def big_decimal_of(text: str) -> Word | None:
    """Clojure's `1.5M`, which is another number than 1.5; trailing zeros make no difference."""
    number = float_of(text[:-1]) if text.endswith("M") else None
    return None if number is None else Word(_digits(number) + "M")


def ratio_of(text: str) -> int | Word | None:
    """Clojure's `2/4`, which is `1/2`, and `4/2`, which is 2; None for others and `1/0`."""
    found = _RATIO.fullmatch(text)
    if found is None:
        return None
    ratio = Fraction(int(found[1]), int(found[2]))
    return ratio.numerator if ratio.denominator == 1 else Word(str(ratio))


def _digits(number: Decimal) -> str:
    """One text for a number, however it was written: `1.5`, `2.0`, `3.0E+400`."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int), "a number"
    text = "".join(map(str, digits)).lstrip("0")
    kept = text.rstrip("0")
    if not kept:
        return "0.0"
    exponent += len(text) - len(kept)
    minus = "-" if sign else ""
    if -20 < exponent < 0:
        padded = kept.rjust(1 - exponent, "0")
        return f"{minus}{padded[:exponent]}.{padded[exponent:]}"
    if 0 <= exponent < 20:
        return f"{minus}{kept}{'0' * exponent}.0"
    return f"{minus}{kept}.0E{exponent:+}"


def render(value: Value) -> str:
    """EDN text that is the same for equal values and differs for others."""
    if type(value) is Word:  # nearly all are, and a match statement asks for everything before
        return value.text
    match value:
        case None:
            return "nil"
        case True:
            return "true"
        case False:
            return "false"
        case int():
            return repr(value)
        case Decimal():
            return _digits(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case Word(text):
            return text
        case Absent():
            return value.value
        case EdnSet(elements):
            return "#{" + " ".join(elements) + "}"
        case tuple():
            return "[" + " ".join(map(render, value)) + "]"
        case _:
            inside = sorted(f"{key} {render(item)}" for key, item in value.items())
            return "{" + ", ".join(inside) + "}"


def plain(value: Value) -> str:
    """For a reader: strings without quotes."""
    return value if isinstance(value, str) else render(value)


def name_of(value: Value) -> str | None:
    """`:read`, `read` and `"read"` are one name; None if it is none."""
    match value:
        case Word(text):
            return text.removeprefix(":")
        case str():
            return value
        case _:
            return None
