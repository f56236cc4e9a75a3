"""Bins against a count by hand, and against numpy's own percentiles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.page.timeline import BINS_LIMIT, Bins, bins_over, latencies, rates
from tests.checkers.page.samples import MS, SECOND, operations, table


@given(st.integers(-(10**6), 10**15), st.integers(0, 10**16))
def test_bins_are_round_cover_all_and_are_within_the_limit(start: int, length: int) -> None:
    bins = bins_over(start, start + length)
    assert 1 <= bins.count <= BINS_LIMIT
    assert bins.count * bins.width_ns >= length
    assert str(bins.width_ns).rstrip("0") in {"1", "2", "5"}


def test_rates_count_completions_and_open_ends_where_they_began() -> None:
    ops = table(
        "ops",
        [
            {"outcome": "ok", "t0": 0, "t1": 100 * MS},
            {"outcome": "ok", "t0": 0, "t1": 600 * MS},
            {"outcome": "fail", "t0": 0, "t1": 600 * MS},
            {"outcome": "info", "t0": 700 * MS, "t1": None},
            {"outcome": "info", "t0": 0, "t1": 5_000 * MS},
        ],
    )
    found = rates(ops, Bins(0, 500 * MS, 2))
    assert {name: list(values) for name, values in found.items()} == {
        "ok": [2, 2],
        "fail": [0, 2],
        "info": [0, 4],
    }


def test_latencies_are_the_nearest_rank_percentiles_of_each_bin() -> None:
    ops = operations(5_000)
    bins = bins_over(0, 40 * SECOND, 20)
    found = latencies(ops, bins)
    rows = [row for row in ops.to_pylist() if row["outcome"] == "ok"]
    for place in range(bins.count):
        took = [r["t1"] - r["t0"] for r in rows if bins.of(np.array([r["t1"]]))[0] == place]
        if not took:
            assert np.isnan(found.p50[place])
            continue
        for share, values in ((50, found.p50), (99, found.p99), (100, found.max)):
            assert values[place] == np.percentile(took, share, method="inverted_cdf")


@pytest.mark.parametrize("count", [1, BINS_LIMIT])
def test_without_operations_there_is_no_latency_and_no_rate(count: int) -> None:
    empty = table("ops", [])
    bins = Bins(0, SECOND, count)
    assert all(np.isnan(latencies(empty, bins).p99))
    assert not any(values.any() for values in rates(empty, bins).values())
