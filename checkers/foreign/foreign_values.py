"""What stands in a foreign file, whether it was EDN or JSON, and how it is told apart and shown."""

import json
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Word:
    """A keyword (with its colon), symbol or ratio of EDN, as it was written."""

    text: str


@dataclass(frozen=True, slots=True)
class EdnSet:
    """The rendered elements, sorted."""

    elements: tuple[str, ...]


class Absent(Enum):
    """What a line does not have, which is not the same as nil."""

    ABSENT = ""


ABSENT = Absent.ABSENT

# A map is keyed by text (in EDN the rendered keys, such as `:type`): there any value may be a key.
Value: TypeAlias = "bool | int | float | str | Word | EdnSet | Absent | Items | Map | None"
Items: TypeAlias = tuple["Value", ...]
Map: TypeAlias = dict[str, "Value"]


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
        case int() | float():
            return repr(value)
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
