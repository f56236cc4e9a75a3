"""How words of a command line become values; what makes no sense is refused with a reason."""

import argparse
import math
import re
from collections.abc import Callable, Iterable

from chaos.nemesis.named import FAULTS


def listed(names: Iterable[str]) -> str:
    """Fault names, a line for each kind."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(name.rpartition("-")[0], []).append(name)
    return "\n".join(f"  {' '.join(of_kind)}" for of_kind in kinds.values())


def fault(text: str) -> str:
    if text not in FAULTS:
        raise argparse.ArgumentTypeError(f"no fault {text!r}; there are\n{listed(FAULTS)}")
    return text


def whole(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers within bounds."""

    def read(text: str) -> int:
        if not re.fullmatch(r"-?\d+", text, re.ASCII) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} to {most}")
        return int(text)

    return read


def bounded(least: float, most: float, unit: str) -> Callable[[str], float]:
    """A reader of numbers within bounds."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not {unit} from {least:g} to {most:g}")
        return number

    return read


def name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", text):
        raise argparse.ArgumentTypeError("small letters, digits and hyphens only")
    return text
