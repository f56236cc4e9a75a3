"""What Apache Kafka 4.3.1 wrote by itself and what it was asked for: metadata logs off its disks.

The files are small and real; `tests.support.kafka_disks` says how they came about: a cluster
formatted with eligible leader replicas and min.insync.replicas=2, and two topics, of which one was
deleted again.
"""

from pathlib import Path

import pyarrow as pa
import pytest

from checkers.check import Check
from checkers.disk import read_disks
from checkers.evidence.evidence import Evidence
from checkers.history.sealed_run import Run
from checkers.history.tables import OPS, TABLES
from checkers.partitions.as_asked_for import (
    configs_as_asked_for,
    features_as_asked_for,
    topics_as_asked_for,
)
from checkers.partitions.replica_agreement import eligible_hold_all
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import op, run_info
from tests.support.kafka_disks import unpack

VALID, INVALID = Verdict.VALID, Verdict.INVALID
ASKED = [("create-topic", "kept"), ("create-topic", "doomed"), ("delete-topic", "doomed")]
SETTINGS = {"elr": "on", "min_isr": "2", "replication": "3"}


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    directory = tmp_path_factory.mktemp("disks")
    unpack("4.3.1", directory)
    return read_disks(directory)


def judged(
    check: Check,
    disks: dict[str, pa.Table],
    asked: list[tuple[str, str]] = ASKED,
    settings: dict[str, str] = SETTINGS,
) -> CheckResult:
    ops = [
        op(f, None, 2 * n, 2 * n + 1, key=topic) | {"op_id": n}
        for n, (f, topic) in enumerate(asked)
    ]
    tables = {name: schema.empty_table() for name, schema in TABLES.items()} | disks
    tables["ops"] = pa.Table.from_pylist(ops, schema=OPS)
    roles = {str(node): "broker,controller" for node in (1, 2, 3)}
    info = run_info(target="kafka 4.3.1", settings=settings, roles=roles)
    return check.judges(Evidence(Run(directory=Path(), info=info, tables=tables, truncated=())))


@pytest.mark.parametrize(
    ("check", "looked_at"),
    [
        (topics_as_asked_for, 2),
        (configs_as_asked_for, 1),
        (features_as_asked_for, 7),
        (eligible_hold_all, 4),
    ],
)
def test_it_did_as_it_was_asked(disks: dict[str, pa.Table], check: Check, looked_at: int) -> None:
    result = judged(check, disks)
    assert (result.verdict, result.looked_at) == (VALID, looked_at), result.message


@pytest.mark.parametrize(
    ("check", "asked", "settings"),
    [
        (topics_as_asked_for, ASKED[:2], {}),
        (topics_as_asked_for, ASKED[1:], {}),
        (topics_as_asked_for, ASKED, {"replication": "4"}),
        (configs_as_asked_for, ASKED, {"min_isr": "1"}),
        (features_as_asked_for, ASKED, {"elr": "off"}),
    ],
)
def test_it_did_not_as_it_would_have_been_asked(
    disks: dict[str, pa.Table],
    check: Check,
    asked: list[tuple[str, str]],
    settings: dict[str, str],
) -> None:
    assert judged(check, disks, asked, {**SETTINGS, **settings}).verdict is INVALID
