"""`kraft-chaos serve`: recorded runs in a browser."""

import argparse
import sys
from pathlib import Path

from chaos.commands.arguments import Commands, add, whole
from chaos.errors import OperatorError, UsageError

_PORT = 8066


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "serve",
        "recorded runs in a browser: search, history, two beside each other",
        run,
        about="Serves the runs in these directories, at any depth, on loopback, read-only, until "
        "Ctrl-C: a list that can be searched by words, verdict, scenario and target; the history "
        "of a scenario; two runs beside each other; each run's page and files. Runs that come "
        "later appear when a page is loaded again.",
        examples="""\
            kraft-chaos serve
            kraft-chaos serve runs/nightly ../yesterday --port 0""",
    )
    command.add_argument(
        "paths", nargs="*", type=Path, metavar="DIR", help="where runs are (default: runs)"
    )
    command.add_argument(
        "--port",
        type=whole(0, 65535),
        default=_PORT,
        metavar="N",
        help=f"where to listen (default {_PORT}); 0 is any free port",
    )


def run(parsed: argparse.Namespace) -> int:
    from chaos.serving.server import RunsServer
    from checkers.verdict import counted

    paths = parsed.paths or [Path("runs")]
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path} is no directory\n  try: kraft-chaos run partition-leader")
    try:
        server = RunsServer(paths, parsed.port)
    except OSError as error:
        raise OperatorError(
            f"port {parsed.port} cannot be listened on: {error.strerror}\n"
            "  try: kraft-chaos serve --port 0"
        ) from error
    try:
        with server:
            told = counted(len(server.runs()), "run")
            sys.stdout.write(f"{told} on {server.url}  (Ctrl-C ends it)\n")
            sys.stdout.flush()
            server.serve_forever()
    except KeyboardInterrupt:
        sys.stdout.write("\n")
    return 0
