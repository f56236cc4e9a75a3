"""The small part of SVG that the charts need: one scale of time, marks, lines and areas."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checkers.page.document import Child, Markup, joined, tag

WIDTH = 1056
LEFT = 84  # of the plots; names of rows are to the left of it
RIGHT = 1040


@dataclass(frozen=True, slots=True)
class TimeScale:
    """The position of a time of the run. `start_ns` < `end_ns`."""

    start_ns: int
    end_ns: int

    def x(self, at_ns: float) -> float:
        """Pixels from the left, held within the plot."""
        share = (at_ns - self.start_ns) / (self.end_ns - self.start_ns)
        return LEFT + (RIGHT - LEFT) * min(max(share, 0.0), 1.0)

    def ticks(self) -> list[int]:
        """About ten round times in ns."""
        step = round_step((self.end_ns - self.start_ns) / 10)
        first = math.ceil(self.start_ns / step)
        return [n * step for n in range(first, int(self.end_ns // step) + 1)]


def round_step(least: float) -> int:
    """The smallest 1, 2 or 5 times a power of ten that is not below `least`, and not below 1."""
    power: int = 10 ** max(math.floor(math.log10(max(least, 1))), 0)
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)


def drawing(height: float, *parts: Child, label: str) -> Markup:
    return tag(
        "svg",
        tag("title", label),
        *parts,
        viewBox=f"0 0 {WIDTH} {height:.0f}",
        role="img",
        xmlns="http://www.w3.org/2000/svg",
    )


def rectangle(
    x1: float, x2: float, y: float, height: float, class_: str, about: str = ""
) -> Markup:
    """A box of at least one pixel, so that short times are still seen."""
    return tag(
        "rect",
        tag("title", about) if about else None,
        x=x1,
        y=y,
        width=max(x2 - x1, 1.0),
        height=height,
        class_=class_,
    )


def text(x: float, y: float, words: str, class_: str = "", anchor: str | None = None) -> Markup:
    return tag("text", words, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def vertical(x: float, top: float, bottom: float, class_: str) -> Markup:
    return tag("line", x1=x, x2=x, y1=top, y2=bottom, class_=class_)


def horizontal(y: float, class_: str = "grid") -> Markup:
    return tag("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_=class_)


def polyline(xs: Sequence[float], ys: NDArray[np.float64], class_: str) -> Markup:
    """A line with gaps where there is no value; a lone value is a short dash."""
    path: list[str] = []
    for run in _runs_of_values(ys):
        points = [f"{xs[i]:.1f},{ys[i]:.1f}" for i in run]
        alone = "h2" if len(points) == 1 else ""
        path.append("M" + "L".join(points) + alone)
    return tag("path", d=Markup("".join(path)), class_=f"line {class_}")


def _runs_of_values(ys: NDArray[np.float64]) -> Iterable[NDArray[np.int64]]:
    known = np.flatnonzero(~np.isnan(ys))
    if not len(known):
        return []
    return np.split(known, np.flatnonzero(np.diff(known) > 1) + 1)


def step_area(
    edges: Sequence[float], low: NDArray[np.float64], high: NDArray[np.float64], class_: str
) -> Markup:
    """The area between two step curves; `edges` are the n + 1 edges of n bins."""
    over = _steps(edges, high)
    back = _steps(edges, low)[::-1]
    return tag("path", d=Markup("M" + "L".join([*over, *back]) + "Z"), class_=class_)


def _steps(edges: Sequence[float], heights: NDArray[np.float64]) -> list[str]:
    return [
        f"{x:.1f},{y:.1f}"
        for left, right, y in zip(edges[:-1], edges[1:], heights, strict=True)
        for x in (left, right)
    ]


def legend(
    entries: Iterable[tuple[str, str]], y: float, mark: str = "rect", right: float = RIGHT
) -> Markup:
    """Class and name of each series, set from the right edge."""
    parts: list[Markup] = []
    x = float(right)
    for class_, name in reversed(list(entries)):
        x -= 6.2 * len(name) + 24
        if mark == "rect":
            parts.append(rectangle(x, x + 10, y - 8, 9, class_))
        else:
            parts.append(tag("path", d=f"M{x:.0f},{y - 4:.0f}h12", class_=f"line {class_}"))
        parts.append(text(x + 15, y, name, "soft"))
    return joined(*parts)
