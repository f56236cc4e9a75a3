"""One seed, from its plan to its row in `rows.jsonl`. Any failure on the way becomes a row as
well."""

import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from chaos.campaign.coverage import (
    Cell,
    Fingerprint,
    cell_from,
    fingerprint,
    looked_at,
    struck,
    unlike_expected,
)
from chaos.progress import ConsoleProgress
from chaos.run.judging import judge_directory
from chaos.run.launch import Ran, launch, name_of
from chaos.run.plan import RunPlan
from chaos.run.plan_files import command_of
from chaos.run.planning import Choices, plan_of
from checkers.history.sealed_run import Run
from checkers.history.store import UnreadableRunError, read_run
from checkers.verdict import Verdict

# The row of one seed's run: a line of `rows.jsonl`. Pure.


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRow:
    """`struck` counts the nodes that faults hit, `faults` the faults that bit. `directory` is where
    the run was kept; "" if it was not. `unlike` says what differs from the expectation of its
    side: "" if nothing does, None if nothing is expected."""

    seed: int
    verdict: Verdict
    fingerprint: Fingerprint | None = None
    sentence: str = ""
    virtual_s: float = 0.0
    real_s: float = 0.0
    operations: int = 0  # that succeeded
    faults: int = 0
    struck: Mapping[Cell, int] = field(default_factory=Counter)
    command: str = ""  # the command that repeats the run
    directory: str = ""
    unlike: str | None = None
    # by check, how many things it looked at
    looked_at: Mapping[str, int] = field(default_factory=Counter)

    @property
    def counts_as(self) -> Verdict:
        """The verdict as the campaign counts it: an expected result is good, and a valid run that
        was expected to fail is wrong."""
        if self.unlike is None:
            return self.verdict
        if not self.unlike:
            return Verdict.VALID
        return Verdict.INVALID if self.verdict is Verdict.VALID else self.verdict

    def as_json(self) -> dict[str, Any]:
        found = self.fingerprint
        return {
            "seed": self.seed,
            "verdict": self.verdict.word,
            "check": found.check if found else "",
            "anomaly": found.anomaly if found else "",
            "role": found.role if found else "",
            "sentence": self.sentence,
            "virtual_s": round(self.virtual_s, 3),
            "real_s": round(self.real_s, 3),
            "operations": self.operations,
            "faults": self.faults,
            "struck": {str(cell): count for cell, count in sorted(self.struck.items())},
            "command": self.command,
            "directory": self.directory,
            "unlike": self.unlike,
            "looked_at": dict(sorted(self.looked_at.items())),
        }


def row_from(line: Mapping[str, Any]) -> SeedRow:
    """A row from its `as_json`. Raises KeyError, ValueError."""
    fields = dict(line)
    check, anomaly, role = (fields.pop(name) for name in ("check", "anomaly", "role"))
    verdict = Verdict[fields.pop("verdict").upper()]
    struck = Counter({cell_from(text): count for text, count in fields.pop("struck").items()})
    fields["looked_at"] = Counter(fields["looked_at"])
    found = Fingerprint(check=check, anomaly=anomaly, role=role) if check else None
    return SeedRow(verdict=verdict, fingerprint=found, struck=struck, **fields)


def crashed(seed: int, what: str, where: str, command: str, real_s: float = 0.0) -> SeedRow:
    """The row of a seed whose harness or process failed: no verdict on the nodes, and never a good
    one."""
    return SeedRow(
        seed=seed,
        verdict=Verdict.ERROR,
        fingerprint=Fingerprint(check="harness", anomaly=what, role="-"),
        sentence=f"ERROR: {what}: {where}",
        real_s=real_s,
        command=command,
    )


KEPT = (Verdict.INVALID, Verdict.ERROR, Verdict.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What all seeds of a campaign share; failing runs go to `out`.

    Runs take place in `scratch`: the caller that made it removes it, with whatever a dead process
    left in it.
    """

    choices: Choices
    out: Path
    scratch: Path

    def plan(self, seed: int) -> RunPlan:
        return plan_of(replace(self.choices, seed=seed))

    def command(self, seed: int) -> str:
        """The command that runs one seed again."""
        return command_of(self.plan(seed), "")

    def row(self, seed: int) -> SeedRow:
        """Run and judge one seed. Never raises: no failure stops a campaign."""
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
                row = replace(row, directory=str(_keep(ran.directory, self.out / name_of(plan))))
            return row
        finally:
            shutil.rmtree(place, ignore_errors=True)


def row_of(plan: RunPlan, ran: Ran) -> SeedRow:
    """The row of a run."""
    run = readable(ran.directory)
    judgement = ran.judgement
    mismatch = plan.expected.mismatch(judgement) if plan.expected is not None else None
    return SeedRow(
        seed=plan.seed,
        verdict=judgement.verdict,
        fingerprint=fingerprint(judgement, run)
        or (unlike_expected(mismatch) if mismatch else None),
        unlike=mismatch,
        sentence=judgement.sentence,
        virtual_s=ran.duration_s,
        operations=int(judgement.statistics.get("operations_ok") or 0),
        faults=int(judgement.statistics.get("faults_bit") or 0),
        struck=struck(run) if run is not None else Counter(),
        command=command_of(plan, name_of(plan)),
        looked_at=looked_at(judgement, run),
    )


def readable(directory: Path) -> Run | None:
    """A run from its sealed tables; None if they cannot be read."""
    try:
        return read_run(directory)
    except UnreadableRunError:
        return None  # the judgement says why


def _keep(directory: Path, kept: Path) -> Path:
    """Keep the run under the name that any run of this seed has, in place of an earlier one."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(kept, ignore_errors=True)
    directory.rename(kept)
    return kept
