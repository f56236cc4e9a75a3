"""`kraft-chaos setup`: brings up what this machine lacks."""

import argparse

from chaos.commands import flags
from chaos.commands.arguments import Commands, add


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "setup",
        "bring up what is missing (engine, images, caches)",
        run,
        about="Brings up what `doctor` finds missing: installs and starts a Docker engine where "
        "root may, builds or pulls the images, warms the checkers' caches. What is there already "
        "is left alone, so running it again costs seconds. Needs root only to install.",
        examples="""\
            kraft-chaos setup && kraft-chaos doctor
            kraft-chaos setup --target kafka          the image of Apache Kafka as well""",
    )
    flags.add_target(command)


def run(parsed: argparse.Namespace) -> int:
    """What a target needs as well. Raises SetupError."""
    from chaos.cluster.targets.named import is_mixed, release_of
    from chaos.installation import prepare
    from chaos.progress import ConsoleProgress

    progress = ConsoleProgress()
    prepare(progress.tell, release_of(parsed.target), of_both=is_mixed(parsed.target))
    progress.end()
    return 0
