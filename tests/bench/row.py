"""One measured bar."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`value` is None where it could not be measured; then `note` says why and nothing holds."""

    name: str
    value: float | None
    unit: str
    bar: float | None = None
    better: Literal["less", "more"] = "less"
    note: str = ""

    @property
    def holds(self) -> bool | None:
        """None for a number that has no bar and is printed for comparison."""
        if self.bar is None:
            return None
        if self.value is None:
            return False
        return self.value <= self.bar if self.better == "less" else self.value >= self.bar

    def as_json(self) -> dict[str, float | str | bool | None]:
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "bar": self.bar,
            "holds": self.holds,
            "note": self.note,
        }


def table(rows: Sequence[Row]) -> str:
    """The rows as a reader sees them: name, value, bar, and whether it holds."""
    width = max(len(row.name) for row in rows)
    return "\n".join(_line(row, width) for row in rows)


def _line(row: Row, width: int) -> str:
    value = (
        "-"
        if row.value is None
        else f"{row.value:,.3g}"
        if row.value < 100
        else f"{row.value:,.0f}"
    )
    sign = "<=" if row.better == "less" else ">="
    bar = "" if row.bar is None else f"{sign} {row.bar:,g}"
    holds = {True: "holds", False: "MISSED", None: ""}[row.holds]
    return (
        f"{row.name:<{width}}  {value:>9} {row.unit:<12} {bar:<10} {holds:<7} {row.note}".rstrip()
    )
