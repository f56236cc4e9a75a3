"""`docs/how-to/clusters-in-tests.md`: its tests pass as they stand there, and leave nothing."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.releases import NEWEST
from chaos.run.installation import prepare
from tests.container.clusters import left_of
from tests.support.readme import ROOT

PAGE = (ROOT / "docs" / "how-to" / "clusters-in-tests.md").read_text()
IMPORTS = "from chaos.testing import Cluster, any_broker, isr_member, leader, link\n"
# Within the block of the page's script.
MORE = """
    with cluster.partition(any_broker(), ways="in"), cluster.pause(4):
        pass
    lost = cluster.wipe(isr_member("orders", 0))
    cluster.wait_until(isr={1, 2, 3} - {lost.node}, topic="orders", partition=0)
    print(lost.heal().what)
    cluster.wait_until(whole=True)
    assert not cluster.reset(), "a disk was lost"
    print(cluster.events)
"""


def run(directory: Path, *words: str) -> str:
    """What a program of Python printed; it must succeed."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(600)
@pytest.mark.parametrize("target", ["node", pytest.param("kafka", marks=pytest.mark.night)])
def test_an_application_loses_nothing_when_a_leader_loses_power(
    tmp_path: Path, target: str
) -> None:
    prepare(print, "" if target == "node" else NEWEST)
    text, _ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "test_mine.py").write_text(
        text.replace("kraft(brokers=3)", f"kraft(brokers=3, target={target!r})")
    )
    words = ["-m", "pytest", "-p", "no:kraft-chaos", "-p", "chaos.testing.plugin", "--durations=9"]
    shown = run(tmp_path, *words, "-p", "no:cacheprovider", "test_mine.py")
    assert "1 passed" in shown, shown
    assert not (tmp_path / "runs").exists()
    assert left_of("kraft-chaos-api-") == []


@pytest.mark.timeout(600)
def test_a_script_hurts_apache_kafka_as_the_page_says(tmp_path: Path) -> None:
    prepare(print, NEWEST)
    _, text = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    shown = run(tmp_path, "-c", IMPORTS + text + MORE)
    assert "INFO [KafkaRaftServer nodeId=" in shown, "lines of a broker's log"
    assert "healed: power-off of node" in shown
    assert "healed: partition-one-way of node 1 (1->2); it took effect" in shown
    assert "the disk is a new one, with directory id" in shown
    assert "TOOK NO EFFECT" not in shown
    assert left_of("kraft-chaos-api-") == []
