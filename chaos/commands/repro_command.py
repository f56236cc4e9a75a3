"""`kraft-chaos replay` and `repro`: a recorded run again, once or many times."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, whole
from chaos.errors import OperatorError, UsageError
from chaos.run.runtimes import RUNTIMES
from chaos.scenario import SIM

if TYPE_CHECKING:
    from checkers.verdict import Judgement


def add_parser(commands: Commands) -> None:
    _add_replay(commands)
    _add_repro(commands)


_REPLAY_ABOUT = (
    "Repeats a run by the plan in its run.json: faults at their times and with their parameters, "
    "nodes, load, time-outs, settings, seed, planted bug. With a schedule.json the faults are "
    "those in that file, changed or not. In virtual time the result is byte for byte the recorded "
    "one, and any difference is reported. In containers time is real, and only the schedule can be "
    "repeated; network and disks are the machine's own. For a scenario with conditions (a topic "
    "exists, the ISR is such) the steps are those of the scenario."
)

_REPLAY_EXAMPLES = """\
    kraft-chaos replay runs/campaign/20260204-110312-swarm-17
    kraft-chaos replay runs/latest/schedule.json --runtime docker
    kraft-chaos compare last-replica-standing && kraft-chaos replay runs/latest"""


def _add_replay(commands: Commands) -> None:
    command = add(
        commands,
        "replay",
        "repeat a recorded run, on either runtime",
        run_replay,
        about=_REPLAY_ABOUT,
        examples=_REPLAY_EXAMPLES,
    )
    command.add_argument("named", type=Path, metavar="RUN", help="a run, or its schedule.json")
    command.add_argument(
        "--runtime",
        choices=(*RUNTIMES, SIM),
        help="the runtime (default: as recorded)",
    )
    arguments.add_out(command, to="runs/replay")
    arguments.add_json(command, "the verdict")


def run_replay(parsed: argparse.Namespace) -> int:
    """The exit code is the verdict's."""
    from chaos.campaign.recorded_run import differences, plan_of_run, run_directory
    from chaos.progress import ConsoleProgress
    from chaos.run.launch import launch
    from chaos.run.planning import runtime_of
    from chaos.run.terminal import judgement_json, judgement_text

    recorded, plan = run_directory(parsed.named), plan_of_run(parsed.named)
    was, progress = plan.runtime, ConsoleProgress()
    plan = replace(plan, runtime=runtime_of(parsed.runtime or was, progress.tell, plan.target))
    ran = launch(plan, parsed.out, progress)
    if plan.runtime == was == SIM:
        progress.tell(_likeness(differences(recorded, ran.directory)))
    show = judgement_json if parsed.json else judgement_text
    sys.stdout.write(show(ran.judgement, ran.directory) + "\n")
    return ran.judgement.verdict.exit_code


def _likeness(other: list[str]) -> str:
    if not other:
        return "byte for byte as recorded"
    more = f" and {len(other) - 3} more" if len(other) > 3 else ""
    return f"not as recorded: {', '.join(other[:3])}{more} (another version of the program?)"


_REPRO_ABOUT = (
    "Repeats a failed run by the plan in its run.json, and says how often it fails alike: by one "
    "of the checks that failed then, or by the invariant of the same name. In containers each run "
    "repeats the same schedule. In virtual time a seed always gives the same bytes, so the first "
    "repeats the run, and each later one takes the next seed. Exits 1 if any failed, alike or not, "
    "0 if one was valid and none failed, and 3 if all were void, unknown or in error."
)
_REPRO_EXAMPLES = """\
    kraft-chaos repro runs/latest
    kraft-chaos repro runs/20260204-110312-power-off-7 --times 20 --runtime docker"""


def _add_repro(commands: Commands) -> None:
    command = add(
        commands,
        "repro",
        "how often a failed run fails again",
        run_repro,
        about=_REPRO_ABOUT,
        examples=_REPRO_EXAMPLES,
    )
    command.add_argument("named", type=Path, metavar="RUN", help="a run that failed")
    command.add_argument(
        "--times", type=whole(1, 10_000), default=10, metavar="N", help="repeats (default 10)"
    )
    command.add_argument(
        "--runtime", choices=(*RUNTIMES, SIM), help="the runtime (default: as recorded)"
    )
    arguments.add_out(command, to="runs/repro")
    arguments.add_json(command, "the counts")


def run_repro(parsed: argparse.Namespace) -> int:
    from chaos.campaign.recorded_run import plan_of_run, run_directory
    from chaos.progress import ConsoleProgress
    from chaos.run.launch import launch
    from chaos.run.planning import runtime_of

    directory, plan = run_directory(parsed.named), plan_of_run(parsed.named)
    wanted = _rules(_recorded(directory))
    if not wanted:
        raise UsageError(f"{directory} did not fail\n  try: kraft-chaos replay {directory}")
    progress = ConsoleProgress(quiet=parsed.json)
    runtime = runtime_of(parsed.runtime or plan.runtime, progress.tell, plan.target)
    plan = replace(plan, runtime=runtime)
    found: Counter[str] = Counter()  # `alike`, or the verdict of a run that failed otherwise
    for number in range(parsed.times):
        seed = plan.seed + (number if runtime == SIM else 0)
        progress.tell(f"run {number + 1} of {parsed.times}, seed {seed}")
        ran = launch(replace(plan, seed=seed), parsed.out, progress)
        if ran.interrupted:
            raise OperatorError(f"interrupted; until then: {', '.join(_counts(found)) or 'no run'}")
        found[_alike(ran.judgement, wanted)] += 1
        progress.tell(ran.judgement.sentence)
    progress.end()
    _tell(found, parsed, wanted)
    if found[_ALIKE] or found["invalid"]:
        return 1
    return 0 if found["valid"] else 3


_ALIKE = "alike"


def _recorded(directory: Path) -> "Judgement":
    from checkers.verdict_file import read_verdict

    try:
        return read_verdict(directory)
    except (OSError, ValueError) as error:
        raise OperatorError(f"{error}\n  try: kraft-chaos check {directory}") from error


def _rules(judgement: "Judgement") -> frozenset[str]:
    """The names of what failed."""
    from chaos.campaign.coverage import fingerprints

    return frozenset(each.rule for each in fingerprints(judgement, None))


def _alike(judgement: "Judgement", wanted: Collection[str]) -> str:
    """`alike`, or the verdict of a run that did not fail so."""
    return _ALIKE if _rules(judgement) & set(wanted) else judgement.verdict.word


def _tell(found: "Counter[str]", parsed: argparse.Namespace, wanted: Collection[str]) -> None:
    from checkers.verdict import in_words, wilson

    if parsed.json:
        low, high = wilson(found[_ALIKE], parsed.times)
        told = {"run": str(parsed.named), "checks": sorted(wanted), "times": parsed.times}
        told |= {"alike": found[_ALIKE], "low": low, "high": high, "counts": dict(found)}
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
        return
    lines = [f"failed alike {in_words(found[_ALIKE], parsed.times)}: {', '.join(sorted(wanted))}"]
    others = [each for each in _counts(found) if not each.endswith(_ALIKE)]
    if others:
        lines.append(f"  others: {', '.join(others)}")
    sys.stdout.write("\n".join([*lines, f"  runs: {parsed.out}"]) + "\n")


def _counts(found: "Counter[str]") -> Iterator[str]:
    yield from (f"{number} {word}" for word, number in found.most_common())
