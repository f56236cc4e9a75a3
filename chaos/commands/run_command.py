"""`kraft-chaos run`: one scenario, from nothing to a verdict."""

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from chaos.cluster.targets.kafka_settings import MOST
from chaos.commands import flags
from chaos.commands.arguments import Commands, Parser, add, number, whole
from chaos.commands.expecting import expectation, of_run, require_known
from workloads.library_clients import LIBRARIES, RAW, TOPIC_CLIENTS

if TYPE_CHECKING:  # scenarios are slow to import
    from chaos.planning import Choices

_MOST_PROCESSES = 1_000


class _ScenarioHelp(argparse.Action):
    """`run SCENARIO --help` describes the scenario above the flags."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del values, option_string  # it takes no value
        from chaos.commands.list_command import in_full
        from chaos.scenarios import SCENARIOS

        scenario = SCENARIOS.get(getattr(namespace, "scenario", None) or "")
        if scenario is not None:
            sys.stdout.write(in_full(scenario) + "\n\n")
        parser.print_help()
        parser.exit()


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "run",
        "run a scenario; exits with its verdict",
        run,
        about="Creates a cluster, applies load, injects the scenario's faults, heals them, reads "
        "everything once more by fresh clients, removes the cluster, and judges the recorded "
        "events. All files are kept in a directory under --out, report.html among them; OUT/latest "
        "is the newest. Ctrl-C seals and judges what was recorded so far, and leaves nothing on "
        "the machine.",
        examples="""\
            kraft-chaos run partition-leader
            kraft-chaos run power-off --seed 7 --duration 60 --nodes 5
            kraft-chaos run kill-leader --mutation Q-SAME-EPOCH --expect invalid:Q17-no-leader-again
            kraft-chaos run last-replica-standing --set elr=off --expect invalid:log-durability
            kraft-chaos run baseline --concurrency 50 --rate 500 --json | jq .statistics""",
        own_help=True,
    )
    command.add_argument("scenario", metavar="SCENARIO", help="see kraft-chaos list")
    command.add_argument(
        "-h", "--help", nargs=0, action=_ScenarioHelp, help="show this, and describe the scenario"
    )
    _add_size(command)
    _add_clients(command)
    flags.add_out(command)
    flags.add_mutation(command)
    command.add_argument(
        "--keep", action="store_true", help="leave the cluster up; `down` removes it"
    )
    flags.add_json(command, "the verdict")
    command.add_argument(
        "--expect",
        type=expectation,
        metavar="VERDICT[:CHECK[,CHECK...]]",
        help="the expected verdict (valid, invalid, unknown, void or error), the check that must "
        "give it, and others that may accuse too (for a scenario's side, those that it names; for "
        "a planted bug, any): exits 0 if it came out so, and 1 otherwise",
    )
    flags.add_target(command)
    flags.add_settings(command)
    flags.add_world(command)


def _add_size(command: Parser) -> None:
    command.add_argument(
        "--seed",
        type=whole(0, flags.LARGEST_SEED),
        metavar="N",
        help="seed of the schedule and of the mix of operations (default: random, and printed)",
    )
    command.add_argument(
        "--nodes",
        type=whole(1, flags.MOST_NODES),
        metavar="N",
        help=f"controllers: 3 or 5; simulated, 1 to {flags.MOST_NODES}; brokers, in scenarios of "
        f"them or of Apache Kafka: 1 to {MOST} (default 3, or the seed's)",
    )
    command.add_argument(
        "--duration",
        type=number(1, 86_400, "a number of seconds"),
        metavar="S",
        help="how long faults are injected, in seconds (default: the scenario's, see "
        "kraft-chaos list)",
    )


def _add_clients(command: Parser) -> None:
    command.add_argument(
        "--concurrency",
        type=whole(2, _MOST_PROCESSES),
        metavar="N",
        help="client processes, each with one operation at a time (default: the load's, mostly 20)",
    )
    command.add_argument(
        "--rate",
        type=number(0, 100_000, "a number of operations/s"),
        default=0.0,
        metavar="N",
        help="operations/s of all processes together (default 0: the scenario's, else no limit; "
        "simulated: 100)",
    )
    command.add_argument(
        "--client",
        choices=LIBRARIES,
        default=RAW,
        help="the client library that sends to logs and polls them, in scenarios of brokers "
        "(default raw, our own); transactions need --target kafka: our own brokers refuse them "
        "with UNSUPPORTED_VERSION",
    )
    command.add_argument(
        "--topic-client",
        choices=TOPIC_CLIENTS,
        default=RAW,
        help="the library that creates and deletes topics (default raw); the unwaited one tells "
        "the brokers not to wait for completion",
    )


def run(parsed: argparse.Namespace) -> int:
    """The verdict's exit code, or whether it is as expected."""
    from chaos.launch import perform
    from chaos.progress import ConsoleProgress
    from chaos.terminal import judgement_json, judgement_text
    from checkers.history.sealed_run import read_run_info

    if parsed.expect is not None:
        require_known(parsed.expect)
    progress = ConsoleProgress()
    choices = replace(choices_of(parsed), falls_back=progress.is_watched and not parsed.json)
    ran = perform(choices, parsed.out, progress)
    show = judgement_json if parsed.json else judgement_text
    sys.stdout.write(show(ran.judgement, ran.directory) + "\n")
    if parsed.expect is None:
        return ran.judgement.verdict.exit_code
    asked = of_run(parsed.expect, read_run_info(ran.directory), ran.judgement)
    unlike = asked.unlike(ran.judgement)
    progress.tell(f"not as expected: {unlike}" if unlike else f"as expected: {parsed.expect}")
    return 1 if unlike else 0


def choices_of(parsed: argparse.Namespace) -> "Choices":
    """The user's choices for the run."""
    from chaos.planning import Choices

    return Choices(
        scenario=parsed.scenario,
        seed=parsed.seed,
        nodes=parsed.nodes,
        duration_s=parsed.duration,
        concurrency=parsed.concurrency,
        rate=parsed.rate,
        target=parsed.target,
        settings=dict(parsed.settings),
        runtime=parsed.runtime,
        mutation=parsed.mutation,
        client=parsed.client,
        topic_client=parsed.topic_client,
        keep=parsed.keep,
    )
