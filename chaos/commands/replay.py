"""`kraft-chaos replay`: a recorded run once more, on either runtime."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.campaign.replay import differences, plan_of_run, run_directory
from chaos.commands.show import judgement_json, judgement_text
from chaos.launch import launch
from chaos.planning import runtime_of
from chaos.progress import ConsoleProgress
from chaos.scenario import SIM


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayArguments:
    """The command line of `replay`, checked. Without a `runtime`: where it was recorded."""

    named: Path
    runtime: str | None
    out: Path
    as_json: bool


def replay(arguments: ReplayArguments) -> int:
    """Run it; the exit code is the verdict's."""
    recorded = run_directory(arguments.named)
    plan = plan_of_run(arguments.named)
    was = plan.runtime
    progress = ConsoleProgress()
    runtime = runtime_of(arguments.runtime or was, progress.tell, plan.target)
    plan = replace(plan, runtime=runtime)
    ran = launch(plan, arguments.out, progress)
    if plan.runtime == was == SIM:
        other = differences(recorded, ran.directory)
        progress.tell(_likeness(other))
    show = judgement_json if arguments.as_json else judgement_text
    sys.stdout.write(show(ran.judgement, ran.directory) + "\n")
    return ran.judgement.verdict.exit_code


def _likeness(other: list[str]) -> str:
    if not other:
        return "byte for byte what was recorded"
    more = f" and {len(other) - 3} more" if len(other) > 3 else ""
    return f"not what was recorded: {', '.join(other[:3])}{more} (another version of the program?)"
