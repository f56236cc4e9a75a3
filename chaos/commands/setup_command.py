"""`kraft-chaos doctor` and `setup`: what this machine has and lacks, and how it gets that."""

import argparse
import sys
from dataclasses import asdict

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add


def add_parser(commands: Commands) -> None:
    _add_doctor(commands)
    _add_setup(commands)


def _add_doctor(commands: Commands) -> None:
    command = add(
        commands,
        "doctor",
        "check what the harness needs on this machine",
        run_doctor,
        about="Checks everything that runs, tests and reports need, and changes nothing. For each "
        "missing part it says how to install it and what works without it. Exits 0 if nothing is "
        "missing, 255 otherwise.",
        examples="""\
            kraft-chaos doctor
            kraft-chaos doctor --target kafka-image:NAME   what an image of yours lacks""",
    )
    arguments.add_target(command)
    arguments.add_json(command, "every need")


def run_doctor(parsed: argparse.Namespace) -> int:
    """0 if all that is not optional is there, 255 otherwise."""
    from chaos.cluster.targets.named import release_of
    from chaos.commands import examination
    from chaos.run.terminal import document

    needs = examination.examine(release_of(parsed.target))
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


def _add_setup(commands: Commands) -> None:
    command = add(
        commands,
        "setup",
        "install what is missing (engine, images, caches)",
        run_setup,
        about="Installs what `doctor` finds missing: installs and starts a Docker engine (as "
        "root), builds or pulls the images, warms the checkers' caches. What is there already is "
        "left alone, so running it again takes seconds. Needs root only to install.",
        examples="""\
            kraft-chaos setup && kraft-chaos doctor
            kraft-chaos setup --target kafka          the image of Apache Kafka as well
            kraft-chaos setup --target kafka:libs/    the jars of a build of yours""",
    )
    arguments.add_target(command)
    command.add_argument(
        "--pcap", action="store_true", help="also an image with tcpdump, which `run --pcap` needs"
    )
    arguments.add_json(command, "the steps that were taken")


def run_setup(parsed: argparse.Namespace) -> int:
    """Install what a target needs in addition. Raises SetupError."""
    from chaos.cluster.targets.named import is_mixed, release_of
    from chaos.progress import ConsoleProgress
    from chaos.run.installation import prepare
    from chaos.run.terminal import document

    progress, steps = ConsoleProgress(), []

    def tell(text: str) -> None:
        steps.append(text)
        progress.tell(text)

    prepare(tell, release_of(parsed.target), of_both=is_mixed(parsed.target), pcap=parsed.pcap)
    progress.end()
    if parsed.json:
        sys.stdout.write(document({"steps": steps}, target=parsed.target) + "\n")
    return 0
