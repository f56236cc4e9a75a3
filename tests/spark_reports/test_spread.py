"""Seeds over Spark's executors: every seed once, its row typed and kept."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from chaos.campaign.coverage import Cell, Fingerprint
from chaos.campaign.job import SeedRow, row_from
from checkers.verdict import Verdict
from spark_reports.session import ROWS, spread, verdict_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SEEDS = range(5, 42)


def row(seed: int) -> SeedRow:
    """Every third seed fails; of a side, as expected and not, and of none, in turn."""
    bad = seed % 3 == 0
    return SeedRow(
        seed=seed,
        verdict=Verdict.INVALID if bad else Verdict.VALID,
        fingerprint=Fingerprint(check="Q1", anomaly="so", role="leader") if bad else None,
        sentence=f"of seed {seed}",
        virtual_s=60.5,
        real_s=0.25,
        operations=10 * seed,
        faults=3,
        struck=Counter({Cell("kill", "leader", "led"): seed, Cell("pause", "down", "short"): 1}),
        command=f"kraft-chaos run swarm --seed {seed}",
        unlike=(None, "", "valid, expected invalid")[seed % 4 % 3],
    )


@dataclass(frozen=True)
class AsJson:
    """Picklable by its name, as the campaign's own is."""

    def __call__(self, seed: int) -> str:
        return json.dumps(row(seed).as_json())


def test_the_columns_are_those_of_a_row(spark: "SparkSession") -> None:
    assert verdict_rows(spark, AsJson(), SEEDS).columns == list(row(3).as_json())


def test_every_seed_becomes_one_row_in_parquet_and_in_order(
    spark: "SparkSession", tmp_path: Path
) -> None:
    del spark  # the session that is open is the one that is used
    lines = list(spread(AsJson(), SEEDS, tmp_path))
    assert [row_from(json.loads(line)) for line in lines] == [row(seed) for seed in SEEDS]
    kept = pq.read_table(tmp_path / ROWS)
    assert sorted(kept["seed"].to_pylist()) == list(SEEDS)
    assert kept["verdict"].to_pylist().count("invalid") == sum(seed % 3 == 0 for seed in SEEDS)
    assert list(spread(AsJson(), range(1, 2), tmp_path)), "an earlier campaign makes place"
