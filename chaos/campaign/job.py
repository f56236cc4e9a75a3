"""One seed, from its plan to its row. Whatever goes wrong is a row as well."""

import shutil
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.campaign.coverage import looked_at, struck
from chaos.campaign.fingerprint import fingerprint, unlike_expected
from chaos.campaign.row import SeedRow, crashed
from chaos.judging import judge_directory
from chaos.launch import Ran, launch
from chaos.plan import RunPlan
from chaos.plan_line import command_of
from chaos.planning import Choices, plan_of
from chaos.progress import ConsoleProgress
from checkers.history.sealed_run import Run
from checkers.history.store import UnreadableRunError, read_run
from checkers.verdict import Verdict

KEPT = (Verdict.INVALID, Verdict.ERROR, Verdict.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What all seeds of a campaign have in common; `out` is where failing runs go.

    Runs go on in `scratch`: the caller that made it removes it, with what a process that died left
    in it.
    """

    choices: Choices
    out: Path
    scratch: Path

    def plan(self, seed: int) -> RunPlan:
        return plan_of(replace(self.choices, seed=seed))

    def command(self, seed: int) -> str:
        """The line that runs one seed again."""
        return command_of(self.plan(seed), "")

    def row(self, seed: int) -> SeedRow:
        """Run it and judge it. Never raises: a campaign stops at nothing."""
        began = time.perf_counter()
        command = ""
        try:
            command = self.command(seed)
            row = self._run(self.plan(seed))
        except Exception as error:  # noqa: BLE001 - the next seed must have its turn
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{error} ({Path(last.filename).name}:{last.lineno})"
            row = crashed(seed, type(error).__name__, where, command)
        return replace(row, real_s=time.perf_counter() - began)

    def _run(self, plan: RunPlan) -> SeedRow:
        self.scratch.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            ran = launch(plan, place, ConsoleProgress(quiet=True), page=False)
            row = row_of(plan, ran)
            if row.counts_as in KEPT:
                judge_directory(ran.directory)  # with its page
                row = replace(row, directory=str(_keep(ran.directory, self.out)))
            return row
        finally:
            shutil.rmtree(place, ignore_errors=True)


def row_of(plan: RunPlan, ran: Ran) -> SeedRow:
    """What a run amounts to."""
    run = _readable(ran.directory)
    judgement = ran.judgement
    unlike = plan.expected.unlike(judgement) if plan.expected is not None else None
    return SeedRow(
        seed=plan.seed,
        verdict=judgement.verdict,
        fingerprint=fingerprint(judgement, run) or (unlike_expected(unlike) if unlike else None),
        unlike=unlike,
        sentence=judgement.sentence,
        virtual_s=ran.duration_s,
        operations=int(judgement.statistics.get("operations_ok") or 0),
        faults=int(judgement.statistics.get("faults_bit") or 0),
        struck=struck(run) if run is not None else Counter(),
        command=command_of(plan, ran.directory.name),
        looked_at=looked_at(judgement, run),
    )


def _readable(directory: Path) -> Run | None:
    try:
        return read_run(directory)
    except UnreadableRunError:
        return None  # the judgement says why


def _keep(directory: Path, out: Path) -> Path:
    """Under the name that any run of this seed has; a run that was kept before makes place."""
    out.mkdir(parents=True, exist_ok=True)
    kept = out / directory.name
    shutil.rmtree(kept, ignore_errors=True)
    directory.rename(kept)
    return kept
