"""The command line of `kraft-chaos`: what there is to ask for, and help that teaches it."""

import argparse
import sys
import textwrap
from pathlib import Path
from typing import TypeAlias

from chaos.cluster.targets.kafka_settings import MOST
from chaos.cluster.targets.named import KAFKA
from chaos.commands import (
    campaign_arguments,
    check_arguments,
    compare_arguments,
    flags,
    selftest_arguments,
)
from chaos.commands.arguments import (
    Formatter,
    Parser,
    fault,
    listed,
    number,
    whole,
)
from chaos.nemesis.by_hand import FAULTS
from chaos.runtimes import RUNTIMES
from chaos.scenario import SIM
from workloads.library_clients import LIBRARIES, RAW, TOPIC_CLIENTS

_EXAMPLES = """\
examples:
  kraft-chaos doctor                             what is there, what is missing, how to mend it
  kraft-chaos run partition-leader               30 s of split leaders, a verdict, a page
  kraft-chaos run power-off --seed 7 --nodes 5   the same schedule every time
  kraft-chaos up && kraft-chaos inject kill-leader && kraft-chaos heal && kraft-chaos down
  kraft-chaos check runs/latest                  judge a run again from its files
  kraft-chaos check history.edn                  judge what Jepsen recorded
  kraft-chaos report runs --out report.html      many runs on one page (Spark)

exit codes:
  0 valid, 1 invalid, 2 unknown, 3 void (a fault left no evidence, or too little happened),
  254 bad arguments, 255 the harness itself failed or was interrupted
"""

_MOST_PROCESSES = 1_000
_LARGEST_SEED = 2**63 - 1  # what a column of a table holds


class _StoryHelp(argparse.Action):
    """`run SCENARIO --help` tells the scenario's story above the flags."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del values, option_string  # it takes none, and its name says nothing
        from chaos.commands.machine import whole_story
        from chaos.scenarios import STORIES

        scenario = STORIES.get(getattr(namespace, "scenario", None) or "")
        if scenario is not None:
            sys.stdout.write(whole_story(scenario) + "\n\n")
        parser.print_help()
        parser.exit()


_Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def parser() -> argparse.ArgumentParser:
    """Leaves by SystemExit(254) when a line makes no sense."""
    top = Parser(
        prog="kraft-chaos",
        description="Hurts a KRaft quorum in ways that are proved to have hurt, and judges it.",
        epilog=_EXAMPLES,
        formatter_class=Formatter,
    )
    top.add_argument("--traceback", action="store_true", help="show where an error came from")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_machine(commands)
    _add_run(commands)
    _add_selftest(commands)
    _add_compare(commands)
    _add_campaign(commands)
    _add_play(commands)
    _add_reading(commands)
    return top


def _add(
    commands: _Commands, name: str, short: str, *, story: str, examples: str, own_help: bool = False
) -> "Parser":
    """A command with a line for the overview, and a story and examples for its own help."""
    return commands.add_parser(
        name,
        help=short,
        description=story,
        epilog=f"examples:\n{textwrap.indent(textwrap.dedent(examples).strip(), '  ')}",
        formatter_class=Formatter,
        add_help=not own_help,
    )


def _add_machine(commands: _Commands) -> None:
    _add(
        commands,
        "doctor",
        "what the harness needs of this machine, and what is there",
        story="Looks at everything that runs, tests and reports need, and changes nothing. For "
        "what is missing it says how to mend it and what works without it. Exits 0 when all is "
        "there, 255 otherwise.",
        examples="kraft-chaos doctor",
    )
    command = _add(
        commands,
        "setup",
        "bring up what is missing (engine, images, caches)",
        story="Brings up what `doctor` finds missing: installs and starts a Docker engine where "
        "root may, builds or pulls the images, warms the checkers' caches. What is there already "
        "is left alone, so running it again costs seconds. Needs root only to install.",
        examples="""\
            kraft-chaos setup && kraft-chaos doctor
            kraft-chaos setup --target kafka          the image of Apache Kafka as well""",
    )
    flags.add_target(command)
    command = _add(
        commands,
        "list",
        "the scenarios",
        story="The stories that `run` can put a cluster through: how long each hurts it by "
        "default, and what it needs of the cluster.",
        examples="""\
            kraft-chaos list -v                       the whole stories
            kraft-chaos run partition-leader --help   one of them, and the flags""",
    )
    command.add_argument("-v", "--verbose", action="store_true", help="tell the whole stories")
    command.add_argument("--json", action="store_true", help="the same as JSON on stdout")


def _add_run(commands: _Commands) -> None:
    command = _add(
        commands,
        "run",
        "run a scenario; exits with its verdict",
        story="Creates a cluster, loads it, hurts it as the scenario tells, heals it, reads "
        "everything once more by fresh clients, removes it, and judges what was recorded. All "
        "of it is kept in a directory under --out, report.html among it; OUT/latest is the "
        "newest. Ctrl-C seals and judges what there is, and leaves nothing on the machine.",
        examples="""\
            kraft-chaos run partition-leader
            kraft-chaos run power-off --seed 7 --duration 60 --nodes 5
            kraft-chaos run baseline --concurrency 50 --rate 500 --json | jq .statistics""",
        own_help=True,
    )
    command.add_argument("scenario", metavar="SCENARIO", help="see kraft-chaos list")
    command.add_argument(
        "-h", "--help", nargs=0, action=_StoryHelp, help="show this, and the scenario's story"
    )
    command.add_argument(
        "--seed",
        type=whole(0, _LARGEST_SEED),
        metavar="N",
        help="of the schedule and of the mix of operations (default: drawn, and printed)",
    )
    command.add_argument(
        "--nodes",
        type=whole(1, campaign_arguments.MOST_NODES),
        metavar="N",
        help=f"controllers: 3 or 5; simulated, 1 to {campaign_arguments.MOST_NODES}; brokers of "
        f"Apache Kafka: 1 to {MOST} (default 3, or the seed's)",
    )
    command.add_argument(
        "--duration",
        type=number(1, 86_400, "a number of seconds"),
        metavar="S",
        help="seconds of hurting (default: the scenario's, see kraft-chaos list)",
    )
    command.add_argument(
        "--concurrency",
        type=whole(2, _MOST_PROCESSES),
        metavar="N",
        help="client processes, each one operation at a time (default 20)",
    )
    command.add_argument(
        "--rate",
        type=number(0, 100_000, "a number of operations/s"),
        default=0.0,
        metavar="N",
        help="operations/s of all processes together (default 0: no limit; simulated: 100)",
    )
    command.add_argument(
        "--client",
        choices=LIBRARIES,
        default=RAW,
        help="which library sends to logs and polls them, in stories of brokers (default raw, "
        "our own)",
    )
    command.add_argument(
        "--topic-client",
        choices=TOPIC_CLIENTS,
        default=RAW,
        help="which one creates and deletes topics meanwhile (default raw); the unwaited one tells "
        "the brokers not to wait until it is done",
    )
    flags.add_out(command, "where run directories are made")
    selftest_arguments.add_mutation(command)
    command.add_argument(
        "--keep", action="store_true", help="leave the cluster up; `down` removes it"
    )
    command.add_argument("--json", action="store_true", help="the verdict as JSON on stdout")
    flags.add_target(command)
    flags.add_settings(command)
    flags.add_world(command)


def _add_selftest(commands: _Commands) -> None:
    command = _add(
        commands,
        "selftest",
        selftest_arguments.HELP,
        story=selftest_arguments.STORY,
        examples=selftest_arguments.EXAMPLES,
    )
    tries = 10_000
    selftest_arguments.add_arguments(command, whole(0, _LARGEST_SEED - tries), whole(1, tries))
    flags.add_target(command)
    flags.add_world(command)


def _add_compare(commands: _Commands) -> None:
    command = _add(
        commands,
        "compare",
        compare_arguments.HELP,
        story=compare_arguments.STORY,
        examples=compare_arguments.EXAMPLES,
    )
    compare_arguments.add_arguments(command, whole(0, _LARGEST_SEED - 99), whole(1, 99))
    flags.add_target(command)
    command.set_defaults(target=KAFKA)
    flags.add_settings(command)


def _add_campaign(commands: _Commands) -> None:
    command = _add(
        commands,
        "campaign",
        campaign_arguments.HELP,
        story=campaign_arguments.STORY,
        examples=campaign_arguments.EXAMPLES,
    )
    campaign_arguments.add_arguments(command, whole, number)
    command = _add(
        commands,
        "replay",
        campaign_arguments.REPLAY_HELP,
        story=campaign_arguments.REPLAY_STORY,
        examples=campaign_arguments.REPLAY_EXAMPLES,
    )
    campaign_arguments.add_replay(command, (*RUNTIMES, SIM))
    command = _add(
        commands,
        "shrink",
        campaign_arguments.SHRINK_HELP,
        story=campaign_arguments.SHRINK_STORY,
        examples=campaign_arguments.SHRINK_EXAMPLES,
    )
    campaign_arguments.add_shrink(command, number)


def _add_play(commands: _Commands) -> None:
    command = _add(
        commands,
        "up",
        "bring up a cluster to play with",
        story="Brings up a cluster without load and leaves it: the bootstrap addresses and the "
        "commands to go on with are printed. Clusters of different names do not disturb each "
        "other; no later run removes them.",
        examples="""\
            kraft-chaos up
            kraft-chaos up five --nodes 5
            kraft-chaos up --target kafka --set elr=off --set controllers=3""",
    )
    flags.add_name(command)
    flags.add_nodes(command)
    flags.add_target(command)
    flags.add_settings(command)
    flags.add_runtime(command)
    command = _add(
        commands,
        "down",
        "remove a cluster that is up",
        story="Removes a cluster that `up` or `run --keep` left: its containers, networks, volumes "
        "and loop devices. Whatever is injected into it is gone with it.",
        examples="""\
            kraft-chaos down
            kraft-chaos down five""",
    )
    flags.add_name(command)
    flags.add_runtime(command)
    command = _add(
        commands,
        "inject",
        "hurt a cluster that is up, until `heal`",
        story="Lets a fault begin on a cluster that is up; it lasts until `heal`. Faults add up: "
        "inject several, and heal cures all of them, the newest first.\n"
        "faults: WHAT-WHOM, where WHOM is resolved at this moment\n"
        f"{listed(FAULTS)}\n"
        "partition-in: the target does not hear the others; partition-out: they do not hear it; "
        "clients reach everybody. power-off forgets what was not fsynced, kill does not.",
        examples="""\
            kraft-chaos inject partition-leader
            kraft-chaos inject power-off-all
            kraft-chaos inject pause-follower --node 2 --name five""",
    )
    command.add_argument("fault", type=fault, metavar="FAULT", help="one of the names above")
    command.add_argument(
        "--node", type=whole(1, 99), metavar="N", help="hit this node, whatever its role"
    )
    flags.add_named(command)
    command = _add(
        commands,
        "heal",
        "cure all that was injected; says what it had done",
        story="Cures everything that was injected, the newest first, and says of each fault "
        "whether it bit and what was measured. Exits 3 if one of them had no effect.",
        examples="kraft-chaos inject partition-leader && sleep 5 && kraft-chaos heal",
    )
    flags.add_named(command)


def _add_reading(commands: _Commands) -> None:
    command = _add(
        commands,
        "check",
        check_arguments.HELP,
        story=check_arguments.STORY,
        examples=check_arguments.EXAMPLES,
    )
    check_arguments.add_arguments(command)
    command = _add(
        commands,
        "report",
        "many runs on one page, by Spark",
        story="Reads any number of sealed runs with Spark and makes one self-contained page: what "
        "became of the writes, times without a success, elections, and latency, by scenario "
        "and fault phase. Runs that are not sealed are named on the page and left out.",
        examples="""\
            kraft-chaos report runs
            kraft-chaos report runs/*-power-off-* --out power-off.html
            kraft-chaos report /shared/runs --master spark://host:7077""",
    )
    command.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="runs, or directories of runs"
    )
    command.add_argument(
        "--out",
        type=Path,
        default=Path("runs/report.html"),
        metavar="FILE",
        help="the page to write (default runs/report.html)",
    )
    command.add_argument(
        "--master", metavar="URL", help="a Spark cluster that sees the same files (default: local)"
    )
