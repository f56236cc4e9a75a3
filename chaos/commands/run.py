"""`kraft-chaos run`: one scenario, from nothing to a verdict."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from chaos.commands.show import judgement_json, judgement_text
from chaos.launch import Ran, launch
from chaos.planning import Choices, plan_of, runtime_of
from chaos.progress import ConsoleProgress
from chaos.rundir import LATEST, point_latest


def choices_of(parsed: argparse.Namespace) -> Choices:
    """What the line says of the run itself."""
    return Choices(
        scenario=parsed.scenario,
        seed=parsed.seed,
        nodes=parsed.nodes,
        duration_s=parsed.duration,
        concurrency=parsed.concurrency,
        rate=parsed.rate,
        target=parsed.target,
        settings=dict(parsed.settings),
        runtime=parsed.runtime,
        mutation=parsed.mutation,
        client=parsed.client,
        topic_client=parsed.topic_client,
        keep=parsed.keep,
    )


def run(parsed: argparse.Namespace) -> int:
    """Run it; the exit code is the verdict's."""
    ran = perform(choices_of(parsed), parsed.out, ConsoleProgress())
    show = judgement_json if parsed.json else judgement_text
    sys.stdout.write(show(ran.judgement, ran.directory) + "\n")
    return ran.judgement.verdict.exit_code


def perform(choices: Choices, out: Path, progress: ConsoleProgress) -> Ran:
    """One scenario on a fresh cluster, to its verdict. Raises what runtimes and set-up raise."""
    runtime = runtime_of(choices.runtime, progress.tell, choices.target)
    ran = launch(plan_of(replace(choices, runtime=runtime)), out, progress)
    _point_latest(ran.directory, progress)
    return ran


def _point_latest(directory: Path, progress: ConsoleProgress) -> None:
    """A file system without links takes nothing away from the run."""
    try:
        point_latest(directory)
    except OSError as error:
        progress.tell(f"{directory.parent / LATEST} does not point at it: {error.strerror}")
