"""From what was recorded to a verdict: seal, judge, write `verdict.json`, the page and `repro.sh`.

Used at the end of a run and by `kraft-chaos check`. A checker that crashes makes an error, never a
verdict of its own; a violation found in a run that broke off stays a violation.
"""

import traceback
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc

from chaos.seal import seal
from checkers.history.events import EventType
from checkers.history.run import Run, RunInfo
from checkers.history.store import read_run
from checkers.page import render_page
from checkers.suite import judge, write_verdict
from checkers.verdict import CheckResult, Judgement, Verdict, worst
from workloads.history import FINAL

PAGE = "report.html"
REPRO = "repro.sh"
HARNESS_LOG = "harness.log"


def judge_directory(directory: Path) -> Judgement:
    """Seal and judge a run and leave all results in its directory. Raises UnsealableError."""
    seal(directory)
    run = read_run(directory)
    judgement = _judged(run, directory)
    for row in completeness(run):
        judgement = with_row(judgement, row)
    write_verdict(directory, judgement)
    _write_page(run, judgement, directory)
    _write_repro(run.info, judgement, directory)
    return judgement


def broken(run_id: str, row: CheckResult) -> Judgement:
    """The judgement of a run of which nothing can be judged."""
    return Judgement(run_id=run_id, verdict=row.verdict, sentence=row.message, results=(row,))


def with_row(judgement: Judgement, row: CheckResult) -> Judgement:
    """A judgement with one more row; its sentence is that of the worst."""
    verdict = worst((judgement.verdict, row.verdict))
    worse = verdict is not judgement.verdict
    sentence = row.message if worse else judgement.sentence
    return replace(judgement, verdict=verdict, sentence=sentence, results=(row, *judgement.results))


def log_crash(directory: Path, error: BaseException) -> None:
    """Keep a traceback for whoever mends the harness; operators get one sentence."""
    with (directory / HARNESS_LOG).open("a", encoding="utf-8") as log:
        log.writelines(traceback.format_exception(error))


def completeness(run: Run) -> list[CheckResult]:
    """What the run lacks, as far as the harness itself is concerned: its end, its final reads."""
    info = run.info
    if not info.finished or info.trouble:
        why = info.trouble or "the harness died before its end"
        message = f"the run broke off: {why}"
        return [CheckResult(check="run", verdict=Verdict.ERROR, message=message)]
    ops = run.tables["ops"]
    keys = set(ops["key"].to_pylist())
    final = pc.and_(pc.equal(ops["phase"], FINAL), pc.equal(ops["outcome"], EventType.OK.value))
    unread = keys - set(ops.filter(final)["key"].to_pylist())
    if not unread:
        return []
    message = f"{len(unread)} of {len(keys)} keys could not be read at the end"
    return [
        CheckResult(
            check="final-reads", verdict=Verdict.UNKNOWN, message=message, looked_at=len(keys)
        )
    ]


def _judged(run: Run, directory: Path) -> Judgement:
    try:
        return judge(run)
    except Exception as error:  # noqa: BLE001 - whatever a checker throws, the run is not valid
        log_crash(directory, error)
        row = CheckResult(
            check="judge",
            verdict=Verdict.ERROR,
            message=f"the judge crashed ({type(error).__name__}: {error}); see {HARNESS_LOG}",
        )
        return broken(run.info.run_id, row)


def _write_page(run: Run, judgement: Judgement, directory: Path) -> None:
    try:
        (directory / PAGE).write_text(render_page(run, judgement), encoding="utf-8")
    except Exception as error:  # noqa: BLE001 - a page that fails must not hide the verdict
        log_crash(directory, error)
        (directory / PAGE).unlink(missing_ok=True)


def _write_repro(info: RunInfo, judgement: Judgement, directory: Path) -> None:
    path = directory / REPRO
    if judgement.verdict is not Verdict.INVALID or not info.command:
        path.unlink(missing_ok=True)
        return
    path.write_text(f"#!/bin/sh\nexec {info.command}\n", encoding="utf-8")
    path.chmod(0o755)
