"""`kraft-chaos`: parses, dispatches, and turns errors into what an operator can use.

Exit codes: 0 valid, 1 invalid, 2 unknown, 3 void (a fault left no evidence), 254 bad arguments,
255 our own failure. The only module of `chaos` that may know `spark_reports`.

What a command needs is imported when it is asked for: `--help` is quick, and the moment in which
Python itself answers Ctrl-C is short.
"""

import argparse
import errno
import signal
import sys
import traceback
from collections.abc import Sequence

from chaos.commands.arguments import WRONG_USAGE
from chaos.commands.parser import parser
from chaos.operator_errors import OperatorError, UsageError

OWN_FAILURE = 255
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_MAKE_ROOM = """\
  try: kraft-chaos doctor; rm -r old runs/*; docker system prune; or --out DIRECTORY on another disk
  without it: runs that are already there can be read; kraft-chaos list and doctor"""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code; wrong usage leaves by SystemExit(254)."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may hand it down ignored
    arguments = parser().parse_args(argv)
    try:
        return _dispatch(arguments)
    except UsageError as error:
        _complain(str(error))
        return WRONG_USAGE
    except KeyboardInterrupt:
        _complain("interrupted")
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        _complain(f"{error.strerror or error}{where}\n  try: free some space, or --out DIR")
        if arguments.traceback:
            traceback.print_exc()
    except Exception as error:  # noqa: BLE001 - operators get a sentence; --traceback shows the rest
        if isinstance(error, _expected()):
            _complain(str(error))
        elif isinstance(error, OSError) and error.errno in NO_ROOM:
            _complain(f"{error.strerror}{_where(error)}\n{_MAKE_ROOM}")
        else:
            _complain(f"{type(error).__name__}: {error}\n  try: kraft-chaos --traceback ...")
        if arguments.traceback:
            traceback.print_exc()
    return OWN_FAILURE


def _expected() -> tuple[type[Exception], ...]:
    """Errors whose messages are made for operators."""
    from chaos.cluster.errors import ClusterError
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


def _where(error: OSError) -> str:
    """Not every call knows which file it was about."""
    return f": {error.filename}" if error.filename else ""


def _complain(text: str) -> None:
    sys.stderr.write(f"error: {text}\n")


def _dispatch(arguments: argparse.Namespace) -> int:
    match arguments.command:
        case "doctor" | "setup" | "list":
            return _machine(arguments)
        case "run":
            from chaos.commands.run import run

            return run(arguments)
        case "selftest":
            return _selftest(arguments)
        case "compare":
            from chaos.commands.compare import CompareArguments, compare

            return compare(
                CompareArguments(
                    scenarios=arguments.scenarios,
                    target=arguments.target,
                    settings=dict(arguments.settings),
                    times=arguments.times,
                    seed=arguments.seed,
                    out=arguments.out,
                    as_json=arguments.json,
                )
            )
        case "campaign":
            return _campaign(arguments)
        case "replay":
            from chaos.commands.replay import ReplayArguments, replay

            return replay(
                ReplayArguments(
                    named=arguments.named,
                    runtime=arguments.runtime,
                    out=arguments.out,
                    as_json=arguments.json,
                )
            )
        case "shrink":
            from chaos.commands.shrink import ShrinkArguments, shrink

            return shrink(
                ShrinkArguments(
                    named=arguments.named,
                    minutes=arguments.minutes,
                    out=arguments.out,
                )
            )
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
            return machine.setup(arguments.target)
        case _:
            return machine.list_scenarios(as_json=arguments.json, verbose=arguments.verbose)


def _selftest(arguments: argparse.Namespace) -> int:
    from chaos.commands.selftest import selftest
    from chaos.commands.suspects import SelftestArguments

    return selftest(
        SelftestArguments(
            mutations=tuple(arguments.mutation or ()),
            scenario=arguments.scenario,
            tries=arguments.tries,
            seed=arguments.seed,
            out=arguments.out,
            as_json=arguments.json,
            runtime=arguments.runtime,
            target=arguments.target,
        )
    )


def _campaign(arguments: argparse.Namespace) -> int:
    from chaos.commands.campaign import CampaignArguments, campaign, campaign_by

    asked = CampaignArguments(
        seeds=arguments.seeds,
        scenario=arguments.scenario,
        minutes=arguments.minutes,
        nodes=arguments.nodes,
        duration_s=arguments.duration,
        jobs=arguments.jobs,
        mutation=arguments.mutation,
        out=arguments.out,
        as_json=arguments.json,
    )
    if arguments.master is None:
        return campaign(asked)
    try:
        from spark_reports.java import JavaNotFoundError
        from spark_reports.spread import spread
    except ImportError as error:
        raise OperatorError(
            f"campaigns on a cluster need Spark: {error}\n  try: pip install 'kraft-chaos[spark]'"
        ) from error
    out = arguments.out.absolute()
    try:
        return campaign_by(
            asked, lambda function, seeds: spread(function, seeds, out, arguments.master)
        )
    except JavaNotFoundError as error:
        raise OperatorError(str(error)) from error


def _play(arguments: argparse.Namespace) -> int:
    from chaos.commands import play

    ground = play.Ground(name=arguments.name, runtime=arguments.runtime)
    match arguments.command:
        case "up":
            settings = dict(arguments.settings)
            return play.up(ground, arguments.target, nodes=arguments.nodes, settings=settings)
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


if __name__ == "__main__":
    sys.exit(main())
