"""What is left of a failing run when all that it does not need is gone."""

import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from chaos.campaign.coverage import Fingerprint, fingerprint
from chaos.campaign.recorded_run import NARRATIVE, plan_of_run, run_directory, write_narrative
from chaos.campaign.shrinker import OutOfTimeError, Shrinker
from chaos.cluster.targets.named import NODE
from chaos.errors import OperatorError
from chaos.progress import ConsoleProgress
from chaos.run.judging import judge_directory
from chaos.run.launch import Ran, launch, name_of
from chaos.run.plan import RunPlan
from chaos.run.plan_files import replay_line
from chaos.scenario import SIM
from checkers.history.store import read_run
from checkers.verdict import Verdict, counted


def shrink(named: Path, minutes: float, out: Path) -> int:
    """0 if a smaller run that fails alike was kept, with its narrative."""
    recorded = run_directory(named)
    plan = plan_of_run(named)
    if plan.target != NODE:
        raise OperatorError(
            f"{recorded}: {plan.target} runs in containers only, and what fails is made smaller in "
            f"virtual time\n  try: kraft-chaos replay {recorded}"
        )
    wanted = _wanted(recorded)
    plan = replace(plan, runtime=SIM)
    progress = ConsoleProgress()
    out.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".shrink-", dir=out))
    try:
        progress.tell(f"looking for the least that shows  {wanted}")
        shrinker = Shrinker(
            plan, wanted, within_s=60 * minutes, tell=progress.tell, scratch=scratch
        )
        _require_failure(shrinker, plan, recorded)
        whole = shrinker.size
        ran = _keep(shrinker.shrink(), out)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    directory = ran.directory
    sys.stdout.write(
        f"{ran.judgement.sentence}\n"
        f"  was    {whole}\n"
        f"  is     {shrinker.size}, after {counted(shrinker.attempts, 'attempt')}\n"
        f"  narrative  {directory / NARRATIVE}\n  again      kraft-chaos replay {directory}\n"
    )
    return 0


def _wanted(recorded: Path) -> Fingerprint:
    judgement = judge_directory(recorded)
    found = fingerprint(judgement, read_run(recorded))
    if found is None or judgement.verdict is not Verdict.INVALID:
        raise OperatorError(
            f"{recorded} is {judgement.verdict.word}: there is no failure to shrink\n"
            "  try: kraft-chaos campaign --seeds 0..99"
        )
    return found


def _require_failure(shrinker: Shrinker, plan: RunPlan, recorded: Path) -> None:
    try:
        fails = shrinker.fails(plan)
    except OutOfTimeError:
        fails = False
    if not fails:
        raise OperatorError(
            f"{recorded} does not fail alike in virtual time: nothing can be tried on it\n"
            f"  try: kraft-chaos replay {recorded} --runtime sim"
        )


def _keep(plan: RunPlan, out: Path) -> Ran:
    """Run the smallest plan once more and keep the whole run, with its narrative, which names the
    command that repeats it."""
    directory = out / name_of(plan)
    again = replay_line(str(directory))
    shutil.rmtree(directory, ignore_errors=True)  # left by an earlier attempt of the same seed
    ran = launch(plan, out, ConsoleProgress(quiet=True))
    write_narrative(read_run(ran.directory), ran.judgement, again)
    return ran
