"""From recorded events to a verdict: seal, judge, write `verdict.json`, the page and `repro.sh`.

Used at the end of a run and by `kraft-chaos check`. A crashed checker is an error, never a verdict;
a violation in a run that broke off stays a violation.
"""

import shlex
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from chaos.run.own_app import own_app_rows
from chaos.run.packages import own_checks
from chaos.run.plan_files import replay_line
from chaos.run.seal import UnsealableError, seal
from checkers.evidence.evidence import Evidence
from checkers.history.sealed_run import Run, RunInfo, differences, has_any_file, read_run_info
from checkers.history.store import (
    EVENTS,
    DamagedSealError,
    UnreadableRunError,
    read_run,
    replace_file,
)
from checkers.page import render_page
from checkers.suite import CHECKS, judge, write_verdict
from checkers.verdict import CheckResult, Judgement, Verdict, worst

PAGE = "report.html"
REPRO = "repro.sh"
HARNESS_LOG = "harness.log"
_BESIDE = (PAGE, REPRO, "schedule.json")  # for people: what the verdict's file vouches for
_READ_BACK_EVERY = 16


def judge_directory(directory: Path, *, page: bool = True, reseal: bool = False) -> Judgement:
    """Judge a run, sealing it first if need be, and leave all results in its directory.

    A damaged seal makes the run unknown; only `reseal` replaces it.
    Raises UnsealableError, and UsageError for a check of an installed package that cannot be had.
    """
    if reseal:
        _reseal(directory)
    try:
        run = _sealed(directory)
    except DamagedSealError as error:
        return _damaged(directory, error)
    evidence = Evidence(run)
    judgement = _judged(evidence, directory)
    own = own_app_rows(directory, run.info.plan)
    for row in (*own, *troubles(run), *broken_invariants(run)):
        judgement = with_row(judgement, row)
    if page:
        _write_page(evidence, judgement, directory)
    _write_repro(run.info, judgement, directory)
    write_verdict(directory, judgement, beside=_BESIDE, syncs=not run.info.is_simulated)
    return judgement


def _sealed(directory: Path) -> Run:
    """Seal from the events if the seal is missing or of another version.

    Raises DamagedSealError: the files beside a damaged table may be damaged too.
    """
    try:
        return _compared(read_run(directory))
    except DamagedSealError:
        raise
    except UnreadableRunError:
        return _as_read(seal(directory))


def _as_read(sealed: Run) -> Run:
    """The sealed run, read back. Most simulated runs, which are many and short, are judged by the
    tables in memory; one in so many is read back to show that the directory has the same."""
    if sealed.info.is_simulated and sealed.info.seed % _READ_BACK_EVERY:
        return sealed
    run = read_run(sealed.directory)
    assert run == sealed, f"{sealed.directory} is not read as it was sealed"
    return run


def _reseal(directory: Path) -> None:
    if not any(directory.glob(EVENTS)):
        raise UnsealableError(f"{directory} cannot be sealed: it has no {EVENTS}")
    seal(directory)


def _damaged(directory: Path, error: DamagedSealError) -> Judgement:
    """Unknown, whatever the run was before; an older page would contradict it, and is removed."""
    message = str(error).replace("\n  try:", "; try:")
    row = CheckResult(check="sealed-tables", verdict=Verdict.UNKNOWN, message=message)
    info = read_run_info(directory)
    judgement = replace(broken(info.run_id, row), sentence=f"UNKNOWN: {message}")
    write_verdict(directory, judgement)
    (directory / PAGE).unlink(missing_ok=True)
    _write_repro(info, judgement, directory)
    return judgement


def _compared(run: Run) -> Run:
    """A sealed run, with its files that were changed since; an archive has none of these files."""
    own = run.info.inventory_crc32c
    if own is None or not has_any_file(run.directory, own):
        return run
    return replace(run, differs={**differences(run.directory, own), **run.differs})


def broken(run_id: str, row: CheckResult) -> Judgement:
    """The judgement of a run that cannot be judged."""
    return Judgement(run_id=run_id, verdict=row.verdict, sentence=row.message, results=(row,))


def not_judged(directory: Path, run_id: str, signal_name: str) -> Judgement:
    """The judgement of a run that a signal left without one. Nothing is written."""
    message = (
        f"interrupted by {signal_name} while the run was judged; the record is kept; "
        f"try: kraft-chaos check {shlex.quote(str(directory))}"
    )
    row = CheckResult(check="judge", verdict=Verdict.ERROR, message=message)
    return replace(broken(run_id, row), sentence=f"ERROR: {message}")


def with_row(judgement: Judgement, row: CheckResult) -> Judgement:
    """A judgement with one more row; its sentence is that of the worst."""
    verdict = worst((judgement.verdict, row.verdict))
    worse = verdict is not judgement.verdict
    sentence = f"{verdict.name}: {row.message}" if worse else judgement.sentence
    return replace(judgement, verdict=verdict, sentence=sentence, results=(row, *judgement.results))


def log_crash(directory: Path, error: BaseException) -> None:
    """Keep a traceback for developers of the harness; operators get one sentence."""
    # On a full disk there is no room for it, and the sentence matters more.
    with suppress(OSError), (directory / HARNESS_LOG).open("a", encoding="utf-8") as log:
        log.writelines(traceback.format_exception(error))


def troubles(run: Run) -> list[CheckResult]:
    """A row for what went wrong with the harness itself."""
    info = run.info
    if not info.trouble and (info.finished or info.stuck):
        return []
    message = info.trouble or "the harness died before the end of the run"
    return [CheckResult(check="run", verdict=Verdict.ERROR, message=message)]


def broken_invariants(run: Run) -> list[CheckResult]:
    """A row for a broken invariant inside simulated nodes."""
    broken = run.info.broken_invariant
    if broken is None:
        return []
    return [
        CheckResult(
            check=f"invariant:{broken['invariant']}",
            verdict=Verdict.INVALID,
            message=str(broken["what"]),
            looked_at=1,
            count=1,
            witness=({**broken, "what": f"broke {broken['invariant']} in this step"},),
            algorithm="looked at the nodes from inside, after every step",
        )
    ]


def _judged(evidence: Evidence, directory: Path) -> Judgement:
    checks = (*CHECKS, *own_checks())
    try:
        return judge(evidence, checks, _stopwatch(evidence.info))
    except Exception as error:  # noqa: BLE001 - whatever a checker throws, the run is not valid
        log_crash(directory, error)
        row = CheckResult(
            check="judge",
            verdict=Verdict.ERROR,
            message=f"the judge crashed ({type(error).__name__}: {error}); see {HARNESS_LOG}",
        )
        return broken(evidence.info.run_id, row)


def _stopwatch(info: RunInfo) -> Callable[[], float]:
    """A seed gives the same bytes on every machine, so the duration of judging is left out."""
    return time.perf_counter if not info.is_simulated else lambda: 0.0


def _write_page(evidence: Evidence, judgement: Judgement, directory: Path) -> None:
    try:
        replace_file(directory / PAGE, render_page(evidence, judgement).encode(), syncs=False)
    except Exception as error:  # noqa: BLE001 - a page that fails must not hide the verdict
        log_crash(directory, error)
        (directory / PAGE).unlink(missing_ok=True)


def _write_repro(info: RunInfo, judgement: Judgement, directory: Path) -> None:
    """For every run that is not valid: the reader will want to repeat it."""
    path = directory / REPRO
    if judgement.verdict is Verdict.VALID or not info.command:
        path.unlink(missing_ok=True)
        return
    command = info.command
    if command == replay_line(info.run_id):  # wherever the directory is by then
        command = 'kraft-chaos replay "$(dirname "$0")"'
    path.write_text(f"#!/bin/sh\nexec {command}\n", encoding="utf-8")
    path.chmod(0o755)
