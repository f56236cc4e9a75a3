"""`ps`, `logs`, `shell`, `down --all`, and `inject` with kinds, victims and links, on fakes;
`tests/container/test_commands.py` does it to a real cluster."""

import inspect
import json
import re
from pathlib import Path

import pytest

from chaos.cli import main, parser
from chaos.cluster.interface import Keeper, NodeId, StandingCluster
from chaos.commands import playground_commands
from chaos.nemesis.kinds import BY_AN_OPERATOR, KINDS
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.disks import SickDisk
from chaos.nemesis.kinds.links import SlowLinks
from chaos.nemesis.recorded import VICTIM_WORDS, fault_as_json, fault_told, victim_told
from chaos.nemesis.victims import OneNode, in_words
from chaos.run.runtimes import RUNTIMES
from tests.support.fake_harness import FakeRuntime
from tests.support.sealed_runs import seal_run


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    """With one cluster up."""
    runtime = FakeRuntime()
    monkeypatch.setitem(RUNTIMES, "docker", runtime)
    stand_up(runtime, "play", 3)
    return runtime


def stand_up(runtime: FakeRuntime, name: str, nodes: int) -> None:
    """A cluster whose processes are off."""
    runtime.new(run_id=name, nodes=nodes, target="node", keep=True, directory=None)


def told_by(line: str) -> dict[str, object]:
    """The fault of a command line."""
    return fault_as_json(playground_commands._fault(parser().parse_args(["inject", *line.split()])))


@pytest.mark.parametrize(
    ("line", "kind", "victim", "parameters"),
    [
        ("kill-leader", "kill", "leader", {}),
        ("kill-leader --node 2", "kill", "2", {}),
        ("wipe --topic orders", "wipe", "partition-leader-of-orders-0", {}),
        ("power-off:mode=torn --node 1", "power-off", "1", {"mode": "torn"}),
        ("kill --topic o-1 --partition 3", "kill", "partition-leader-of-o-1-3", {}),
        ("kill --topic orders --follower", "kill", "in-sync-follower-of-orders-0", {}),
        ("slow-links:latency_ms=300 --victim all", "slow-links", "all", {"latency_ms": "300"}),
        ("disk-full --victim 3", "disk-full", "3", {"sickness": "full"}),
        ("partition --link 1-2", "partition-one-way", "1", {"ways": "out"}),
        ("partition-in --victim all", "partition-one-way", "all", {"ways": "in"}),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_parameters_and_a_victim(
    line: str, kind: str, victim: str, parameters: dict[str, str]
) -> None:
    assert told_by(line) == {"kind": kind, "victim": victim, "parameters": parameters}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("kill", "kill needs a victim, such as leader, or kill-leader"),
        ("kil-leader", "like it: kill-leader"),
        ("kill --victim leadr", "unknown victim 'leadr'; like it: leader"),
        ("power-off:mode=tron --node 1", "'tron' is not one of lose-all, lose-data, torn"),
        ("slow-links:latency_ms=x --node 1", "'x' is no number"),
        ("slow-links --node 1", "slow-links needs its latency_ms: slow-links:latency_ms=VALUE"),
        ("kill --link 1-2", "try: kraft-chaos inject partition --link 1-2"),
        ("kill --node 1 --partition 2", "try: --topic NAME"),
        ("lose-disk --node 1", "try: kraft-chaos chaos --faults lose-disk"),
        ("kill --node 9", "unknown node 9; known: 1, 2, 3"),
        ("partition --link 1-9", "unknown node 9"),
        ("kill --topic orders", "this cluster has no brokers"),
    ],
)
def test_what_cannot_be_injected_is_refused_with_the_next_command(
    line: str, why: str, fake: FakeRuntime, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inject", *line.split()]) == 254
    assert why in capsys.readouterr().err
    assert not [call for call in fake.made[0].calls if call.startswith("kill")]


@pytest.mark.parametrize("words", ["kill --link 1-1", "partition --link 1", "partition --link 1-x"])
def test_a_link_has_two_nodes(words: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(["inject", *words.split()])
    assert left.value.code == 254


def test_whatever_needs_an_operator_is_listed_as_such() -> None:
    needing = {kind for kind in KINDS if "operator is not None" in inspect.getsource(kind)}
    assert needing <= {*BY_AN_OPERATOR}
    assert len(needing) > 4


@pytest.mark.parametrize("word", [*VICTIM_WORDS, "2"])
def test_every_victim_is_told_in_words(word: str) -> None:
    victim = victim_told(word.replace("TOPIC-N", "orders-0").replace("-N", "-2"))
    assert in_words(victim) != str(victim)


def test_the_name_of_a_kind_decides_what_is_not_given() -> None:
    node = OneNode(NodeId(2))
    full, one_way = fault_told("disk-full", node), fault_told("partition-one-way", node)
    assert isinstance(full, SickDisk)
    assert isinstance(one_way, NetworkPartition)
    assert (full.kind, one_way.kind, one_way.ways) == ("disk-full", "partition-one-way", "out")
    assert fault_told("slow-links:latency_ms=5", node) == SlowLinks(latency_ms=5, victim=node)


def test_a_dry_run_tells_what_would_be_hit_and_does_nothing(
    fake: FakeRuntime, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inject", "partition", "--link", "1-2", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("partition-one-way of node 1 (1->2): node 1, whatever its role")
    assert "nothing was injected" in out
    assert main(["inject", "partition", "--node", "2", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["injected"], told["nodes"], told["fault"]["kind"]) == (False, [2], "partition")
    assert not [call for call in fake.made[0].calls if call.startswith(("kill", "cut"))]


def test_ps_tells_of_each_cluster(fake: FakeRuntime, capsys: pytest.CaptureFixture[str]) -> None:
    stand_up(fake, "five", 5)
    assert main(["ps", "--json"]) == 0
    one, five = json.loads(capsys.readouterr().out)["clusters"]
    assert (one["name"], len(one["nodes"])) == ("play", 3)
    assert (five["name"], len(five["nodes"]), five["injected"]) == ("five", 5, [])
    assert main(["ps"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n  node ") == 8
    assert re.search(r"node 1  off +127\.0\.0\.1:\d+ +controller\n", out)
    assert main(["down", "--all"]) == 0
    assert capsys.readouterr().out == "cluster play was removed\ncluster five was removed\n"
    assert all(cluster.destroyed for cluster in fake.made)
    assert main(["ps"]) == 0
    assert capsys.readouterr().out == "no cluster is up\n  try: kraft-chaos up\n"
    assert main(["down", "--all"]) == 0


def test_runs_of_other_processes_are_told_and_left_alone(
    fake: FakeRuntime, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lives = StandingCluster(name="a", keeper=Keeper.RUN, directory="runs/a")
    killed = StandingCluster(name="b", keeper=Keeper.DEAD)
    monkeypatch.setattr(FakeRuntime, "standing", lambda _: [lives, killed])
    assert main(["ps"]) == 0
    assert capsys.readouterr().out == (
        "a: a run that goes on, into runs/a\n"
        "b: left by a run that was killed; the next run removes it\n"
    )
    assert main(["down", "--all"]) == 0
    assert not fake.made[0].destroyed


def test_logs_of_a_running_cluster_and_no_way_into_a_fake(
    fake: FakeRuntime, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logs", "2", "--last", "5"]) == 0
    assert capsys.readouterr().out == "node 2 is a fake\n"
    assert main(["logs", "7"]) == 254
    assert "cluster play has no node 7; nodes: 1, 2, 3" in capsys.readouterr().err
    assert main(["shell", "2"]) == 255
    assert "no containers that can be entered" in capsys.readouterr().err
    assert len(fake.made) == 1


def test_logs_of_a_run_are_told_by_its_own_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = seal_run(tmp_path / "run")
    info = json.loads((run / "run.json").read_text())
    lines = [f'{{"ev":"x","mono":{info["started_mono_ns"] + at * 10**8}}}' for at in range(100)]
    (run / "logs").mkdir(exist_ok=True)
    (run / "logs" / "node-1.log").write_text("\n".join(lines) + "\n")
    (run / "logs" / "node-1.err").write_text("what it complained of\n")
    assert main(["logs", "1", str(run)]) == 0
    assert capsys.readouterr().out.count("\n") == 100
    assert main(["logs", "1", str(run), "--around", "5s", "--within", "250ms"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [float(line.split()[0]) for line in shown] == [4.8, 4.9, 5.0, 5.1, 5.2]
    assert main(["logs", "1", str(run), "--around", "50s"]) == 0
    assert "node 1 wrote nothing from 48 s to 52 s\n  try: --within 5s" in capsys.readouterr().err
    assert main(["logs", "1", str(run), "--stderr"]) == 0
    assert capsys.readouterr().out == "what it complained of\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("2 {run}", "there are none"),
        ("1 {run} --last 3", "| tail -3"),
        ("1 {run} --within 3s", "try: --around"),
        ("1 --around 3s", "kraft-chaos logs 1 runs/latest --around"),
        ("1 nowhere", "nowhere"),
    ],
)
def test_what_logs_cannot_tell_is_refused(
    words: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = seal_run(tmp_path / "run")
    assert main(["logs", *words.format(run=run).split()]) == 254
    assert why in capsys.readouterr().err
