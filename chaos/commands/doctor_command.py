"""`kraft-chaos doctor`: what this machine has and lacks."""

import argparse
import sys
from dataclasses import asdict

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "doctor",
        "check what the harness needs on this machine",
        run,
        about="Checks everything that runs, tests and reports need, and changes nothing. For each "
        "missing part it says how to install it and what works without it. Exits 0 if nothing is "
        "missing, 255 otherwise.",
        examples="kraft-chaos doctor",
    )
    arguments.add_json(command, "every need")


def run(parsed: argparse.Namespace) -> int:
    """0 if all that is not optional is there, 255 otherwise."""
    from chaos.commands import examination
    from chaos.run.terminal import document

    needs = examination.examine()
    code = 0 if all(need.ok or need.optional for need in needs) else 255
    if parsed.json:
        rows = [asdict(need) for need in needs]
        sys.stdout.write(document({"complete": code == 0, "needs": rows}) + "\n")
        return code
    for need in needs:
        seen = f"{need.seen} (optional)" if need.optional else need.seen
        sys.stdout.write(f"{need.found:<8} {need.name:<16} {seen}\n")
        if not need.ok and need.mend:
            sys.stdout.write(f"{'':<25} try: {need.mend}\n")
        if not need.ok and need.without:
            sys.stdout.write(f"{'':<25} without it: {need.without}\n")
    return code
