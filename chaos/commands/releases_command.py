"""`kraft-chaos releases`: the releases of Apache Kafka, and what was looked for in each."""

import argparse
import sys

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add

_ABOUT = (
    "Asks Maven which releases of Apache Kafka there are from 4.0.0 on, and tells of each whether "
    "its jars are here, and which findings were looked for in it, by their numbers "
    "(docs/results/findings.md). A release in which nothing was looked for yet takes one command: "
    "compare with that release as the target. With --verbose also what was seen."
)

_EXAMPLES = """\
    kraft-chaos releases
    kraft-chaos releases -v
    kraft-chaos setup --target kafka:VERSION
    kraft-chaos compare last-replica-standing raised-min-isr --target kafka:VERSION --times 5"""


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "releases",
        "the releases of Apache Kafka, and what was looked for in each",
        run,
        about=_ABOUT,
        examples=_EXAMPLES,
    )
    command.add_argument("-v", "--verbose", action="store_true", help="tell what was seen")
    arguments.add_json(command, "the same")


def run(parsed: argparse.Namespace) -> int:
    """0. Raises SetupError where Maven cannot be asked, OperatorError without the page."""
    from chaos.labs.findings import FINDINGS, tried
    from chaos.releases import setup_command
    from chaos.run.terminal import document
    from chaos.setup.kafka_image import is_here, released

    seen, names = tried(), {each.section: each.name for each in FINDINGS.values()}
    releases = released()
    if parsed.json:
        rows: list[dict[str, object]] = [
            {
                "release": each,
                "here": is_here(each),
                "findings": {names[number]: told for number, told in seen.get(each, ())},
            }
            for each in releases
        ]
        sys.stdout.write(document({"releases": rows}, target="kafka") + "\n")
        return 0
    for each in releases:
        found = seen.get(each, ())
        numbers = ", ".join(str(number) for number, _ in found)
        here = "here" if is_here(each) else "-"
        sys.stdout.write(f"{each:<8}{here:<6}{f'findings {numbers}' if found else 'not run'}\n")
        if parsed.verbose:
            sys.stdout.writelines(f"{'':<14}{names[at]}: {told}\n" for at, told in found)
    for each in [each for each in releases if each not in seen][:1]:
        sys.stdout.write(f"  try: {setup_command(each)}, then compare with --target kafka:{each}\n")
    return 0
