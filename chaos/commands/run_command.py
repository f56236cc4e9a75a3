"""`kraft-chaos run`: one scenario, from nothing to a verdict, and whether that was the expected
one."""

import argparse
import difflib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from chaos.cluster.targets.kafka_settings import MOST
from chaos.commands import arguments
from chaos.commands.arguments import Commands, Parser, add, number, whole
from chaos.errors import UsageError
from checkers.history.sealed_run import RunInfo
from checkers.run.expectation import Expectation, expectation_of
from checkers.verdict import Judgement, Verdict
from workloads.clients.library_clients import LIBRARIES, RAW, TOPIC_CLIENTS

if TYPE_CHECKING:
    from chaos.run.planning import Choices
    from chaos.run.scenario_file import ScenarioFile


# `run --expect`: the expected outcome of a run.


_BY_THE_HARNESS = ("run", "judge")  # rows that come from no check
_INVARIANT = "invariant:"


def expectation(text: str) -> Expectation:
    """`invalid`, `void:faults-bit`, `invalid:log-durability,log-offsets`: a verdict, the check that
    must give it, and others that may accuse too."""
    word, colon, named = text.partition(":")
    words = [verdict.word for verdict in Verdict]
    check, *also = named.split(",")
    if word not in words or bool(colon) != all((check, *also)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither VERDICT nor VERDICT:CHECK[,CHECK...]; verdicts are "
            f"{', '.join(words)}"
        )
    return Expectation(verdict=Verdict[word.upper()], check=check, also=tuple(also))


def of_run(asked: Expectation, info: RunInfo, judgement: Judgement) -> Expectation:
    """The same, with the checks that may accuse too: those named by the scenario's side with this
    expectation; with a planted bug, any."""
    also = list(asked.also)
    side = expectation_of(info.expected)
    if side is not None and (side.verdict, side.check) == (asked.verdict, asked.check):
        also += side.also
    if info.mutation:
        also += [row.check for row in judgement.results]
    return replace(asked, also=tuple(dict.fromkeys(also)))


def require_known(expected: Expectation) -> None:
    """Checked before the run. Raises UsageError for an unknown check."""
    from chaos.run.packages import own_checks
    from checkers.suite import CHECKS

    known = sorted({each.id for each in (*CHECKS, *own_checks())})
    for check in filter(None, (expected.check, *expected.also)):
        if check not in (*known, *_BY_THE_HARNESS) and not check.startswith(_INVARIANT):
            near = difflib.get_close_matches(check, known, n=3, cutoff=0.4) or known
            raise UsageError(f"--expect: unknown check {check!r}\n  try: one of {', '.join(near)}")


_MOST_PROCESSES = 1_000


class _ScenarioHelp(argparse.Action):
    """`run SCENARIO --help` describes the scenario above the arguments."""

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
            kraft-chaos run power-off --keep-on-failure --stop-at-first
            kraft-chaos run power-off-brokers --app "python app.py"
            kraft-chaos run baseline --concurrency 50 --rate 500 --json | jq .statistics""",
        own_help=True,
    )
    command.add_argument(
        "scenario",
        nargs="?",
        default="",
        metavar="SCENARIO",
        help="see kraft-chaos list; or one of --scenario-file",
    )
    arguments.add_scenario_file(command)
    command.add_argument(
        "-h", "--help", nargs=0, action=_ScenarioHelp, help="show this, and describe the scenario"
    )
    add_seed_and_nodes(command)
    command.add_argument(
        "--duration",
        type=number(1, 86_400, "a number of seconds"),
        metavar="S",
        help="how long faults are injected, in seconds (default: the scenario's, see "
        "kraft-chaos list)",
    )
    add_clients(command, usual_rate="0: the scenario's, else no limit; simulated: 100")
    add_ending(command)


# Flags of each command that runs one cluster to a verdict.


def add_ending(command: Parser) -> None:
    """Where it runs, what runs, and what is left in the end."""
    arguments.add_out(command)
    arguments.add_mutation(command)
    command.add_argument(
        "--keep", action="store_true", help="leave the cluster up, healed; `down` removes it"
    )
    command.add_argument(
        "--keep-on-failure",
        action="store_true",
        help="if the verdict is not valid, leave the cluster as it was: what lasts is not healed; "
        "the commands that look at it and end it are printed",
    )
    command.add_argument(
        "--pcap",
        action="store_true",
        help="record the packets of every link, for Wireshark: pcap/1-2.pcap in the run's "
        "directory has what node 1 asked of node 2 (kraft-chaos setup --pcap has the means)",
    )
    command.add_argument(
        "--stop-at-first",
        action="store_true",
        help="judge what clients saw so far every few seconds, beside the run, and end the run at "
        "the first violation: with --keep-on-failure its faults last",
    )
    arguments.add_json(command, "the verdict")
    command.add_argument(
        "--expect",
        type=expectation,
        metavar="VERDICT[:CHECK[,CHECK...]]",
        help="the expected verdict (valid, invalid, unknown, void or error), the check that must "
        "give it, and others that may accuse too (for a scenario's side, those that it names; for "
        "a planted bug, any): exits 0 if it came out so, and 1 otherwise",
    )
    arguments.add_target(command)
    arguments.add_settings(command)
    arguments.add_world(command)


def add_seed_and_nodes(command: Parser) -> None:
    command.add_argument(
        "--seed",
        type=whole(0, arguments.LARGEST_SEED),
        metavar="N",
        help="seed of the schedule and of the mix of operations (default: random, and printed)",
    )
    command.add_argument(
        "--nodes",
        type=whole(1, arguments.MOST_NODES),
        metavar="N",
        help=f"controllers: 3 or 5; simulated, 1 to {arguments.MOST_NODES}; brokers, in scenarios "
        f"of them or of Apache Kafka: 1 to {MOST} (default 3, or the seed's)",
    )


def add_clients(command: Parser, usual_rate: str) -> None:
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
        help=f"operations/s of all processes together (default {usual_rate})",
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
        "--app",
        default="",
        metavar="CMD",
        help="an application of yours, run beside the load in scenarios of brokers: it prints its "
        "operations (send, poll, read, write, cas) as lines of JSON, which are judged too; its "
        "death and silence are told (docs/how-to/own-application.md)",
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
    return carry_out(parsed, choices_of(parsed))


def carry_out(parsed: argparse.Namespace, choices: "Choices") -> int:
    """Run to a verdict, and print it; as `run`."""
    from chaos.play.playground import tell_kept
    from chaos.progress import ConsoleProgress
    from chaos.run.launch import perform
    from chaos.run.runtimes import DOCKER
    from chaos.run.terminal import judgement_json, judgement_text
    from checkers.history.sealed_run import read_run_info

    if parsed.expect is not None:
        require_known(parsed.expect)
    progress = ConsoleProgress()
    choices = replace(choices, falls_back=progress.is_watched and not parsed.json)
    ran = perform(choices, parsed.out, progress)
    show = judgement_json if parsed.json else judgement_text
    sys.stdout.write(show(ran.judgement, ran.directory) + "\n")
    if ran.kept is not None:
        tell_kept(ran.kept, choices.runtime or DOCKER, progress.tell)
    if parsed.expect is None:
        return ran.judgement.verdict.exit_code
    asked = of_run(parsed.expect, read_run_info(ran.directory), ran.judgement)
    mismatch = asked.mismatch(ran.judgement)
    progress.tell(f"not as expected: {mismatch}" if mismatch else f"as expected: {parsed.expect}")
    return 1 if mismatch else 0


def choices_of(parsed: argparse.Namespace) -> "Choices":
    """The user's choices for the run."""
    from chaos.run.scenario_file import read_scenario_file

    if not parsed.scenario and parsed.scenario_file is None:
        raise UsageError("run needs a scenario\n  try: kraft-chaos list, or --scenario-file FILE")
    file = read_scenario_file(parsed.scenario_file) if parsed.scenario_file else None
    asked = choices_for(parsed, parsed.scenario, file)
    return replace(asked, duration_s=parsed.duration)


def choices_for(
    parsed: argparse.Namespace, scenario: str, file: "ScenarioFile | None"
) -> "Choices":
    """The user's choices for a run of that scenario, by the flags of this and of other commands."""
    from chaos.run.planning import Choices

    return Choices(
        scenario=scenario,
        file=file,
        seed=parsed.seed,
        nodes=parsed.nodes,
        concurrency=parsed.concurrency,
        rate=parsed.rate,
        target=parsed.target,
        settings=dict(parsed.settings),
        runtime=parsed.runtime,
        mutation=parsed.mutation,
        client=parsed.client,
        topic_client=parsed.topic_client,
        app=parsed.app,
        keep=parsed.keep,
        keep_on_failure=parsed.keep_on_failure,
        stop_at_first=parsed.stop_at_first,
        pcap=parsed.pcap,
    )
