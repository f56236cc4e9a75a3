"""`kraft-chaos check`: judges runs again, and foreign histories and disks."""

import argparse
from pathlib import Path

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add
from chaos.errors import UsageError

MODELS = (
    "register",
    "cas-register",
    "multi-register",
    "kv",
    "log",
    "list-append",
    "set",
    "counter",
    "mutex",
    "queue",
    "unordered-queue",
)
CAS_FAILURES = ("observed", "dropped")
NIL_READS = ("value", "any")
ISOLATIONS = ("jepsen", "kafka", "pl-2", "serializable", "strict-serializable")

_ABOUT = (
    "Judges runs again from their recorded events; needs no Docker. A run that broke off is sealed "
    "from its events first. A run with a damaged sealed table is unknown, until --reseal makes its "
    "tables again. Rewrites verdict.json and report.html; exits with the worst verdict.\n"
    "Files are "
    "histories: Jepsen's history.edn, history.txt, jepsen.log or test.jepsen, or its directory of "
    "a run or its store (the newest run); JSON (an object a line, or an array); Porcupine's "
    "operations as JSON, and its logs of maps; our own events-*.jsonl.zst; .gz and .zst are "
    "unpacked. Format and model are detected, and printed. What a file leaves open is decided as "
    "the tool that wrote it would, and printed too.\n"
    "Other directories are disks of nodes, Apache "
    "Kafka's or ours: all that have a meta.properties are judged by the checks of disks only, and "
    "missing evidence is printed.\n"
    "Exits 0 valid, 1 invalid, 2 unknown, 3 void; 254 if one could "
    "not be read, after judging the others.\n"
    "a line of JSON, and one of Porcupine's:\n"
    '  {"type": "invoke", "process": 1, "f": "cas", "key": "x", "value": [0, 3]}\n'
    '  {"clientId": 1, "input": {"op": "put", "key": "x", "value": 3}, "call": 10, "return": 25}\n'
    "models, by their operations:\n"
    "  register         read, write, delete        list-append      txn of append and r\n"
    "  cas-register     and cas                    set              add, read of all\n"
    "  multi-register   txn of r and w             counter          add, inc, dec, read\n"
    "  kv               get, put, append           mutex            acquire, release\n"
    "  log              send, poll, assign, txn    queue            enqueue, dequeue, drain;\n"
    "                                              unordered-queue  in any order"
)

_EXAMPLES = """\
    kraft-chaos check runs/latest
    kraft-chaos check runs --json
    kraft-chaos check --reseal runs/latest
    kraft-chaos check --list
    kraft-chaos check history.edn
    kraft-chaos check store/latest
    kraft-chaos check --json logs/*.log
    kraft-chaos check --model unordered-queue history.txt
    kraft-chaos check kafka
    kraft-chaos check --model kv store.jsonl.gz
    kraft-chaos check --initial 0 --nil-reads any history.edn
    kraft-chaos check --isolation pl-2 kafka.edn"""


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "check",
        "judge runs again, or foreign histories and disks",
        run,
        about=_ABOUT,
        examples=_EXAMPLES,
    )
    command.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="RUN|FILE",
        help="runs, directories of runs, histories, Jepsen's directories, disks of nodes",
    )
    command.add_argument(
        "--list",
        action="store_true",
        help="print each check's promise, its source, and the runs it judges",
    )
    arguments.add_json(command, "the verdict (of several paths an array)")
    command.add_argument(
        "--reseal",
        action="store_true",
        help="for runs: make the sealed tables again from the recorded events, traces and disks",
    )
    files = command.add_argument_group("for histories")
    files.add_argument(
        "--model", choices=MODELS, help="the model of the history (default: detected)"
    )
    files.add_argument(
        "--cas-failures",
        choices=CAS_FAILURES,
        help="a failed cas saw another value (observed; default for text logs), or proves nothing",
    )
    files.add_argument(
        "--nil-reads",
        choices=NIL_READS,
        help="a read of nil saw that nothing was written (value), or proves nothing (any; for EDN)",
    )
    files.add_argument(
        "--isolation",
        choices=ISOLATIONS,
        help="the isolation of transactions on logs: jepsen (every G0 and G1c is reported and "
        "allowed), kafka (default; G1c of polls only is not allowed), pl-2 (neither allowed), "
        "serializable (nor G1b, G-single, G2), strict-serializable (in real time too; default of "
        "lists)",
    )
    files.add_argument(
        "--initial",
        metavar="EDN",
        help='the initial value, such as 0 or "x" (default: nil)',
    )


def run(parsed: argparse.Namespace) -> int:
    """The exit code of the worst verdict; 254 if something could not be read."""
    from chaos.run.foreign_files import check, declared, list_checks

    if parsed.list:
        return list_checks(as_json=parsed.json)
    if not parsed.paths:
        raise UsageError(
            "check needs a path\n  try: kraft-chaos check runs/latest, or check --list"
        )
    said = declared(
        model=parsed.model,
        cas_failures=parsed.cas_failures,
        nil_reads=parsed.nil_reads,
        initial=parsed.initial,
        isolation=parsed.isolation,
    )
    return check(parsed.paths, said, as_json=parsed.json, reseal=parsed.reseal)
