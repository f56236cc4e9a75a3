"""Operations in bins of time: the charts draw these instead of the operations themselves."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Ints

BINS_LIMIT = 300
OUTCOMES = ("ok", "fail", "info")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bins:
    """`count` equal bins of `width_ns`, the first from `start_ns`."""

    start_ns: int
    width_ns: int
    count: int

    def of(self, times: Ints) -> Ints:
        """The bin of each time; times outside fall into the first or the last."""
        return np.clip((times - self.start_ns) // self.width_ns, 0, self.count - 1)


def bins_over(start_ns: int, end_ns: int, limit: int = BINS_LIMIT) -> Bins:
    """The finest bins of a round width (1, 2 or 5 times a power of ten) within the limit."""
    span = max(end_ns - start_ns, 1)
    width = 1
    for factor in _round_steps():
        width = factor
        if -(-span // width) <= limit:
            break
    return Bins(start_ns, width, -(-span // width))


def _round_steps() -> list[int]:
    return [step * 10**power for power in range(19) for step in (1, 2, 5)]


def rates(ops: pa.Table, bins: Bins) -> dict[str, Floats]:
    """Completed operations per second in each bin, by outcome.

    An operation that never completed counts where it was invoked.
    """
    when = integers(pc.coalesce(ops["t1"], ops["t0"]))
    seconds = bins.width_ns / 1e9
    found: dict[str, Floats] = {}
    for outcome in OUTCOMES:
        places = bins.of(when[_having(ops, outcome)])
        found[outcome] = np.bincount(places, minlength=bins.count).astype(np.float64) / seconds
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """Latency in ns of the ok operations that completed in each bin; NaN where there was none."""

    p50: Floats
    p99: Floats
    max: Floats


def latencies(ops: pa.Table, bins: Bins) -> Latencies:
    ok = ops.filter(pc.and_(pc.equal(ops["outcome"], "ok"), pc.is_valid(ops["t1"])))
    done = integers(ok["t1"])
    took = done - integers(ok["t0"])
    place = bins.of(done)
    order = np.lexsort((took, place))
    took = took[order]
    first = np.searchsorted(place[order], np.arange(bins.count + 1))
    return Latencies(
        p50=_ranked(took, first, 0.50), p99=_ranked(took, first, 0.99), max=_ranked(took, first, 1)
    )


def _ranked(took: Ints, first: Ints, share: float) -> Floats:
    """The nearest-rank quantile of every bin of values that are sorted within their bins."""
    sizes = np.diff(first)
    found = np.full(len(sizes), np.nan)
    full = sizes > 0
    rank = np.maximum(np.ceil(share * sizes[full]).astype(np.int64), 1)
    found[full] = took[first[:-1][full] + rank - 1]
    return found


def integers(column: pa.ChunkedArray) -> Ints:
    """An integer column as a numpy array, with nulls as 0."""
    values: Ints = pc.fill_null(pc.cast(column, pa.int64()), 0).to_numpy()
    return values


def _having(ops: pa.Table, outcome: str) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = (
        pc.fill_null(pc.equal(ops["outcome"], outcome), False)
        .combine_chunks()
        .to_numpy(zero_copy_only=False)
    )
    return mask
