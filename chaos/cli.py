"""`kraft-chaos`: lists the commands, and turns errors into messages for operators.

Exit codes: 0 valid, 1 invalid, 2 unknown, 3 void (a fault left no evidence), 254 bad arguments,
255 our own failure.

A command's modules are imported only when it runs: so `--help` is quick, and the time in which
Python itself handles Ctrl-C is short.
"""

import argparse
import os
import select
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

from chaos.commands import (
    audit_command,
    campaign_command,
    chaos_command,
    check_command,
    compare_command,
    completion_command,
    diff_command,
    finding_command,
    list_command,
    model_check_command,
    nightly_command,
    playground_commands,
    releases_command,
    report_command,
    repro_command,
    run_command,
    selftest_command,
    serve_command,
    setup_command,
    shrink_command,
)
from chaos.commands.arguments import Formatter, Parser
from chaos.errors import UNREADABLE, OperatorError, UsageError, explained

OWN_FAILURE = 255
_BROKEN_PIPE = 128 + signal.SIGPIPE  # as a shell reports a process that dies of SIGPIPE

COMMANDS = (
    setup_command,
    list_command,
    run_command,
    chaos_command,
    selftest_command,
    model_check_command,
    compare_command,
    audit_command,
    campaign_command,
    nightly_command,
    diff_command,
    repro_command,
    shrink_command,
    playground_commands,
    check_command,
    finding_command,
    releases_command,
    report_command,
    serve_command,
    completion_command,
)

_EXAMPLES = """\
examples:
  kraft-chaos doctor                             what is installed, what is missing, how to fix it
  kraft-chaos run partition-leader               30 s of leaders being cut off, a verdict, a page
  kraft-chaos run power-off --seed 7 --nodes 5   the same schedule every time
  kraft-chaos chaos --faults power-off,pause --every 10s --for 5m   random faults, by kind
  kraft-chaos up && kraft-chaos inject kill-leader && kraft-chaos heal && kraft-chaos down
  kraft-chaos check runs/latest                  judge a run again from its files
  kraft-chaos check history.edn                  judge what Jepsen recorded
  kraft-chaos report runs --out report.html      many runs on one page (Spark)
  kraft-chaos serve runs                         all runs in a browser, to search and compare

exit codes:
  0 valid, 1 invalid, 2 unknown, 3 void (a fault left no evidence, or too little happened),
  254 bad arguments, 255 the harness itself failed or was interrupted
"""


def parser() -> Parser:
    """Leaves by SystemExit(254) when a line makes no sense."""
    top = Parser(
        prog="kraft-chaos",
        description="Injects faults into a KRaft quorum, proves that they took effect, and judges "
        "the quorum.",
        epilog=_EXAMPLES,
        formatter_class=Formatter,
    )
    top.add_argument(
        "--version",
        action=_Versions,
        nargs=0,
        default=argparse.SUPPRESS,
        help="print version, commit and libraries",
    )
    top.add_argument("--traceback", action="store_true", help="show where an error came from")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(commands)
    return top


class _Versions(argparse.Action):
    """`--version` prints what takes part in a run on this machine, one a line."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from chaos.releases import made_of

        told = made_of(this_machine=True)
        width = max(map(len, told))
        sys.stdout.writelines(f"{name:<{width}}  {version}\n" for name, version in told.items())
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code; wrong usage leaves by SystemExit(254)."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may hand it down ignored
    top = parser()
    parsed, unknown = top.parse_known_args(argv)
    if unknown:
        parsed.parser.refuse_unknown(unknown)
    try:
        code: int = parsed.run(parsed)
        sys.stdout.flush()  # here, where a broken pipe is handled
        return code
    except KeyboardInterrupt:
        _complain("interrupted")
    except Exception as error:  # noqa: BLE001 - operators get a sentence; --traceback shows the rest
        if isinstance(error, BrokenPipeError) and _is_stdout_closed():
            return _leave_quietly()
        _complain(_sentence(error))
        if parsed.traceback:
            traceback.print_exc()
        if isinstance(error, UsageError):
            return UNREADABLE
    return OWN_FAILURE


def _sentence(error: Exception) -> str:
    """What, where and the next command."""
    if isinstance(error, _expected()):
        return str(error)
    if isinstance(error, OSError):
        return explained(error)
    return f"{type(error).__name__}: {error}\n  try: kraft-chaos --traceback ..."


def _expected() -> tuple[type[Exception], ...]:
    """Errors with messages for operators."""
    from chaos.cluster.cluster_errors import ClusterError
    from chaos.recorder import RecordingError
    from chaos.run.seal import UnsealableError
    from chaos.setup.shell import SetupError
    from checkers.history.store import UnreadableRunError

    return (
        ClusterError,
        OperatorError,
        RecordingError,
        SetupError,
        UnreadableRunError,
        UnsealableError,
        UsageError,
    )


def _is_stdout_closed() -> bool:
    """Whether the broken pipe is our own output, and not another one."""
    with suppress(OSError, ValueError):  # not a file that can be polled: a test's
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(event & select.POLLERR for _, event in poll.poll(0))
    return False


def _leave_quietly() -> int:
    """As tools do when `head` cuts their output: drop what is left in the buffer."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _BROKEN_PIPE


def _complain(text: str) -> None:
    sys.stderr.write(f"error: {text}\n")


if __name__ == "__main__":
    sys.exit(main())
