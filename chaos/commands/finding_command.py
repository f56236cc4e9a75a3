"""`kraft-chaos finding`: findings in Apache Kafka, as its maintainers need them."""

import argparse
import sys
from pathlib import Path

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, nearest
from chaos.errors import UsageError

_ABOUT = (
    "Without a name: the list of findings. With one: the mechanism, the control and the promise "
    "(docs/results/findings.md), a shell script that shows it with Apache Kafka's own tools and "
    "nothing of ours, and the output of that script, bytes before and after included. With a run "
    "of the scenario also the evidence in that run: lines of the nodes' logs, records of the "
    "metadata log, files on the disks at its end; with a cut of the audit the bytes of the files "
    "before it, on the disk, and after the start."
)

_EXAMPLES = """\
    kraft-chaos finding
    kraft-chaos finding clean-stop-power-off
    kraft-chaos finding clean-stop-power-off --script > show.sh && sudo KAFKA=/opt/kafka sh show.sh
    kraft-chaos finding clean-stop-power-off runs/20260204-110312-clean-stop-power-off-1
    kraft-chaos finding clean-stop-power-off runs/audit/20260204-112010-audit-clean-stop-0"""


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "finding",
        "findings in Apache Kafka, for its maintainers",
        run,
        about=_ABOUT,
        examples=_EXAMPLES,
    )
    command.add_argument("name", nargs="?", metavar="NAME", help="name of the finding")
    command.add_argument(
        "run_of",
        nargs="?",
        type=Path,
        metavar="RUN",
        help="a run or a cut of the audit that shows it",
    )
    arguments.add_json(command, "the same")
    command.add_argument("--script", action="store_true", help="print only the shell script")


def run(parsed: argparse.Namespace) -> int:
    """0 whatever is printed."""
    from chaos.labs.findings import FINDINGS
    from chaos.run.rundir import is_run
    from chaos.run.terminal import document, of_run

    if parsed.name is None:
        if parsed.script:
            raise UsageError("--script needs the name of a finding\n  try: kraft-chaos finding")
        width = max(map(len, FINDINGS)) + 2
        told = "\n".join(f"{each.name:<{width}}{each.title}" for each in FINDINGS.values())
        about: dict[str, object] = {
            "findings": [
                {"name": each.name, "title": each.title, "scenarios": list(each.scenarios)}
                for each in FINDINGS.values()
            ]
        }
    elif parsed.name not in FINDINGS:
        near = nearest(parsed.name, FINDINGS)
        known = f"like it: {', '.join(near)}" if near else f"known: {', '.join(FINDINGS)}"
        raise UsageError(f"unknown finding {parsed.name!r}; {known}")
    else:
        told = _script(parsed) if parsed.script else _whole(parsed.name, parsed.run_of)
        found = FINDINGS[parsed.name]
        about = {
            "name": found.name,
            "title": found.title,
            "scenarios": list(found.scenarios),
            "text": told.rstrip("\n"),
        }
    if parsed.json:
        about_run = parsed.run_of is not None and is_run(parsed.run_of)
        told = of_run(parsed.run_of, about) if about_run else document(about, target="kafka")
    sys.stdout.write(told.rstrip("\n") + "\n")
    return 0


def _script(parsed: argparse.Namespace) -> str:
    from chaos.labs.findings import FINDINGS

    if parsed.run_of is not None:
        raise UsageError("--script takes no run: it prints only the script")
    return FINDINGS[parsed.name].script()


def _whole(name: str, run_of: Path | None) -> str:
    from chaos.labs.audit.matrix_page import cut_shown, is_cut
    from chaos.labs.findings import FINDINGS, excerpt

    finding = FINDINGS[name]
    parts = [
        finding.prose(),
        f"by our harness: kraft-chaos compare {' '.join(finding.scenarios)}",
        f"by Apache Kafka's own tools: kraft-chaos finding {name} --script; it printed",
        "\n".join(f"    {line}".rstrip() for line in finding.printed().splitlines()),
    ]
    if finding.moments:
        line = f"kraft-chaos audit --target kafka --moment {' '.join(finding.moments)}"
        parts.insert(2, f"bytes before and after: {line}")
    if run_of is not None:
        shown = cut_shown(run_of, finding.moments) if is_cut(run_of) else excerpt(finding, run_of)
        parts.append(shown)
    return "\n\n".join(parts)
