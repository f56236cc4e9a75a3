"""What `kraft-chaos check` is told. Words only, so that asking for help loads no checker."""

import argparse
from pathlib import Path

MODELS = ("register", "cas-register", "multi-register", "kv", "log")
CAS_FAILURES = ("observed", "dropped")
NIL_READS = ("value", "any")

HELP = "judge runs again, or histories that others recorded"

EPILOG = """\
files: Jepsen's history.edn, JSON (an object a line, or an array), Jepsen's text logs, Porcupine's
logs of maps, our own events-*.jsonl.zst; .gz and .zst are unpacked. Format and model are told by
looking, and said. What a file leaves open is decided as the tool that wrote it would, and said too.

examples:
  kraft-chaos check runs/latest                      a run, again from its files
  kraft-chaos check history.edn                      what Jepsen recorded
  kraft-chaos check --json logs/*.log                a JSON object for each file
  kraft-chaos check --model kv store.jsonl.gz        not guessed
  kraft-chaos check --initial 0 --nil-reads any h.edn

A JSON line: {"type": "invoke", "process": 1, "f": "cas", "key": "x", "value": [0, 3]}
"""


def add_check(command: argparse.ArgumentParser) -> None:
    command.add_argument("paths", nargs="+", type=Path, metavar="RUN|FILE")
    command.add_argument("--json", action="store_true", help="the verdicts as JSON on stdout")
    files = command.add_argument_group("of files")
    files.add_argument("--model", choices=MODELS, help="what the history is of (default: guessed)")
    files.add_argument(
        "--cas-failures",
        choices=CAS_FAILURES,
        help="a failed cas saw another value (observed; default for text logs), or tells nothing",
    )
    files.add_argument(
        "--nil-reads",
        choices=NIL_READS,
        help="reading nil saw that nothing was written (value), or nothing at all (any; for EDN)",
    )
    files.add_argument(
        "--initial",
        metavar="EDN",
        help='what is there before all writes, such as 0 or "x" (default: nil)',
    )
