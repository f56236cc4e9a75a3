"""Generates `docs/reference/faults.md` from the kinds of faults. Pure.

A kind's docstring is its text: what it does, then one paragraph each that begins with `Steps:`,
`Evidence:` and `Limits:`. Everything else follows from its parameters, needs and harm.
"""

import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from enum import StrEnum
from itertools import product
from types import NoneType
from typing import Any, get_args, get_type_hints

from chaos.nemesis.fault import Fault, Harm, with_parameters
from chaos.nemesis.kinds import KINDS
from chaos.nemesis.victims import RandomNode

LABELS = ("Steps", "Evidence", "Limits")
_HARM = {
    "ends_process": "ends the process",
    "unclean": "uncleanly",
    "may_lose": "may lose bytes that were not synced",
    "damages_bytes": "may damage synced bytes",
    "wipes": "gives a new, empty disk",
    "halts": "its victims do nothing meanwhile",
    "cuts": "nothing passes along its links",
    "degrades": "makes something slow or unsure",
    "shifts_clock": "clocks are wrong meanwhile",
    "syncs": "makes durable what was written",
}


def manual() -> str:
    """A table of all kinds, and a section for each module of them."""
    families: dict[str, list[type[Fault]]] = {}
    for kind in KINDS:
        families.setdefault(kind.__module__, []).append(kind)
    sections = (_family(name, kinds) for name, kinds in sorted(families.items()))
    return "\n".join([*_table(), "", *(line for section in sections for line in section)])


def paragraphs(kind: type[Fault]) -> list[str]:
    """The paragraphs of a docstring, each on one line."""
    return [" ".join(each.split()) for each in (inspect.getdoc(kind) or "").split("\n\n")]


def _table() -> Iterator[str]:
    yield "| kind | parameters | what a cluster must be able to do | what it may do |"
    yield "|---|---|---|---|"
    for kind in KINDS:
        variants = list(_variants(kind))
        names = ", ".join(f"`{name}`" for name in kind.kinds)
        needs = _conditional(variants, lambda fault: set(fault.needs))
        harm = _conditional(variants, lambda fault: _words(fault.harm))
        yield f"| {names} | {_parameters(kind) or '-'} | {needs or '-'} | {harm or '-'} |"


def _family(module: str, kinds: Sequence[type[Fault]]) -> Iterator[str]:
    name = module.rpartition(".")[2]
    yield f"## {name.capitalize()}"
    yield ""
    yield " ".join((inspect.getdoc(sys.modules[module]) or "").split())
    for kind in kinds:
        yield ""
        yield f"### {', '.join(f'`{each}`' for each in kind.kinds)}"
        for paragraph in paragraphs(kind):
            label, colon, text = paragraph.partition(": ")
            yield ""
            yield (
                f"**{label}.** {text[:1].upper()}{text[1:]}"
                if colon and label in LABELS
                else paragraph
            )
    yield ""


def _parameters(kind: type[Fault]) -> str:
    hints = get_type_hints(kind)
    told = []
    for each in fields(kind):
        if each.name != "victim":
            values = [value for value in _choices(hints[each.name]) if value is not None]
            text = " / ".join(map(str, values)) if isinstance(values[0], StrEnum) else "number"
            usual = "" if each.default in (MISSING, None, 0) else f", else {each.default}"
            told.append(f"`{each.name}` ({text}{usual})")
    return ", ".join(told)


Variant = tuple[dict[str, Any], Fault]


def _variants(kind: type[Fault]) -> Iterator[Variant]:
    """The kind with every value of its parameters; for a number, 0 and some other value."""
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind) if each.name != "victim"]
    for values in product(*(_choices(hints[name]) for name in names)):
        chosen = dict(zip(names, values, strict=True))
        words = {name: str(value) for name, value in chosen.items() if value is not None}
        yield chosen, with_parameters(kind, RandomNode(), words)


def _choices(hint: Any) -> list[Any]:
    found: list[Any] = []
    for each in get_args(hint) or (hint,):
        if each is NoneType:
            found.append(None)
        else:
            found += list(each) if issubclass(each, StrEnum) else [each(0), each(1)]
    return found


def _words(harm: Harm) -> set[str]:
    return {_HARM[name] for name, does in harm.as_columns().items() if does}


def _conditional(variants: Sequence[Variant], words_of: Any) -> str:
    """What holds for every variant, and what holds for some, with the values that decide it."""
    every = [words_of(fault) for _, fault in variants]
    told = []
    for word in sorted(set().union(*every), key=_rank):
        chosen = [
            values for (values, _), words in zip(variants, every, strict=True) if word in words
        ]
        told.append(word if len(chosen) == len(variants) else f"{word} ({_why(variants, chosen)})")
    return ", ".join(told)


def _rank(word: str) -> tuple[int, str]:
    """The order of `_HARM`; others by name."""
    known = list(_HARM.values())
    return (known.index(word) if word in known else len(known), word)


def _why(variants: Sequence[Variant], chosen: Sequence[dict[str, Any]]) -> str:
    """The one parameter that decides, with its values."""
    for name in variants[0][0]:
        deciding = {values[name] for values in chosen}
        if sum(values[name] in deciding for values, _ in variants) == len(chosen):
            shown = [str(value) for value in deciding if isinstance(value, StrEnum)]
            return f"`{name}` {' / '.join(sorted(shown))}" if shown else f"with `{name}`"
    raise AssertionError(f"no single parameter decides: {chosen}")
