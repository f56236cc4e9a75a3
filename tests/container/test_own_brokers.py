"""Brokers of our own in containers: KIP-966's story on both sides, by the script, the clients and
the checks of Apache Kafka's runs."""

from pathlib import Path

import pytest

from chaos.cli import main
from chaos.installation import prepare
from checkers.evidence.planned import Kind
from checkers.history.sealed_run import read_run_info

BROKERS = (1, 2, 3)


@pytest.mark.timeout(600)
def test_power_cuts_take_what_was_not_synced_and_eligible_leaders_keep_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(print)
    words = ["compare", "last-replica-standing", "--target", "node", "--seed", "3"]
    code = main([*words, "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert code == 0, said
    assert said.count("1 of 1") == 2
    runs = sorted(tmp_path.glob("*-last-replica-standing-3*/run.json"))
    assert len(runs) == 2
    for run in [path.parent for path in runs]:
        info = read_run_info(run)
        assert info.target.startswith("node (kraft-chaos/node:")
        assert info.roles == {**{str(node): "broker" for node in BROKERS}, "4": "controller"}
        assert {Kind.PARTITION_LOGS, Kind.PARTITION_PROBES, Kind.TRACES} <= set(info.gives)
        assert info.endings == dict.fromkeys(info.roles, "stopped")
        for node in BROKERS:  # each of them said at its end that its logs are whole
            assert (run / f"disks/node-{node}/.kafka_cleanshutdown").is_file()
