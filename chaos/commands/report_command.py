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
        "phase. Directories are searched at any depth, for campaigns' rows too. What is no run or "
        "not sealed is named on the page; a damaged run is an error there. Runs with planted bugs "
        "are apart. Exits with 1 if the tables of a run contradict its verdict, else with 255 if a "
        "run is damaged, and with 0 otherwise, whatever the verdicts are.",
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
    from chaos.run.terminal import document

    lacking = [each for each in _OF_SPARK if find_spec(each) is None]
    if lacking:
        raise OperatorError(
            f"reports of many runs need Spark: no {' and no '.join(lacking)} is installed\n"
            "  try: pip install 'kraft-chaos[spark]'"
        )
    from spark_reports.java import JavaNotFoundError
    from spark_reports.report_build import NothingToReportError, build

    progress = ConsoleProgress()
    try:
        built = build(parsed.runs, parsed.out, master=parsed.master, progress=progress.tell)
    except (JavaNotFoundError, NothingToReportError) as error:
        raise OperatorError(str(error)) from error
    for words in built.contradictions:
        progress.tell(f"the tables contradict the verdict of {words}")
    for words in built.damaged:
        progress.tell(f"damaged: {words}")
    about = {
        "page": str(parsed.out),
        "runs": list(built.runs),
        "contradictions": list(built.contradictions),
        "damaged": list(built.damaged),
    }
    sys.stdout.write((document(about) if parsed.json else f"page: {parsed.out}") + "\n")
    if built.contradictions:
        return Verdict.INVALID.exit_code
    return Verdict.ERROR.exit_code if built.damaged else 0
