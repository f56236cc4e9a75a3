"""Numbers for readers: with a unit, and no more digits than mean something."""

from collections.abc import Callable

NOTHING = "\N{EN DASH}"  # if there is no number to show

_STEPS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


def duration(ns: float | None) -> str:
    """A length of time: 1.25 s, 340 ms, 12 µs."""
    if ns is None:
        return NOTHING
    for size, unit in _STEPS:
        if abs(ns) >= size:
            return f"{_three_digits(ns / size)} {unit}"
    return "0 s"


def power_of_ten(power: int) -> str:
    """A decade of time in ns, for an axis: 6 is 1 ms."""
    size, unit = next(step for step in _STEPS if 10**power >= step[0])
    return f"{10**power // size:,} {unit}"


def moment(ns: int | None) -> str:
    """A point of the run's time, to the millisecond: 12.345 s."""
    return NOTHING if ns is None else f"{ns / 1e9:.3f} s"


def quantity(value: int | float) -> str:
    """1,234,567 or 12.5, with thin thousands."""
    return f"{value:,}" if isinstance(value, int) else f"{_three_digits(value)}"


def named(name: str, value: int | str | bool | float | None) -> tuple[str, str]:
    """A statistic for readers: the unit that ends its name moves behind its value."""
    if value is None:
        return _words(name), NOTHING
    if isinstance(value, bool):
        return _words(name), "yes" if value else "no"
    if isinstance(value, str):
        return _words(name), value
    if name.endswith("_per_s"):
        return _words(name.removesuffix("_s")) + " second", quantity(value)
    for ending, render in _UNITS.items():
        if name.endswith(ending):
            return _words(name.removesuffix(ending)), render(value)
    return _words(name), quantity(value)


def label(name: str) -> str:
    """The name of a statistic without its unit."""
    return named(name, 0.0)[0]


_UNITS: dict[str, Callable[[float], str]] = {
    "_ns": duration,
    "_ms": lambda ms: duration(ms * 1e6),
    "_s": lambda seconds: duration(seconds * 1e9),
    "_bytes": lambda size: f"{quantity(size)} bytes",
}


def _words(name: str) -> str:
    return name.replace("_", " ")


def _three_digits(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
