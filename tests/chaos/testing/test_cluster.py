"""`Cluster` of the public API over fake nodes: faults, evidence, errors, and what is left."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaos.cluster.interface import NodeStatus
from chaos.errors import OperatorError, UsageError
from chaos.nemesis.awaited import ElrIs, IsrIs, Led, Sight
from chaos.nemesis.recorded import victim_from
from chaos.nemesis.victims import InSyncFollower, PartitionLeader
from chaos.play.by_hand import holds_now
from chaos.run.runtimes import RUNTIMES
from chaos.testing import Cluster, NoEffectError, controller_leader, leader, link
from tests.support.fake_harness import FakeRuntime
from tests.support.readme import ROOT
from workloads.wire.topic_partitions import PartitionClaim


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRuntime]:
    """No cluster and no thread of one stays."""
    runtime, threads = FakeRuntime(), threading.active_count()
    monkeypatch.setitem(RUNTIMES, "docker", runtime)
    yield runtime
    assert all(made.destroyed for made in runtime.made)
    assert threading.active_count() == threads


def test_faults_last_until_they_are_healed(fakes: FakeRuntime) -> None:
    with Cluster() as cluster:
        hurt = cluster.power_off(controller_leader())
        assert cluster.status(hurt.node) is NodeStatus.OFF
        with cluster.partition(link(2, 3)) as cut:
            assert cluster.faults == (hurt, cut)
        with cluster.partition(2, ways="in") as one_way:
            assert set(one_way.hit.links) == {link(1, 2), link(3, 2)}
        assert hurt.heal().bit
        assert cluster.status(hurt.node) is NodeStatus.RUNNING
        cluster.kill(2)
        cluster.fault("partition-in", 3)
        assert [found.bit for found in cluster.heal()] == [True, True]
        assert not cluster.faults
        assert len(cluster.bootstrap.split(",")) == 3
        assert "node 2 is a fake" in cluster.logs(2)
    (made,) = fakes.made
    assert "power_off 1 lose-all" in made.calls
    assert "cut 2->3" in made.calls
    assert made.calls.index("cut 1->3 2->3") < made.calls.index("heal 1->3 2->3")
    assert made.calls.index("heal 1->3 2->3") < made.calls.index("start 2"), "the newest first"


def test_a_test_with_a_loop_of_its_own_may_use_it(fakes: FakeRuntime) -> None:
    async def test() -> None:
        with Cluster() as cluster, cluster.pause(2):
            await asyncio.sleep(0)
            assert cluster.status(2) is NodeStatus.PAUSED

    asyncio.run(test())
    assert fakes.made


def test_a_fault_without_effect_fails_the_test_that_relied_on_it(fakes: FakeRuntime) -> None:
    fakes.bites = False
    with Cluster() as cluster:
        with pytest.raises(NoEffectError, match="kill of node 2 took no effect"), cluster.kill(2):
            pass
        with pytest.raises(AssertionError, match="what counts"), cluster.kill(3):
            raise AssertionError("what counts")
        assert not cluster.faults


@pytest.mark.usefixtures("fakes")
def test_what_cannot_be_says_what_can() -> None:
    with pytest.raises(UsageError, match="try: --nodes 3"):
        Cluster(nodes=4)
    with pytest.raises(UsageError, match="no target 'kafak'"):
        Cluster(target="kafak")
    with pytest.raises(UsageError, match="with Cluster"):
        Cluster().kill(1)
    with Cluster() as cluster:
        wrong: dict[str, Callable[[], object]] = {
            "unknown node 99; known: 1, 2, 3": lambda: cluster.kill(99),
            "unknown node 4": lambda: cluster.partition(link(1, 4)),
            "unknown fault 'power-of'; like it: power-off": lambda: cluster.fault("power-of", 1),
            "power-off needs a victim": lambda: cluster.fault("power-off"),
            "'half' is not one of lose-all": lambda: cluster.power_off(1, mode="half"),
            "kill has no parameter mode": lambda: cluster.fault("kill", 1, mode="torn"),
            "would be partition-one-way": lambda: cluster.fault("partition", 1, ways="in"),
            "partition-leader-of-orders-0: this cluster has no brokers": (
                lambda: cluster.power_off(leader("orders"))
            ),
            "no brokers, and no partitions": lambda: cluster.wait_until(isr=[1]),
            "something to wait for": cluster.wait_until,
            "the topic of a partition": lambda: cluster.wait_until(isr=[1], partition=0),
        }
        for message, act in wrong.items():
            with pytest.raises(UsageError, match=message):
                act()
        cluster.kill(2)
        cluster.partition(3)
        with pytest.raises(OperatorError, match="node 2 is off already"):
            cluster.pause(2)
        with pytest.raises(OperatorError, match="3->1 is cut already"):
            cluster.partition(link(3, 1))
        cluster.fault("slow-links", 1, latency_ms=20)
        with pytest.raises(OperatorError, match="slow-links is refused while slow-links lasts"):
            cluster.fault("slow-links", 1, latency_ms=20)
        with pytest.raises(UsageError, match="used before"):
            cluster.__enter__()
    with pytest.raises(UsageError, match="not up any more"):
        cluster.status(1)


@pytest.mark.usefixtures("fakes")
def test_a_failed_block_leaves_evidence_and_nothing_else(tmp_path: Path) -> None:
    kept = str(tmp_path / "kept")
    with pytest.raises(AssertionError, match="mine") as failed, Cluster(evidence=kept):
        raise AssertionError("mine")
    assert (tmp_path / "kept" / "logs" / "node-3.log").is_file()
    assert f"{tmp_path}/kept" in failed.value.__notes__[0]
    with Cluster(evidence=tmp_path / "other"):
        pass
    assert not (tmp_path / "other").exists()


def test_what_does_not_come_up_is_removed(fakes: FakeRuntime) -> None:
    fakes.break_at = "until_ready"
    with pytest.raises(RuntimeError, match="until_ready broke"), Cluster():
        raise AssertionError("never reached")
    assert fakes.made[0].calls[-1] == "destroy"


INTERRUPTED = """
import threading
from chaos.run.runtimes import RUNTIMES
from chaos.testing import Cluster
from tests.support.fake_harness import FakeRuntime

RUNTIMES["docker"] = fake = FakeRuntime()
try:
    with Cluster() as cluster:
        cluster.kill(2)
        print("up", flush=True)
        threading.Event().wait(60)
except KeyboardInterrupt as error:
    print("interrupted", fake.made[0].calls[-1], fake.made[0].destroyed, threading.active_count())
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_remove_everything(number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        assert process.stdout.read() == "interrupted destroy True 1\n"


def claim(*, leads: int, epoch: int, isr: tuple[int, ...], partition: int = 0) -> PartitionClaim:
    return PartitionClaim(
        topic="orders",
        key=f"orders-{partition}",
        leader=leads,
        epoch=epoch,
        replicas=(1, 2, 3),
        isr=isr,
        elr=(),
        last_known_elr=(),
        offline=(),
    )


def test_a_conditionholds_now_by_the_newest_answer_on_each_partition() -> None:
    """Broker 1 was cut off, and says what was so before; of one epoch the leader knows best."""
    stale, newer = (
        claim(leads=1, epoch=1, isr=(1, 2, 3)),
        claim(leads=2, epoch=2, isr=(2, 3)),
    )
    sight = Sight(claims={1: [stale], 2: [newer], 3: [newer]}, acknowledged=0)
    assert not holds_now(IsrIs((1, 2, 3)), sight)
    assert holds_now(IsrIs((3, 2)), sight)
    assert holds_now(Led((2,)), sight)
    shrunk = claim(leads=2, epoch=2, isr=(2,))
    assert holds_now(IsrIs((2,)), Sight(claims={2: [shrunk], 3: [newer]}, acknowledged=0))
    other = claim(leads=3, epoch=9, isr=(3,), partition=1)
    assert not holds_now(IsrIs((2,)), Sight(claims={2: [shrunk, other]}, acknowledged=0))
    assert not holds_now(ElrIs(()), Sight(claims={1: []}, acknowledged=0)), "no topic is no answer"


def test_victims_of_a_partition_are_recorded_and_read() -> None:
    for victim in (PartitionLeader("a-of-b-12"), InSyncFollower("orders-0"), PartitionLeader()):
        assert victim_from(str(victim)) == victim


def test_brokers_of_apache_kafka_know_their_voters_unless_told_otherwise(
    fakes: FakeRuntime,
) -> None:
    """Else one that loses power early does not start again, which is Kafka's own bug."""
    for given, then in (({}, "static"), ({"quorum": "dynamic"}, "dynamic")):
        with Cluster(target="kafka", settings=given):
            assert fakes.asked[-1]["quorum"] == then
    with Cluster():
        assert "quorum" not in fakes.asked[-1]
