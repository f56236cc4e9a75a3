"""What Spark counts over many runs is what the checks of each run count, in every scenario."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from chaos.scenarios import BROKER_SCENARIOS, SCENARIOS
from checkers.evidence.evidence import Evidence
from checkers.history.events import HistoryKind
from checkers.history.sealed_run import Run, write_run_info
from checkers.history.store import read_run, write_tables
from checkers.log.checks import log_offsets
from checkers.log.durability import log_durability
from checkers.registers.survival import Fate, acknowledged_writes_survive, fates_of_writes
from spark_reports import accounts
from spark_reports.fate_counts import COUNTS, RECORDS, WRITES
from spark_reports.ingest import read_tables
from tests.spark_reports import register_fates
from tests.spark_reports.by_run_id import by_run_id
from tests.spark_reports.log_runs import LOG_RUNS
from tests.spark_reports.lost_disk_runs import lost_disk_run
from tests.spark_reports.random_runs import seal_random_run
from tests.support.sealed_runs import VIOLATIONS, Shape, seal_run
from tests.support.simulated_log import SimulatedLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SEEDS = range(8)
LOST_DISK_SEEDS = range(12)
Counts = Mapping[str, int]
Counted = tuple[list[Run], dict[str, Counts], dict[str, Counts]]


def _log_runs() -> Iterator[Run]:
    """Every scenario of brokers run by clients of a log that keeps its promises, and every loss."""
    for seed, scenario in enumerate(sorted(BROKER_SCENARIOS)):
        told = SimulatedLog(random.Random(f"{seed}:parity")).live(160)
        told.fault("partition", 1)
        told.heal()
        told.final()
        yield _named(told.run(), f"{scenario}-{seed}", scenario)
    for name, story in LOG_RUNS.items():
        yield _named(story(), name, "last-replica-standing")


def _named(run: Run, run_id: str, scenario: str) -> Run:
    return replace(run, info=replace(run.info, run_id=run_id, scenario=scenario))


@pytest.fixture(scope="module")
def counted(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Counted:
    """The runs, and by run id what the kernel counts of records and of register writes."""
    base = tmp_path_factory.mktemp("parity")
    directories = [seal_random_run(base / f"random-{seed}", seed) for seed in SEEDS]
    for seed, scenario in enumerate(sorted(SCENARIOS.keys() - BROKER_SCENARIOS)):
        shape = Shape(seed=seed, duration_s=4, faults=((1, 2),), scenario=scenario)
        violation = VIOLATIONS[seed % len(VIOLATIONS)] if seed % 2 else None
        directories.append(seal_run(base / f"{scenario}-{seed}", shape, violation))
    for run in [*_log_runs(), *map(lost_disk_run, LOST_DISK_SEEDS)]:
        directory = base / run.info.run_id
        directory.mkdir()
        write_run_info(directory, run.info)
        write_tables(directory, run.tables, {"truncated": list(run.truncated)})
        directories.append(directory)
    sealed = by_run_id(directories)
    rows = accounts.accounts(spark, sealed).collect()
    assert [row.problem for row in rows if row.problem] == []
    by_kind: dict[str, dict[str, Counts]] = {RECORDS: {}, WRITES: {}}
    for row in rows:
        for counts in row.counts:
            mine = by_kind[counts.kind].setdefault(row.run_id, Counter())
            by_kind[counts.kind][row.run_id] = Counter(mine) + Counter(
                {name: counts[name] for name in COUNTS}
            )
    runs = [read_run(directory) for directory in directories]
    return runs, by_kind[RECORDS], by_kind[WRITES]


def test_records_are_counted_as_log_durability_counts_them(counted: Counted) -> None:
    runs, records, _ = counted
    seen: Counter[str] = Counter()
    for run in (run for run in runs if run.info.history == HistoryKind.LOG):
        mine, facts = Counter(records[run.info.run_id]), log_durability(run).facts
        expected = {
            "attempted": facts["sent"],
            **{name: facts[name] for name in _SAME},
            "lost": facts["lost"],
            "allowed": facts["allowed_loss"],
            "duplicated": _told_twice(run),
        }
        found = {name: mine[name] for name in expected}
        found["lost"] += mine["polled_lost"]
        found["allowed"] += mine["polled_allowed"]
        assert found == expected, run.info.run_id
        seen.update({name: count for name, count in found.items() if isinstance(count, int)})
    assert all(seen.values()), f"something was never counted: {seen}"


_SAME = ("acknowledged", "late", "undecided", "lost_undecided", "recovered", "not_happened")


def _told_twice(run: Run) -> int:
    facts = log_offsets(run).facts
    return sum(int(facts.get(name) or 0) for name in ("duplicate", "allowed_duplicate"))


def test_writes_are_counted_as_durability_counts_them(counted: Counted) -> None:
    runs, _, writes = counted
    for run in (run for run in runs if run.info.history != HistoryKind.LOG):
        mine = Counter(writes.get(run.info.run_id, {}))
        facts = acknowledged_writes_survive(run).facts
        expected = {**{name: facts[name] for name in _OF_WRITES}, "unexpected": facts[_FAILED]}
        assert {name: mine[name] for name in expected} == expected, run.info.run_id


def test_what_was_lost_with_disks_has_the_fates_that_the_check_finds(
    spark: "SparkSession", counted: Counted
) -> None:
    """Value by value, and each fate of acknowledged writes among them."""
    runs = [run for run in counted[0] if run.tables["lost_disks"].num_rows]
    sealed = by_run_id(run.directory for run in runs)
    found = {
        (row.run_id, row.key, row.value): row.fate
        for row in register_fates.fates(
            register_fates.read_register_tables(spark, sealed)
        ).collect()
    }
    expected = {
        (run.info.run_id, row["key"], row["value"]): fate
        for run in runs
        for row, fate in fates_of_writes(Evidence(run))
    }
    assert found == expected
    told = Counter(expected.values())
    seen = [told[fate] for fate in (Fate.SURVIVED, Fate.GONE, Fate.LOST, Fate.UNDECIDED)]
    assert min(seen) > 5, told
    assert any(Evidence(run).lost_majority for run in runs)


_OF_WRITES = ("acknowledged", "lost", "undecided", "recovered", "not_happened")
_FAILED = "failed_but_found"


def test_sql_is_of_the_same_opinion_by_fault_phase(spark: "SparkSession", counted: Counted) -> None:
    sealed = by_run_id(run.directory for run in counted[0] if run.info.history != HistoryKind.LOG)
    runs = read_tables(spark, sealed).runs
    cells = accounts.cells(accounts.accounts(spark, sealed), runs)
    tables = register_fates.read_register_tables(spark, sealed)
    kernel: Counter[tuple[str, str, str]] = Counter()
    for row in cells.collect():  # one for each version of a target
        for name, count in (
            ("lost", row.lost),
            ("gone with the disks", row.allowed),
            ("undecided", row.undecided),
            ("recovered", row.recovered),
            ("not happened", row.not_happened),
            ("unexpected", row.unexpected),
        ):
            kernel[row.scenario, row.fault_phase, name] += count
    grouped = register_fates.fates(tables).groupBy("scenario", "fault_phase", "fate").count()
    told = {(row.scenario, row.fault_phase, row.fate): row["count"] for row in grouped.collect()}
    others = ("survived", "refused", "open")
    assert +kernel == {key: count for key, count in told.items() if key[2] not in others}
