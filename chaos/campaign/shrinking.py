"""What is left of a failing run when all that it does not need is gone."""

import shutil
import sys
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from chaos.campaign.coverage import Fingerprint, fingerprints
from chaos.campaign.recorded_run import NARRATIVE, plan_of_run, run_directory, write_narrative
from chaos.campaign.repeated_runs import RepeatedRuns, in_containers, nodes_of
from chaos.campaign.shrinker import OutOfTimeError, Shrinker
from chaos.cluster.targets.named import NODE
from chaos.errors import OperatorError, UsageError
from chaos.progress import ConsoleProgress
from chaos.run.judging import judge_directory
from chaos.run.launch import Ran, launch
from chaos.run.plan import RunPlan
from chaos.run.plan_files import replay_line
from chaos.run.terminal import of_run
from chaos.scenario import SIM
from checkers.history.store import read_run
from checkers.verdict import Verdict, counted
from checkers.verdict_file import as_row


def shrink_repeating(
    named: Path,
    runtime: str,
    minutes: float,
    tries: int,
    out: Path,
    *,
    fails: int = 1,
    as_json: bool = False,
) -> int:
    """0 if a run that fails alike was kept, the smallest that repeated runs in containers showed:
    each plan is tried up to so many times, of which `fails` must fail."""
    if fails > tries:
        raise UsageError(f"--fails {fails} of --tries {tries} can never be\n  try: --tries {fails}")
    recorded = run_directory(named)
    plan = replace(plan_of_run(named), runtime=runtime)
    if plan.script is not None:
        raise OperatorError(
            f"{recorded} cannot be shrunk in containers: its steps wait for each other, and none "
            f"can be left out\n  try: kraft-chaos repro {recorded}"
        )
    wanted = _wanted(recorded)
    progress = ConsoleProgress()
    out.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".shrink-", dir=out))
    try:
        rules = sorted({each.rule for each in wanted})
        progress.tell(f"looking for the least that breaks  {' or  '.join(rules)}")
        repeated = RepeatedRuns(
            rules,
            tries=tries,
            fails=fails,
            within_s=60 * minutes,
            run=in_containers(scratch),
            tell=progress.tell,
        )
        try:
            best = repeated.shrink(plan)
        except BaseException:  # Ctrl-C, or an engine that died: what was found stays
            if repeated.best is not None:
                kept = _moved(repeated.best.ran.directory, out)
                progress.tell(f"{repeated.best}: {kept} is the smallest so far")
            raise
        if best is None:
            raise OperatorError(
                f"{recorded} cannot be shrunk: in {counted(repeated.runs, 'run')} it did not fail "
                f"alike again\n  try: kraft-chaos repro {recorded}, or --tries {2 * tries}"
            )
        directory = _moved(best.ran.directory, out)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    again = replay_line(str(directory))
    narrative = write_narrative(read_run(directory), best.ran.judgement, again)
    if as_json:
        about = {
            **as_row(best.ran.judgement),
            "failed": best.failed,
            "tries": best.tries,
            "runs": repeated.runs,
            "narrative": str(narrative),
        }
        sys.stdout.write(of_run(directory, about) + "\n")
        return 0
    sys.stdout.write(
        f"{best.ran.judgement.sentence}\n"
        f"  was    {counted(len(plan.drawn().windows), 'fault')}, {plan.duration_s:g} s, "
        f"{counted(nodes_of(plan), 'node')}, {counted(plan.load.concurrency, 'client')}\n"
        f"  is     {best}\n  took   {counted(repeated.runs, 'run')}\n"
        f"  narrative  {narrative}\n  again      {again}\n"
        f"  how often  kraft-chaos repro {directory} --times 10\n"
    )
    return 0


def _moved(directory: Path, out: Path) -> Path:
    kept = out / directory.name
    number = 1
    while kept.exists():
        number += 1
        kept = out / f"{directory.name}-{number}"
    return directory.rename(kept)


def shrink(named: Path, minutes: float, out: Path, *, as_json: bool = False) -> int:
    """0 if a smaller run that fails alike was kept, with its narrative."""
    recorded = run_directory(named)
    plan = plan_of_run(named)
    if plan.target != NODE:
        raise OperatorError(
            f"{recorded} cannot be shrunk in virtual time: {plan.target} runs only in containers\n"
            f"  try: kraft-chaos shrink {recorded} --runtime docker --minutes 60"
        )
    wanted = _wanted(recorded)
    simulated = plan.runtime == SIM
    plan = replace(plan, runtime=SIM)
    progress = ConsoleProgress()
    out.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".shrink-", dir=out))
    try:
        told = wanted[:1] if simulated else wanted
        progress.tell(f"looking for the least that shows  {' or  '.join(map(str, told))}")
        shrinker = Shrinker(
            plan, wanted[0], within_s=60 * minutes, tell=progress.tell, scratch=scratch
        )
        rules = frozenset() if simulated else frozenset(each.rule for each in wanted)
        _require_failure(shrinker, plan, recorded, rules)
        whole = shrinker.size
        ran = _keep(shrinker.shrink(), out)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    directory = ran.directory
    if as_json:
        about = {
            **as_row(ran.judgement),
            "was": asdict(whole),
            "is": asdict(shrinker.size),
            "attempts": shrinker.attempts,
            "narrative": str(directory / NARRATIVE),
        }
        sys.stdout.write(of_run(directory, about) + "\n")
        return 0
    sys.stdout.write(
        f"{ran.judgement.sentence}\n"
        f"  was    {whole}\n"
        f"  is     {shrinker.size}, after {counted(shrinker.attempts, 'attempt')}\n"
        f"  narrative  {directory / NARRATIVE}\n  again      kraft-chaos replay {directory}\n"
    )
    return 0


def made_small(
    plan: RunPlan, wanted: Fingerprint, out: Path, within_s: float
) -> tuple[RunPlan, Ran]:
    """The smallest plan that was seen to fail alike, and its run, kept in `out` with its narrative.
    The plan itself was seen to fail, in virtual time."""
    quiet = ConsoleProgress(quiet=True)
    scratch = Path(tempfile.mkdtemp(prefix=".shrink-", dir=out))
    try:
        shrinker = Shrinker(plan, wanted, within_s=within_s, tell=quiet.tell, scratch=scratch)
        found = shrinker.shrink()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return found, _keep(found, out)


def _wanted(recorded: Path) -> Sequence[Fingerprint]:
    judgement = judge_directory(recorded)
    found = fingerprints(judgement, read_run(recorded))
    if not found or judgement.verdict is not Verdict.INVALID:
        raise OperatorError(
            f"{recorded} is {judgement.verdict.word}: there is no failure to shrink\n"
            "  try: kraft-chaos campaign --seeds 0..99"
        )
    return found


def _require_failure(
    shrinker: Shrinker, plan: RunPlan, recorded: Path, rules: Collection[str]
) -> None:
    """A simulated run fails again as it did. Of one in containers only the schedule is repeated:
    one of the `rules` that it broke must be broken again."""
    try:
        fails = shrinker.fails_by_the_same_rule(plan, rules) if rules else shrinker.fails(plan)
    except OutOfTimeError:
        fails = False
    if not fails:
        step = "shrink {} --runtime docker --minutes 60" if rules else "replay {} --runtime sim"
        raise OperatorError(
            f"{recorded} cannot be shrunk: in virtual time it does not fail in the same way\n"
            f"  try: kraft-chaos {step.format(recorded)}"
        )


def _keep(plan: RunPlan, out: Path) -> Ran:
    """Run the smallest plan once more and keep the whole run, with its narrative, which names the
    command that repeats it."""
    ran = launch(plan, out, ConsoleProgress(quiet=True))
    again = replay_line(str(ran.directory))
    write_narrative(read_run(ran.directory), ran.judgement, again)
    return ran
