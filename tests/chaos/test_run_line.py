"""What the line of `run` says is done, and the line that is shown of a plan asks for the same."""

import json
import shlex
from dataclasses import fields, replace
from pathlib import Path

import pytest

from chaos.cli import parser
from chaos.cluster.interface import PowerCutMode, StoppedDisk
from chaos.commands.run_command import choices_of
from chaos.errors import UsageError
from chaos.nemesis.fault import parameters_of
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.recorded import fault_as_json
from chaos.nemesis.script import Schedule
from chaos.nemesis.victims import AllBrokers
from chaos.run.plan import RunPlan
from chaos.run.plan_files import command_of
from chaos.run.planning import Choices, plan_of, runs_on_kafka
from chaos.run.scenario_file import read_scenario_file
from chaos.scenario import SCENARIO_SETTINGS
from chaos.scenarios import BROKER_SCENARIOS, CONTROLLER_SCENARIOS, MIXED_SCENARIOS, SCENARIOS
from chaos.scenarios.controls import CONTROLS
from workloads.workload import RegisterOptions

EVERYTHING = (
    "run power-off-brokers --seed 3 --nodes 4 --duration 7 --concurrency 6 --rate 90 --keep --json"
    " --keep-on-failure --stop-at-first --pcap --app mine.sh"
    " --client librdkafka --topic-client librdkafka-unwaited --out there --mutation Q-ZOMBIE"
    " --target kafka:4.1.0 --set elr=off --set controllers=3 --runtime docker"
    f" --scenario-file {shlex.quote(__file__)}"
)

OTHERWISE = {"duration": "duration_s", "scenario_file": "file"}  # how a flag's field is called
NOT_OF_THE_RUN = {"json", "out", "expect", "command", "parser", "help", "traceback", "run"}
# What `compare` tells, and whether a person sits at a terminal.
NOT_OF_THE_LINE = {"side", "chores", "falls_back"}


def read(line: str) -> Choices:
    return choices_of(parser().parse_args(shlex.split(line)))


def plan(line: str) -> RunPlan:
    return plan_of(read(line))


def test_nothing_of_the_line_is_lost() -> None:
    assert read(EVERYTHING) == Choices(
        scenario="power-off-brokers",
        file=read_scenario_file(Path(__file__)),
        seed=3,
        nodes=4,
        duration_s=7.0,
        concurrency=6,
        rate=90.0,
        keep=True,
        keep_on_failure=True,
        stop_at_first=True,
        pcap=True,
        app="mine.sh",
        target="kafka:4.1.0",
        runtime="docker",
        settings={"elr": "off", "controllers": "3"},
        mutation="Q-ZOMBIE",
        client="librdkafka",
        topic_client="librdkafka-unwaited",
    )
    plain = read("run baseline")
    told = {each.name for each in fields(Choices)} - NOT_OF_THE_LINE
    assert [name for name in told if getattr(read(EVERYTHING), name) == getattr(plain, name)] == []
    flags = vars(parser().parse_args(shlex.split(EVERYTHING))).keys() - NOT_OF_THE_RUN
    assert {OTHERWISE.get(flag, flag) for flag in flags} == told


@pytest.mark.parametrize(
    "line",
    [
        "baseline --seed 4",
        "power-off --seed 4 --nodes 5 --duration 8 --concurrency 3 --rate 10 --runtime sim",
        "power-off --seed 4 --duration 8.0000001 --rate 33.333333333 --runtime sim",
        "power-off --seed 4 --set cut=torn --runtime sim",
        "blackout --seed 4 --target kafka --set cut=lose-data --set controllers=3",
        "partition-leader --seed 1 --mutation Q-ZOMBIE",
        "swarm --seed 9 --runtime sim",
        "swarm --seed 9 --runtime sim --nodes 7",
        "swarm --seed 9 --runtime sim --duration 4 --concurrency 4 --rate 7",
        "last-replica-standing --seed 2 --target kafka --set elr=off",
        "power-off-brokers --seed 2 --nodes 4 --set elr=off --client librdkafka",
        "power-off --seed 2 --set brokers=2 --set controllers=3",
        "power-off-brokers --seed 3 --target kafka:4.1.0 --set defaults=stock --rate 50",
        "power-off-brokers --seed 3 --target kafka --client kafka-python",
        "power-off-brokers --seed 3 --app 'python3 app.py'",
        "unwaited-topics --seed 3 --target kafka --topic-client librdkafka-unwaited",
        *(
            f"{name} --seed 5 --target {'kafka' if runs_on_kafka(scenario) else 'node'}"
            for name, scenario in BROKER_SCENARIOS.items()
        ),
        *(f"{name} --seed 5 --target mixed --set kafkas=2" for name in MIXED_SCENARIOS),
        *(f"{name} --seed 5" for name in CONTROLLER_SCENARIOS if name != "swarm"),
        *(f"{name} --seed 5 --target kafka" for name in CONTROLS if name != "lying-fsync"),
    ],
)
def test_the_line_that_is_shown_asks_for_the_same(line: str) -> None:
    asked = plan(f"run --runtime docker {line}")
    _, *shown = shlex.split(command_of(asked, "its-run"))
    assert shown[0] == "run"
    again = plan(shlex.join([*shown, "--runtime", asked.runtime]))
    assert again == asked


def test_what_no_flag_can_say_is_replayed() -> None:
    asked = plan("run kill-leader --seed 3 --runtime sim")
    windows = asked.drawn().windows[:1]
    for other in (
        replace(asked, schedule=Schedule(duration_s=asked.duration_s, windows=windows)),
        replace(asked, load=RegisterOptions(rate=100.0, most_operations=17)),
        replace(asked, nodes=1, runtime="docker"),
    ):
        assert command_of(other, "its-run") == "kraft-chaos replay its-run"


FITTING = {
    name: [each.name for each in SCENARIOS.values() if setting.fits(each)]
    for name, setting in SCENARIO_SETTINGS.items()
}
CUTTING, STOPPING = FITTING["cut"], FITTING["stopped_disk"]
# Every node knows three controllers in these, and Apache Kafka's usual quorum has one.
KNOWING_THREE = ("membership-churn", "changing-voters")
CUTTING_KAFKA = [
    name for name in CUTTING if name not in MIXED_SCENARIOS and name not in KNOWING_THREE
]


def test_which_scenarios_leave_open_what_disks_forget() -> None:
    timed = {
        "power-off",
        "blackout",
        "bootstrap",
        "laggard",
        "snapshot-catch-up",
        "membership-churn",
        "changing-voters",
        "mixed-quorum",
        "mixed-static",
        "mixed-broker",
        "power-off-brokers",
        "blackout-brokers",
    }
    assert set(CUTTING) == timed
    assert set(STOPPING) == {"clean-stop-power-off", "clean-stop-then-lead"}
    assert set(FITTING["moved_replica"]) == {"moved-replica", "moved-replicas", "elr-wiped"}
    assert set(FITTING["advertised"]) == {"unreachable-voter"}
    assert set(FITTING["voted"]) == {"removed-candidate"}
    assert set(FITTING["removal"]) == {"removed-leader"}
    assert set(FITTING["addition"]) == {"voting-broker"}
    assert set(FITTING["elr_level"]) == {"elr-downgrade", "elr-upgrade", "elr-upgrade-below"}
    assert set(FITTING["altered_min_isr"]) == {"raised-min-isr", "stranded-partition"}
    assert set(FITTING["designated"]) == {"designated-leader", "unclean-recovery"}
    assert list(FITTING) == [
        "cut",
        "stopped_disk",
        "moved_replica",
        "advertised",
        "voted",
        "removal",
        "addition",
        "elr_level",
        "altered_min_isr",
        "designated",
    ]


@pytest.mark.parametrize("name", SCENARIO_SETTINGS)
def test_a_setting_is_a_parameter_of_its_fault(name: str) -> None:
    """Every value is taken, and told with the fault; other faults stay as they are."""
    setting = SCENARIO_SETTINGS[name]
    default = setting.fault(victim=AllBrokers())  # type: ignore[call-arg]
    for value in setting.values:
        said = setting.applied(default, value)
        assert getattr(said, setting.parameter) == setting.made(value)
        assert value in json.dumps(fault_as_json(said))
        assert replace(said, **{setting.parameter: getattr(default, setting.parameter)}) == default
    other = Kill(victim=AllBrokers())
    assert setting.applied(other, next(iter(setting.values))) is other


@pytest.mark.parametrize("cut", PowerCutMode)
@pytest.mark.parametrize("name", CUTTING_KAFKA)
def test_every_power_cut_forgets_what_was_said(name: str, cut: PowerCutMode) -> None:
    line = (
        f"run {name} --seed 6 --target kafka --set min_isr=1 --set controllers=3 --runtime docker"
    )
    usual, asked = plan(line), plan(f"{line} --set cut={cut}")
    assert asked.target_settings == usual.target_settings
    assert dict(asked.target_settings)["min_isr"] == "1"
    cuts = [isinstance(fault, PowerOff) for fault in usual.faults]
    modes = [fault.mode for fault in asked.faults if isinstance(fault, PowerOff)]
    assert modes == [cut] * sum(cuts) != []
    times = [(it.at_s, it.hold_s, it.fault.victim) for it in usual.drawn().windows]
    assert [(it.at_s, it.hold_s, it.fault.victim) for it in asked.drawn().windows] == times


@pytest.mark.parametrize("disk", StoppedDisk)
@pytest.mark.parametrize("name", STOPPING)
def test_disks_of_stopped_nodes_are_as_was_said(name: str, disk: StoppedDisk) -> None:
    asked = plan(f"run {name} --target kafka --set stopped_disk={disk} --runtime docker")
    assert [parameters_of(fault) for fault in asked.faults] == [{"disk": str(disk)}]
    assert "stopped_disk" not in asked.target_settings
    assert f"--set stopped_disk={disk}" in command_of(asked, "its-run")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("power-off --set cut=some", "cut=some: the value must be lose-all or lose-data or torn"),
        ("kill-leader --set cut=torn", "kill-leader has no power cuts"),
        ("swarm --set cut=torn", "swarm has no power cuts"),
        (
            "silent-controller --target kafka --set cut=torn",
            "silent-controller has no power cuts",
        ),
        (
            "clean-stop-power-off --target kafka --set stopped_disk=no",
            "the value must be unsynced or synced",
        ),
        ("last-replica-standing --target kafka --set stopped_disk=synced", "it stopped before"),
        (
            "power-off --set stopped_disk=synced",
            "one of clean-stop-power-off, clean-stop-then-lead",
        ),
        ("power-off --set elr=on", "our own node has synced_format"),
        ("hanging-transaction --target kafka --client librdkafka", "our own clients leave some"),
    ],
)
def test_settings_that_do_not_fit_are_refused(line: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        plan(f"run {line} --runtime docker")


def test_help_names_every_value_where_a_scenario_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    for words, told in (("run power-off", True), ("compare power-off", True), ("up", False)):
        with pytest.raises(SystemExit):
            parser().parse_args([*words.split(), "--help"])
        shown = " ".join(capsys.readouterr().out.split())
        for name, setting in SCENARIO_SETTINGS.items():
            assert (f"{name}={' or '.join(setting.values)}" in shown) is told, words
