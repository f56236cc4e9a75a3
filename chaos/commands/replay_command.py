"""`kraft-chaos replay`: repeats a recorded run, on either runtime."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add
from chaos.run.runtimes import RUNTIMES
from chaos.scenario import SIM

_ABOUT = (
    "Repeats a run by the plan in its run.json: faults at their times and with their parameters, "
    "nodes, load, time-outs, settings, seed, planted bug. With a schedule.json the faults are "
    "those in that file, changed or not. In virtual time the result is byte for byte the recorded "
    "one, and any difference is reported. In containers time is real, and only the schedule can be "
    "repeated; network and disks are the machine's own. For a scenario with conditions (a topic "
    "exists, the ISR is such) the steps are those of the scenario."
)

_EXAMPLES = """\
    kraft-chaos replay runs/campaign/20260204-110312-swarm-17
    kraft-chaos replay runs/latest/schedule.json --runtime docker
    kraft-chaos compare last-replica-standing && kraft-chaos replay runs/latest"""


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "replay",
        "repeat a recorded run, on either runtime",
        run,
        about=_ABOUT,
        examples=_EXAMPLES,
    )
    command.add_argument("named", type=Path, metavar="RUN", help="a run, or its schedule.json")
    command.add_argument(
        "--runtime",
        choices=(*RUNTIMES, SIM),
        help="the runtime (default: as recorded)",
    )
    arguments.add_out(command, to="runs/replay")
    arguments.add_json(command, "the verdict")


def run(parsed: argparse.Namespace) -> int:
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
