"""`check` on disks of nodes that nobody here ran: what contradicts itself, what is not there."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaos.cli import main
from tests.checkers.disk.test_disk_replicas import partition, valued
from tests.support.kafka_disks import unpack

Judged = Callable[..., dict[str, Any]]
ALONE = ["the operations of clients, and their answers", "the faults"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three nodes of Apache Kafka."""
    directory = tmp_path_factory.mktemp("kafka")
    unpack("4.3.1", directory)
    return directory


@pytest.fixture
def disks(recorded: Path, tmp_path: Path) -> Path:
    """A copy to alter; named as no run of ours would."""
    for node in (1, 2, 3):
        shutil.copytree(recorded / f"node-{node}", tmp_path / f"broker{node}" / "data")
    return tmp_path


@pytest.fixture
def judged(capsys: pytest.CaptureFixture[str]) -> Judged:
    def run(directory: Path, *words: str) -> dict[str, Any]:
        capsys.readouterr()
        code = main(["check", "--json", *words, str(directory)])
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return {**found, "code": code}

    return run


def metadata_segment(disks: Path, node: int) -> Path:
    return max((disks / f"broker{node}").rglob("__cluster_metadata-0/*.log"))


def test_disks_of_kafka_contradict_nothing(disks: Path, judged: Judged) -> None:
    found = judged(disks)
    assert (found["verdict"], found["code"], found["problems"]) == ("valid", 0, [])
    assert sorted(found["nodes"]) == ["1", "2", "3"]
    checked = {one["check"]: one for one in found["checks"]}
    assert {"Q5-log-matching", "P11-replicas-agree", "log-contiguous"} <= checked.keys()
    assert all(one["looked_at"] > 0 for one in checked.values())
    assert found["missing"][:2] == ALONE
    assert "linearizable" not in checked


def test_it_is_said_on_a_terminal(disks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(disks)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{disks}: VALID: ")
    assert "  disks       of nodes 1, 2, 3\n" in out
    assert "  not here    the operations of clients, and their answers\n" in out


def test_an_epoch_that_goes_back(disks: Path, judged: Judged) -> None:
    """The epoch in a batch's head has no checksum; logs of others and its neighbours contradict."""
    path = metadata_segment(disks, 1)
    data = bytearray(path.read_bytes())
    second = 12 + int.from_bytes(data[8:12], "big")
    data[second + 12 : second + 16] = bytes(4)
    path.write_bytes(bytes(data))
    found = judged(disks)
    accused = {one["check"] for one in found["checks"] if one["verdict"] == "invalid"}
    assert (found["verdict"], found["code"]) == ("invalid", 1)
    assert "M4-epochs-rise-in-logs" in accused


def test_what_a_fault_may_have_done_is_no_verdict(disks: Path, judged: Judged) -> None:
    path = next((disks / "broker2").rglob("kept-0/*.log"))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    found = judged(disks)
    assert (found["verdict"], found["code"]) == ("unknown", 2)
    assert any("wrong CRC" in problem for problem in found["problems"])
    assert not [one for one in found["checks"] if one["verdict"] == "invalid"]


def test_one_node_alone(disks: Path, judged: Judged) -> None:
    found = judged(disks / "broker1")
    assert found["verdict"] == "valid"
    assert found["missing"][-1] == "the disks of nodes 2, 3, which are voters as well"


def test_a_directory_of_which_nobody_knows_whose_it_is(disks: Path, judged: Judged) -> None:
    (disks / "broker3" / "data" / "kafka" / "meta.properties").unlink()
    found = judged(disks)
    assert (found["verdict"], sorted(found["nodes"])) == ("unknown", ["1", "2"])
    assert "meta.properties" in found["problems"][0]


def test_disks_that_do_not_belong_together(disks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(disks / "broker1", disks / "backup")
    assert main(["check", str(disks)]) == 254
    assert "expected one metadata log of node 1, found one in" in capsys.readouterr().err
    path = disks / "backup" / "data" / "kafka" / "meta.properties"
    path.write_text(path.read_text().replace("cluster.id=", "cluster.id=x"))
    assert main(["check", str(disks)]) == 254
    assert "expected disks of one cluster, found" in capsys.readouterr().err
    assert main(["check", "--model", "log", str(disks / "broker1")]) == 254
    assert "do not apply to disks of nodes" in capsys.readouterr().err


def test_gaps_of_compacted_topics_are_legal(tmp_path: Path, judged: Judged) -> None:
    """Of which others are, the metadata log would tell, which is not here."""
    batches = [valued(0, 70), valued(4, 74)]
    path = partition(tmp_path, *batches, key="__consumer_offsets-7")
    shutil.rmtree(path.parent / "__cluster_metadata-0")
    (path.parent / ".kafka_cleanshutdown").write_text("")
    found = judged(tmp_path)
    assert (found["verdict"], found["problems"], found["checks"]) == ("unknown", [], [])
    assert "the contents of 1 replica of compacted topics: left out" in found["missing"]
    assert "the metadata log of node 1" in found["missing"]
    partition(tmp_path, *batches, key="orders-0")
    found = judged(tmp_path)
    assert found["verdict"] == "unknown"
    (gap,) = (one for one in found["checks"] if one["check"] == "partition-contiguous")
    assert "no record has cleanup.policy: orders-0 on node 1: offset 0 is" in gap["message"]


def test_nothing_to_look_at_is_not_green(tmp_path: Path, judged: Judged) -> None:
    path = partition(tmp_path)
    shutil.rmtree(path)
    shutil.rmtree(path.parent / "__cluster_metadata-0")
    found = judged(tmp_path)
    assert (found["verdict"], found["code"], found["checks"]) == ("unknown", 2, [])


def test_a_store_of_jepsen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "store" / "register" / "20250120T120000.000Z"
    run.mkdir(parents=True)
    (run / "history.txt").write_text(
        "0\t:invoke\t:write\t1\n0\t:ok\t:write\t1\n1\t:invoke\t:read\tnil\n1\t:ok\t:read\t2\n"
    )
    assert main(["check", str(tmp_path / "store")]) == 1
    assert capsys.readouterr().out.startswith(f"{run / 'history.txt'}: INVALID: ")
