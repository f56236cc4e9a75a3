"""A need of the harness as a value, and the error of a set-up step."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

Tell = Callable[[str], None]


class Found(StrEnum):
    FOUND = "found"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that the harness needs on the machine, and its state."""

    name: str
    found: Found
    seen: str  # what was looked at, and the result
    mend: str = ""  # the next command, if it is missing
    without: str = ""  # what still works without it
    optional: bool = False  # needed only on request

    @property
    def ok(self) -> bool:
        return self.found is Found.FOUND


class SetupError(Exception):
    """A need that could not be met: what failed, why, the next command, and what works without
    it."""

    def __init__(self, what: str, *, why: str, mend: str, without: str = "") -> None:
        lines = [what, f"  why: {why}", f"  try: {mend}"]
        if without:
            lines.append(f"  without it: {without}")
        super().__init__("\n".join(lines))
        self.what = what
        self.why = why
        self.mend = mend
        self.without = without
