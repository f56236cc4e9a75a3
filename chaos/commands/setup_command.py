"""`kraft-chaos setup`: installs what this machine lacks."""

import argparse
import sys

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "setup",
        "install what is missing (engine, images, caches)",
        run,
        about="Installs what `doctor` finds missing: installs and starts a Docker engine (as "
        "root), builds or pulls the images, warms the checkers' caches. What is there already is "
        "left alone, so running it again takes seconds. Needs root only to install.",
        examples="""\
            kraft-chaos setup && kraft-chaos doctor
            kraft-chaos setup --target kafka          the image of Apache Kafka as well""",
    )
    arguments.add_target(command)
    arguments.add_json(command, "the steps that were taken")


def run(parsed: argparse.Namespace) -> int:
    """Install what a target needs in addition. Raises SetupError."""
    from chaos.cluster.targets.named import is_mixed, release_of
    from chaos.progress import ConsoleProgress
    from chaos.run.installation import prepare
    from chaos.run.terminal import document

    progress, steps = ConsoleProgress(), []

    def tell(text: str) -> None:
        steps.append(text)
        progress.tell(text)

    prepare(tell, release_of(parsed.target), of_both=is_mixed(parsed.target))
    progress.end()
    if parsed.json:
        sys.stdout.write(document({"steps": steps}, target=parsed.target) + "\n")
    return 0
