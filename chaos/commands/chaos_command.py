"""`kraft-chaos chaos`: random faults by their kinds, without the name of a scenario."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from chaos.commands import run_command
from chaos.commands.arguments import Commands, add, seconds
from chaos.errors import UsageError, explained
from chaos.nemesis.kinds import KINDS
from chaos.nemesis.recorded import VICTIM_WORDS

if TYPE_CHECKING:
    from chaos.run.scenario_file import ScenarioFile

_NAME = "chaos"
_USUALLY = "kill,pause,partition,partition-one-way"
_OPERATIONS_A_SECOND = 100.0
_REGISTER, _APPEND = "register", "append"
_WORKLOADS = (_REGISTER, _APPEND, "membership")


def _drawn() -> str:
    """The kinds whose parameters are drawn, and the names for injecting by hand."""
    names = {
        name: None for kind in KINDS if kind.swarm_specs or kind.by_hand for name in kind.kinds
    }
    names |= {name: None for kind in KINDS for name in kind.by_hand}
    return " ".join(names)


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "chaos",
        "random faults of these kinds, at this interval; exits with the verdict",
        run,
        about="Runs a cluster under load, lets one fault begin in each interval, and judges what "
        "happened. The seed draws the order of the kinds, the moments, the victims, and parameters "
        "that are not given. The run records all of it: replay, repro, shrink and check take its "
        "directory as that of any run. A kind that this machine or target cannot do is refused by "
        "name before anything starts.\n"
        f"kinds: {_drawn()}, and all others of docs/reference/faults.md\n"
        "with parameters: power-off:mode=torn, clock-jump:offset_ms=5000; with its victim: "
        "kill-leader\n"
        f"victims: {' '.join(VICTIM_WORDS)}, or the number of a node",
        examples="""\
            kraft-chaos chaos
            kraft-chaos chaos --faults power-off,pause --every 5s --for 1m --runtime sim --seed 7
            kraft-chaos chaos --faults power-off,partition-one-way,pause --for 5m --target kafka
            kraft-chaos chaos --faults kill --victims partition-leader --workload append
            kraft-chaos chaos --faults pause,slow-links --overlap --hold 5s..20s
            kraft-chaos chaos --faults kill,pause --save mine.toml   to edit it, or for campaigns
            kraft-chaos replay runs/latest                   the same once more""",
    )
    command.add_argument(
        "--faults",
        type=_words,
        default=_words(_USUALLY),
        metavar="KIND[,KIND...]",
        help=f"what happens, each as often as the others (default {_USUALLY})",
    )
    command.add_argument(
        "--victims",
        type=_words,
        metavar="NODE[,NODE...]",
        help="what a fault hits, drawn for each; one that is named twice is twice as likely "
        "(default: leaders, followers and random nodes; with --workload append, leaders and "
        "followers of partitions, random brokers and the active controller)",
    )
    command.add_argument(
        "--every",
        type=seconds(0.5, 86_400),
        default=10.0,
        metavar="TIME",
        help="one fault begins in each interval of this length (default 10s)",
    )
    command.add_argument(
        "--hold",
        type=_hold,
        metavar="TIME[..TIME]",
        help="how long a fault lasts (default: a fifth to three fifths of the interval)",
    )
    command.add_argument(
        "--overlap", action="store_true", help="a fault may begin while others last"
    )
    command.add_argument(
        "--for",
        type=seconds(1, 86_400),
        default=60.0,
        dest="lasts_s",
        metavar="TIME",
        help="how long faults come, such as 90s, 5m or 1h30m (default 1m)",
    )
    command.add_argument(
        "--workload",
        choices=_WORKLOADS,
        help="what clients do (default append, to logs of brokers, where the target has brokers; "
        "else register)",
    )
    command.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="run nothing, and write the scenario to a TOML file, for run and campaign "
        "--scenario-file",
    )
    run_command.add_seed_and_nodes(command)
    run_command.add_clients(command, usual_rate=f"{_OPERATIONS_A_SECOND:g}")
    run_command.add_ending(command)


def _words(text: str) -> tuple[str, ...]:
    found = tuple(filter(None, text.split(",")))
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} names nothing")
    return found


def _hold(text: str) -> tuple[float, float]:
    """`2s`, or `1s..5s`."""
    least, dots, most = text.partition("..")
    read = seconds(0.05, 86_400)
    found = read(least), read(most if dots else least)
    if found[0] > found[1]:
        raise argparse.ArgumentTypeError(f"{text!r} goes from more to less")
    return found


def run(parsed: argparse.Namespace) -> int:
    """The verdict's exit code, or whether it is as expected."""
    from chaos.cluster.targets.named import has_brokers

    has_logs = has_brokers(parsed.target, dict(parsed.settings))
    file = _file(parsed, parsed.workload or (_APPEND if has_logs else _REGISTER))
    if parsed.save is not None:
        return _save(file, parsed.save)
    return run_command.carry_out(parsed, run_command.choices_for(parsed, _NAME, file))


def _save(file: "ScenarioFile", path: Path) -> int:
    try:
        with path.open("x", encoding="utf-8") as written:  # it may have been edited
            written.write(file.text)
    except OSError as error:
        raise UsageError(f"--save: {explained(error)}") from error
    sys.stdout.write(
        f"{path}: {_NAME}\n"
        f"  kraft-chaos run --scenario-file {path}\n"
        f"  kraft-chaos campaign --scenario-file {path} --seeds 0..99\n"
    )
    return 0


def _file(parsed: argparse.Namespace, workload: str) -> "ScenarioFile":
    """What was asked for, as a scenario file. Raises UsageError."""
    from chaos.run.random_faults import OF_PARTITIONS, OF_QUORUMS, RandomFaults, usual_hold
    from chaos.run.scenario_file import ScenarioFile

    usual = OF_PARTITIONS if workload == _APPEND else OF_QUORUMS
    try:
        faults = RandomFaults(
            faults=parsed.faults,
            victims=parsed.victims or usual,
            every_s=parsed.every,
            hold_s=parsed.hold or usual_hold(parsed.every),
            overlap=parsed.overlap,
        )
    except ValueError as error:
        raise UsageError(f"{error}\n  try: kraft-chaos chaos --help") from error
    lines = [
        f"name = {json.dumps(_NAME)}",
        f"summary = {json.dumps(_summary(parsed))}",
        'description = "Faults of these kinds, at moments and of victims that the seed draws."',
        f"duration_s = {parsed.lasts_s!r}",
        f"workload = {json.dumps(workload)}",
        "",
        "[load]",
        f"rate = {parsed.rate or _OPERATIONS_A_SECOND!r}",
        "",
        faults.as_toml(),
    ]
    return ScenarioFile(name=f"{_NAME}.toml", text="\n".join(lines) + "\n")


def _summary(parsed: argparse.Namespace) -> str:
    kinds = ", ".join(parsed.faults)
    beside = ", also side by side" if parsed.overlap else ""
    return f"{kinds} at random, one every {parsed.every:g} s{beside}"
