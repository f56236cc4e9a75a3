"""What the line of `run` says is done, and the line in run.json says it again."""

import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from chaos.commands.parser import parser
from chaos.commands.run import RunArguments, plan_of, run_arguments
from chaos.plan import RunPlan

EVERYTHING = (
    "run power-off-brokers --seed 3 --nodes 4 --duration 7 --concurrency 6 --rate 90 --keep --json"
    " --client librdkafka --topic-client librdkafka-unwaited --out there --mutation Q-ZOMBIE"
    " --target kafka:4.1.0 --set elr=off --set controllers=3 --runtime docker"
)

OTHERWISE = {"duration": "duration_s", "json": "as_json"}  # how a flag's field is called


def read(line: str) -> RunArguments:
    return run_arguments(parser().parse_args(shlex.split(line)))


def plan(line: str) -> RunPlan:
    return plan_of(read(line))


def test_nothing_of_the_line_is_lost() -> None:
    assert read(EVERYTHING) == RunArguments(
        scenario="power-off-brokers",
        seed=3,
        nodes=4,
        duration_s=7.0,
        concurrency=6,
        rate=90.0,
        out=Path("there"),
        keep=True,
        as_json=True,
        target="kafka:4.1.0",
        runtime="docker",
        settings={"elr": "off", "controllers": "3"},
        mutation="Q-ZOMBIE",
        client="librdkafka",
        topic_client="librdkafka-unwaited",
    )
    plain = read("run baseline")
    told = [each.name for each in fields(RunArguments)]
    assert [name for name in told if getattr(read(EVERYTHING), name) == getattr(plain, name)] == []
    flags = vars(parser().parse_args(shlex.split(EVERYTHING))).keys() - {
        "command",
        "help",
        "traceback",
    }
    assert {OTHERWISE.get(flag, flag) for flag in flags} == set(told)


@pytest.mark.parametrize(
    "line",
    [
        "baseline --seed 4",
        "power-off --seed 4 --nodes 5 --duration 8 --concurrency 3 --rate 10 --runtime sim",
        "partition-leader --seed 1 --mutation Q-ZOMBIE",
        "swarm --seed 9 --runtime sim",
        "last-replica-standing --seed 2 --target kafka --set elr=off",
        "power-off-brokers --seed 3 --target kafka:4.1.0 --set defaults=stock --rate 50",
        "power-off-brokers --seed 3 --target kafka --client kafka-python",
        "unwaited-topics --seed 3 --target kafka --topic-client librdkafka-unwaited",
    ],
)
def test_the_line_that_is_kept_asks_for_the_same(line: str) -> None:
    asked = plan(f"run --runtime docker {line}")
    _, *kept = shlex.split(asked.command)
    again = plan(shlex.join([*kept, "--runtime", asked.runtime]))
    assert again == asked
