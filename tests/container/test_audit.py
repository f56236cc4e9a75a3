"""The audit, on containers: of the correct node nothing is trusted wrongly, on a disk that lies
something is, and a cut that did not bite shows nothing."""

import json
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.cluster.docker.clusters import PoweredDockerCluster, new_cluster
from chaos.cluster.docker.power_cuts import Power
from chaos.cluster.interface import DiskTrouble, PowerCutMode
from chaos.cluster.powers import DiskTroubling
from chaos.labs.audit.matrix import rows_of
from chaos.labs.audit.moment import Moment, Stage, Way, set_registers
from chaos.labs.audit.next_start import NextStart
from chaos.labs.audit.one_cut import CutPlan, ObservedCut, cut_once
from chaos.progress import ConsoleProgress
from chaos.run.installation import prepare
from tests.container.clusters import run, run_id

pytestmark = pytest.mark.container


@pytest.fixture(scope="session", autouse=True)
def _images() -> None:
    prepare(print)


def audit(out: Path, *words: str) -> int:
    return main(["audit", "--out", str(out), "--json", *words])


def test_all_that_our_node_acknowledges_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(tmp_path, "--moment", "record-acknowledged", "clean-stop") == 0
    found = json.loads(capsys.readouterr().out)
    assert {cut["moment"] for cut in found["cuts"]} == {"record-acknowledged", "clean-stop"}
    assert "metadata log segment" in found["same"]


def test_a_disk_that_lies_is_found_out(tmp_path: Path) -> None:
    found = cut_of_a_lying_disk(tmp_path)
    assert found.void == ""
    assert {each.outcome for each in found.differences} & {NextStart.TRUSTED, NextStart.REFUSES}


@pytest.mark.night
def test_a_cut_that_forgets_nothing_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Power, "_forget", lambda *_: None)
    found = cut_of_a_lying_disk(tmp_path)
    assert "canary" in found.void
    assert rows_of([found]) == []


async def acknowledged_by_a_lying_disk(stage: Stage) -> None:
    assert isinstance(stage.cluster, DiskTroubling)
    await stage.cluster.trouble_disks(stage.victims, DiskTrouble.LYING)
    await set_registers(stage, first=1)


def cut_of_a_lying_disk(directory: Path) -> ObservedCut:
    way = Way(reach=acknowledged_by_a_lying_disk)
    moment = Moment(name="lying-disk", summary="syncs are not done", ways={"node": way})
    plan = CutPlan(moment=moment, target="node", mode=PowerCutMode.LOSE_ALL)
    cluster = new_cluster(run_id=run_id("audit"), nodes=1, directory=directory)
    assert isinstance(cluster, PoweredDockerCluster), cluster.no_power
    return run(cut_once(plan, cluster, directory, ConsoleProgress()))
