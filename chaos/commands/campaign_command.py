"""`kraft-chaos campaign`: many simulated runs, one for each seed."""

import argparse
import os
import re
from typing import TYPE_CHECKING

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, number, whole
from chaos.errors import OperatorError

if TYPE_CHECKING:  # they import the judge
    from chaos.campaign.conduct import CampaignArguments

_MOST_SEEDS = 10_000_000

_ABOUT = (
    "Runs a scenario once for each seed, in virtual time, and judges every run. By default the "
    "scenario is `swarm`, in which the seed draws the cluster, its time-outs, network, disks, load "
    "and overlapping faults. The directory of each failed run is kept under --out (history, "
    "verdict, page, repro.sh); each run has a line in OUT/rows.jsonl, also one in which the "
    "harness crashed. The summary groups runs that failed alike, each with the command that "
    "repeats it, and counts faults by role of the victim and state of the quorum. A campaign in "
    "which too little happened exits with 3, as does one with more void runs than 5 % (15 % for "
    "fault phases of less than 10 s). Where the settings make a side of the scenario, its expected "
    "outcome counts as good, also losses, and other outcomes are reported and kept: exit 0 if "
    "every run came out as expected."
)

_EXAMPLES = """\
    kraft-chaos campaign --seeds 0..99
    kraft-chaos campaign --seeds 0..1000000 --minutes 30     as many as there is time for
    kraft-chaos campaign --seeds 0..20 --scenario partition-leader --mutation Q-ZOMBIE
    kraft-chaos campaign --seeds 0..99 --scenario returning-minority --nodes 5
    kraft-chaos campaign --seeds 0..99 --scenario last-replica-standing --set elr=off
    kraft-chaos campaign --seeds 0..99 --scenario-file mine.toml
    kraft-chaos campaign --seeds 0..1999 --master local[4]   the same as a Spark job
    kraft-chaos shrink runs/campaign/20260204-110312-swarm-17   minimize a failing run"""


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "campaign",
        "many simulated runs, one for each seed; exits with the worst verdict",
        run,
        about=_ABOUT,
        examples=_EXAMPLES,
    )
    command.add_argument(
        "--seeds",
        type=seeds,
        required=True,
        metavar="A..B",
        help="the seeds, ends included; or a single seed",
    )
    command.add_argument(
        "--scenario", metavar="NAME", help="see kraft-chaos list (default swarm, or the file's)"
    )
    arguments.add_scenario_file(command)
    command.add_argument(
        "--nodes",
        type=whole(1, arguments.MOST_NODES),
        metavar="N",
        help="controllers of every cluster (default 3; in a swarm, each seed's own)",
    )
    command.add_argument(
        "--duration",
        type=number(3, 86_400, "a number of seconds"),
        metavar="S",
        help="length of the fault phase, in virtual seconds (default: the scenario's; the swarm "
        "draws 40 to 90)",
    )
    arguments.add_minutes(command, "start no run later than this", None)
    command.add_argument(
        "--jobs",
        type=whole(1, 1024),
        default=os.cpu_count() or 1,
        metavar="N",
        help="parallel processes (default: the machine's processors)",
    )
    arguments.add_mutation(command)
    arguments.add_settings(command)
    arguments.add_json(command, "the summary")
    arguments.add_out(command, "where rows.jsonl and failing runs go", to="runs/campaign")
    arguments.add_master(
        command, "a Spark cluster that runs the seeds and sees --out; writes OUT/rows, Parquet"
    )


def run(parsed: argparse.Namespace) -> int:
    """The exit code of the worst verdict."""
    from chaos.campaign.conduct import CampaignArguments, campaign
    from chaos.run.scenario_file import read_scenario_file

    file = read_scenario_file(parsed.scenario_file) if parsed.scenario_file else None
    asked = CampaignArguments(
        seeds=parsed.seeds,
        scenario=parsed.scenario or ("swarm" if file is None else ""),
        file=file,
        minutes=parsed.minutes,
        settings=dict(parsed.settings),
        nodes=parsed.nodes,
        duration_s=parsed.duration,
        jobs=parsed.jobs,
        mutation=parsed.mutation,
        out=parsed.out,
        as_json=parsed.json,
    )
    return campaign(asked) if parsed.master is None else _by_spark(asked, parsed.master)


def _by_spark(asked: "CampaignArguments", master: str) -> int:
    from chaos.campaign.conduct import campaign_by

    try:
        from spark_reports.java import JavaNotFoundError
        from spark_reports.session import spread
    except ImportError as error:
        raise OperatorError(
            f"campaigns on a cluster need Spark: {error}\n  try: pip install 'kraft-chaos[spark]'"
        ) from error
    out = asked.out.absolute()
    try:
        return campaign_by(asked, lambda function, each: spread(function, each, out, master))
    except JavaNotFoundError as error:
        raise OperatorError(str(error)) from error


def seeds(text: str) -> range:
    """`3..17`, or `3`."""
    found = re.fullmatch(r"(\d{1,18})(?:\.\.(\d{1,18}))?", text, re.ASCII)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a seed nor A..B")
    first = int(found[1])
    last = int(found[2]) if found[2] else first
    if not first <= last < first + _MOST_SEEDS:
        raise argparse.ArgumentTypeError(
            f"{text!r}: from the lower seed to the higher, {_MOST_SEEDS:,} at most"
        )
    return range(first, last + 1)
