"""`kraft-chaos`: parses, dispatches, and turns errors into what an operator can use.

Exit codes: 0 valid, 1 invalid, 2 unknown, 3 void (a fault left no evidence), 254 bad arguments,
255 our own failure. The only module of `chaos` that may know `spark_reports`.

What a command needs is imported when it is asked for: `--help` is quick, and the moment in which
Python itself answers Ctrl-C is short.
"""

import argparse
import re
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from chaos.commands import check_arguments
from chaos.commands.errors import OperatorError, UsageError
from chaos.nemesis.named import FAULTS
from chaos.runtimes import RUNTIMES, TARGETS

WRONG_USAGE = 254
OWN_FAILURE = 255

_EXAMPLES = """\
examples:
  kraft-chaos doctor                             what is there, what is missing, how to mend it
  kraft-chaos run partition-leader               30 s of split leaders, a verdict, a page
  kraft-chaos run power-off --seed 7 --nodes 5   the same schedule every time
  kraft-chaos up && kraft-chaos inject kill-leader && kraft-chaos heal && kraft-chaos down
  kraft-chaos check runs/latest                  judge a run again from its files
  kraft-chaos check history.edn                  judge what Jepsen recorded
  kraft-chaos report runs --out report.html      many runs on one page (Spark)

exit codes: 0 valid, 1 invalid, 2 unknown, 3 void (a fault left no evidence, or too
            little happened), 254 bad arguments, 255 the harness itself failed or was interrupted
"""

_PLAYGROUND = "play"


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code; wrong usage leaves by SystemExit(254)."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may hand it down ignored
    arguments = _parser().parse_args(argv)
    try:
        return _dispatch(arguments)
    except UsageError as error:
        _complain(str(error))
        return WRONG_USAGE
    except KeyboardInterrupt:
        _complain("interrupted")
    except Exception as error:  # noqa: BLE001 - operators get a sentence; --traceback shows the rest
        if isinstance(error, _expected()):
            _complain(str(error))
        else:
            _complain(f"{type(error).__name__}: {error}\n  try: kraft-chaos --traceback ...")
        if arguments.traceback:
            traceback.print_exc()
    return OWN_FAILURE


def _expected() -> tuple[type[Exception], ...]:
    """Errors whose messages are made for operators."""
    from chaos.cluster.docker.errors import ClusterError
    from chaos.recorder import RecordingError
    from chaos.seal import UnsealableError
    from chaos.setup.needs import SetupError
    from checkers.history.store import UnreadableRunError

    return (
        ClusterError,
        OperatorError,
        RecordingError,
        SetupError,
        UnreadableRunError,
        UnsealableError,
    )


def _complain(text: str) -> None:
    sys.stderr.write(f"error: {text}\n")


class _Parser(argparse.ArgumentParser):
    """Exits with 254 where argparse says 2, which here means `unknown`."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(WRONG_USAGE, f"error: {message}\n  try: {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="kraft-chaos",
        description="Hurts a KRaft quorum in ways that are proved to have hurt, and judges it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--traceback", action="store_true", help="show where an error came from")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("doctor", help="what the harness needs of this machine, and what is there")
    commands.add_parser("setup", help="bring up what is missing (engine, images, caches)")
    listing = commands.add_parser("list", help="the scenarios")
    listing.add_argument("--json", action="store_true")
    _add_run(commands)
    _add_play(commands)
    _add_reading(commands)
    return parser


def _add_run(commands: "argparse._SubParsersAction[_Parser]") -> None:
    command = commands.add_parser(
        "run",
        help="run a scenario; exits with its verdict",
        description="Run a scenario on a fresh cluster and judge what happened.",
        epilog="example: kraft-chaos run partition-leader --seed 7 --duration 60",
    )
    command.add_argument("scenario", metavar="SCENARIO", help="see kraft-chaos list")
    command.add_argument("--seed", type=_natural, help="default: drawn, and printed")
    _add_nodes(command)
    command.add_argument("--duration", type=_seconds, metavar="S", help="of hurting, in seconds")
    command.add_argument(
        "--concurrency", type=_positive, default=20, metavar="N", help="processes (default 20)"
    )
    command.add_argument(
        "--rate",
        type=_rate,
        default=0.0,
        metavar="N",
        help="operations/s in all (default: no limit)",
    )
    _add_out(command)
    command.add_argument("--keep", action="store_true", help="leave the cluster up afterwards")
    command.add_argument("--json", action="store_true", help="the verdict as JSON on stdout")
    _add_where(command)


def _add_play(commands: "argparse._SubParsersAction[_Parser]") -> None:
    command = commands.add_parser("up", help="bring up a cluster to play with")
    command.add_argument("name", nargs="?", type=_name, default=_PLAYGROUND, metavar="NAME")
    _add_nodes(command)
    _add_out(command)
    _add_where(command)
    command = commands.add_parser("down", help="remove a cluster that is up")
    command.add_argument("name", nargs="?", type=_name, default=_PLAYGROUND, metavar="NAME")
    _add_out(command)
    _add_runtime(command)
    command = commands.add_parser(
        "inject",
        help="hurt a cluster that is up, until `heal`",
        epilog=f"faults: {', '.join(FAULTS)}",
    )
    command.add_argument("fault", choices=FAULTS, metavar="FAULT")
    command.add_argument("--node", type=_positive, help="this node, whoever leads")
    _add_name(command)
    command = commands.add_parser("heal", help="cure all that was injected; says what it had done")
    _add_name(command)


def _add_reading(commands: "argparse._SubParsersAction[_Parser]") -> None:
    check_arguments.add_check(
        commands.add_parser(
            "check",
            help=check_arguments.HELP,
            epilog=check_arguments.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )
    command = commands.add_parser("report", help="many runs on one page, by Spark")
    command.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="runs, or directories of"
    )
    command.add_argument(
        "--out", type=Path, default=Path("runs/report.html"), help="default runs/report.html"
    )
    command.add_argument("--master", help="a Spark cluster (default: this machine)")


def _add_nodes(command: argparse.ArgumentParser) -> None:
    command.add_argument("--nodes", type=int, choices=(3, 5), default=3, help="default 3")


def _add_out(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", type=Path, default=Path("runs"), help="default ./runs")


def _add_name(command: argparse.ArgumentParser) -> None:
    command.add_argument("--name", type=_name, default=_PLAYGROUND, help=f"default {_PLAYGROUND}")
    _add_out(command)
    _add_runtime(command)


def _add_where(command: argparse.ArgumentParser) -> None:
    command.add_argument("--target", choices=TARGETS, default="node", help="default node (ours)")
    _add_runtime(command)


def _add_runtime(command: argparse.ArgumentParser) -> None:
    command.add_argument("--runtime", choices=RUNTIMES, default="docker", help="default docker")


def _dispatch(arguments: argparse.Namespace) -> int:
    match arguments.command:
        case "doctor" | "setup" | "list":
            return _machine(arguments)
        case "run":
            return _run(arguments)
        case "check":
            from chaos.commands.check import check
            from chaos.commands.check_files import declared

            return check(arguments.paths, declared(arguments), as_json=arguments.json)
        case "report":
            return _report(arguments)
        case _:
            return _play(arguments)


def _machine(arguments: argparse.Namespace) -> int:
    from chaos.commands import machine

    match arguments.command:
        case "doctor":
            return machine.doctor()
        case "setup":
            return machine.setup()
        case _:
            return machine.list_scenarios(as_json=arguments.json)


def _run(arguments: argparse.Namespace) -> int:
    from chaos.commands.run import RunArguments, run

    return run(
        RunArguments(
            scenario=arguments.scenario,
            seed=arguments.seed,
            nodes=arguments.nodes,
            duration_s=arguments.duration,
            concurrency=arguments.concurrency,
            rate=arguments.rate,
            out=arguments.out,
            keep=arguments.keep,
            as_json=arguments.json,
            target=arguments.target,
            runtime=arguments.runtime,
        )
    )


def _play(arguments: argparse.Namespace) -> int:
    from chaos.commands import play

    ground = play.Ground(name=arguments.name, runtime=arguments.runtime, out=arguments.out)
    match arguments.command:
        case "up":
            return play.up(ground, nodes=arguments.nodes, target=arguments.target)
        case "down":
            return play.down(ground)
        case "inject":
            return play.inject_fault(ground, arguments.fault, node=arguments.node)
        case _:
            return play.heal(ground)


def _report(arguments: argparse.Namespace) -> int:
    from chaos.commands.check import find_runs
    from chaos.progress import ConsoleProgress

    try:
        from spark_reports.java import JavaNotFoundError
        from spark_reports.report import NothingToReportError, build
    except ImportError as error:
        raise OperatorError(
            f"reports of many runs need Spark: {error}\n  try: pip install 'kraft-chaos[spark]'"
        ) from error
    runs, progress = find_runs(arguments.runs), ConsoleProgress()
    try:
        page = build(runs, arguments.out, master=arguments.master, progress=progress.tell)
    except (JavaNotFoundError, NothingToReportError) as error:
        raise OperatorError(str(error)) from error
    sys.stdout.write(f"page: {page}\n")
    return 0


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 1 <= number <= 86_400:
        raise argparse.ArgumentTypeError("must be between 1 and 86400 seconds")
    return number


def _rate(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1e6:
        raise argparse.ArgumentTypeError("must be between 0 (no limit) and 1000000")
    return number


def _name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", text):
        raise argparse.ArgumentTypeError("small letters, digits and hyphens only")
    return text


if __name__ == "__main__":
    sys.exit(main())
