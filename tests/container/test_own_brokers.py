"""Brokers of our own in containers: KIP-966's story, by the script, the clients and the checks of
Apache Kafka's runs."""

import json
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.run.installation import prepare
from checkers.evidence.faults import Kind
from checkers.history.sealed_run import read_run_info

BROKERS = (1, 2, 3)
# What breaks where acknowledged records are gone, and others take their place.
OF_A_LOSS = {
    "log-durability",
    "log-offsets",
    "log-sends",
    "P9-eligible-hold-all",
    "P18-acknowledged-everywhere",
    "P10-leaders-hold-acknowledged",
    "P13-reads-are-stored",
    "P16-no-committed-record-cut",
}


@pytest.mark.timeout(600)
def test_a_power_cut_takes_what_only_one_broker_had_in_its_page_cache(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without eligible leader replicas; and nothing but that loss is held against anybody."""
    prepare(print)
    capsys.readouterr()
    words = ["last-replica-standing", "--target", "node", "--set", "elr=off", "--seed", "3"]
    main(["run", *words, "--json", "--out", str(tmp_path)])
    rows = json.loads(capsys.readouterr().out)["results"]
    told = {row["check"]: row["verdict"] for row in rows if row["verdict"] != "valid"}
    assert told.get("log-durability") == "invalid"
    assert told.keys() <= OF_A_LOSS, told
    run = tmp_path / "latest"
    info = read_run_info(run)
    assert info.target.startswith("node (kraft-chaos/node:")
    assert info.roles == {**{str(node): "broker" for node in BROKERS}, "4": "controller"}
    assert {Kind.PARTITION_LOGS, Kind.PARTITION_PROBES, Kind.TRACES} <= set(info.gives)
    assert info.endings == dict.fromkeys(info.roles, "stopped")
    for node in BROKERS:  # each of them said at its end that its logs are whole
        assert (run / f"disks/node-{node}/.kafka_cleanshutdown").is_file()


@pytest.mark.night
@pytest.mark.timeout(600)
def test_brokers_that_are_controllers_as_well_lose_nothing_that_was_promised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both roles in one process, whose power fails: the broker's page cache and a voter's log."""
    prepare(print)
    capsys.readouterr()
    words = ["power-off-brokers", "--target", "node", "--set", "roles=combined", "--seed", "3"]
    code = main(["run", *words, "--duration", "12", "--json", "--out", str(tmp_path)])
    rows = json.loads(capsys.readouterr().out)["results"]
    assert code == 0, [row for row in rows if row["verdict"] != "valid"]
    run = tmp_path / "latest"
    info = read_run_info(run)
    assert info.roles == {str(node): "broker,controller" for node in BROKERS}
    assert {Kind.PARTITION_LOGS, Kind.PARTITION_PROBES, Kind.TRACES} <= set(info.gives)
    assert info.endings == dict.fromkeys(info.roles, "stopped")
    for node in BROKERS:
        assert (run / f"disks/node-{node}/.kafka_cleanshutdown").is_file()
