"""`kraft-chaos report`: many runs on one page."""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add
from chaos.errors import OperatorError
from checkers.verdict import Verdict

_OF_SPARK = ("pyspark", "pandas", "altair", "vl_convert")  # the extra `spark`, but for its Java


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "report",
        "many runs on one page, by Spark",
        run,
        about="Reads any number of sealed runs with Spark and makes one self-contained page: the "
        "fate of writes, times without a success, elections, and latency, by scenario and fault "
        "phase. Runs that are not sealed are named on the page and left out; a verdict that is "
        "damaged or of another run is ignored. Exits with 1 if the tables of a run contradict its "
        "verdict, with 0 otherwise, whatever the verdicts are.",
        examples="""\
            kraft-chaos report runs
            kraft-chaos report runs/*-power-off-* --out power-off.html
            kraft-chaos report /shared/runs --master spark://host:7077""",
    )
    command.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="runs, or directories of runs"
    )
    command.add_argument(
        "--out",
        type=Path,
        default=Path("runs/report.html"),
        metavar="FILE",
        help="the page to write (default runs/report.html)",
    )
    arguments.add_json(command, "the page's path, the runs, and contradictions")
    arguments.add_master(command, "a Spark cluster with access to the same files (default: local)")


def run(parsed: argparse.Namespace) -> int:
    from chaos.progress import ConsoleProgress
    from chaos.run.checking import find_runs
    from chaos.run.terminal import document

    lacking = [each for each in _OF_SPARK if find_spec(each) is None]
    if lacking:
        raise OperatorError(
            f"reports of many runs need Spark: no {' and no '.join(lacking)} is installed\n"
            "  try: pip install 'kraft-chaos[spark]'"
        )
    from spark_reports.java import JavaNotFoundError
    from spark_reports.report_build import NothingToReportError, build

    runs, progress = find_runs(parsed.runs), ConsoleProgress()
    try:
        contradictions = build(runs, parsed.out, master=parsed.master, progress=progress.tell)
    except (JavaNotFoundError, NothingToReportError) as error:
        raise OperatorError(str(error)) from error
    for words in contradictions:
        progress.tell(f"the tables contradict the verdict of {words}")
    about = {
        "page": str(parsed.out),
        "runs": [str(directory) for directory in runs],
        "contradictions": list(contradictions),
    }
    sys.stdout.write((document(about) if parsed.json else f"page: {parsed.out}") + "\n")
    return Verdict.INVALID.exit_code if contradictions else 0
