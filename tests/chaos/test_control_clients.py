"""Clients that lie are accused by name, and those that do not know are believed."""

from dataclasses import replace
from pathlib import Path

import pytest

from chaos.recorder import MachineClock, Recorder
from chaos.run.seal import seal
from chaos.scenario import Scenario
from chaos.scenarios.controls import (
    HASTY_CLIENT,
    LOST_ANSWERS,
    LOST_EVERY,
    QUIET_BROKERS,
    RASH_CLIENT,
)
from checkers.history.events import HistoryKind
from checkers.history.sealed_run import Run, write_run_info
from checkers.history.store import read_run
from checkers.log.checks import log_offsets, log_polls, log_sends
from checkers.log.durability import log_durability, log_final_reads
from checkers.verdict import CheckResult, Verdict
from tests.support.fake_logs import FakeBrokers
from tests.support.histories import make_run
from tests.support.virtual_time import in_virtual_time
from workloads.append import AppendOptions, AppendWorkload
from workloads.connection import TcpDriver

CHECKS = (log_durability, log_offsets, log_polls, log_sends, log_final_reads)
SENDS = 8 * LOST_EVERY
_READ_WITHIN_S = 2.0  # who was told an offset that nothing stands at waits so long for it


def told(scenario: Scenario, directory: Path, *, idempotent_share: float = 0.0) -> Run:
    """The scenario's load on fake brokers, sealed."""
    assert isinstance(scenario.load, AppendOptions)
    options = replace(
        scenario.load,
        producers=4,
        consumers=1,
        idempotent_share=idempotent_share,
        record_bytes=64,
        rate=800,
        most_operations=SENDS,
    )

    async def main() -> None:
        with Recorder(directory, MachineClock()) as recorder:
            async with FakeBrokers() as brokers:
                driver = TcpDriver(brokers.entries)
                clients = (
                    scenario.clients(driver, options) if scenario.clients is not None else None
                )
                workload = AppendWorkload(
                    driver, recorder, seed=1, options=options, clients=clients
                )
                try:
                    await workload.run()
                    await workload.read_all(_READ_WITHIN_S)
                finally:
                    await workload.close()

    write_run_info(directory, make_run(history=HistoryKind.LOG).info)
    in_virtual_time(main())
    seal(directory)
    return read_run(directory)


def accused(run: Run) -> dict[str, CheckResult]:
    results = [result for check in CHECKS if (result := check(run)) is not None]
    assert len(results) == len(CHECKS)
    return {row.check: row for row in results if row.verdict is not Verdict.VALID}


def durability(run: Run) -> CheckResult:
    result = log_durability(run)
    assert result is not None
    return result


def test_clients_that_tell_the_truth(tmp_path: Path) -> None:
    run = told(QUIET_BROKERS, tmp_path)
    assert accused(run) == {}
    assert durability(run).facts["acknowledged"] == SENDS


def test_who_acknowledges_before_sending_loses_writes(tmp_path: Path) -> None:
    found = accused(told(HASTY_CLIENT, tmp_path))
    assert {"log-durability", "log-offsets"} <= found.keys()
    assert found["log-durability"].message.startswith("lost-write: ")
    assert found["log-offsets"].message.startswith("inconsistent-offsets: ")
    assert 1 <= found["log-durability"].count <= 4, "the last one of each producer"


def test_who_takes_silence_for_a_no_has_aborted_reads(tmp_path: Path) -> None:
    found = accused(told(RASH_CLIENT, tmp_path))
    assert list(found) == ["log-polls"]
    assert found["log-polls"].message.startswith("G1a: ")
    assert found["log-polls"].count >= SENDS // LOST_EVERY


def test_who_does_not_know_is_believed_and_the_records_are_recovered(tmp_path: Path) -> None:
    run = told(LOST_ANSWERS, tmp_path)
    assert accused(run) == {}
    facts = durability(run).facts
    assert (facts["info"], facts["recovered"], facts["not_happened"]) == (8, 8, 0)
    assert facts["acknowledged"] == SENDS - 8


@pytest.mark.parametrize("scenario", [LOST_ANSWERS, RASH_CLIENT], ids=["deaf", "rash"])
def test_an_idempotent_producer_asks_again_and_is_told(scenario: Scenario, tmp_path: Path) -> None:
    """So that even the rash one has no silence to mistake."""
    run = told(scenario, tmp_path, idempotent_share=1.0)
    assert accused(run) == {}
    assert durability(run).facts["acknowledged"] == SENDS
