"""What `kraft-chaos campaign` is told. Words only, so that asking for help loads no checker."""

import argparse
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from chaos.mutations.catalogue import MUTATIONS

HELP = "many simulated runs, one a seed; exits with the worst verdict"

STORY = (
    "Runs a scenario once for each seed, in virtual time, and judges every run. By default the "
    "scenario is `swarm`, in which the seed draws the cluster, its time-outs, network, disks, load "
    "and faults that overlap. Of a run that fails, its directory is kept under --out (history, "
    "verdict, page, repro.sh); of every run, a line of OUT/rows.jsonl. A crash of the harness is a "
    "row as well. At the end: what was found, runs that failed alike together, each with the one "
    "line that shows it again; and what the faults struck, in which role and state of the quorum, "
    "so that a campaign in which little happened cannot pass for a good one: that is exit 3."
)

EXAMPLES = """\
    kraft-chaos campaign --seeds 0..99
    kraft-chaos campaign --seeds 0..1000000 --minutes 30     as many as there is time for
    kraft-chaos campaign --seeds 0..20 --scenario partition-leader --mutation Q-ZOMBIE
    kraft-chaos campaign --seeds 0..99 --scenario returning-minority --nodes 5
    kraft-chaos campaign --seeds 0..1999 --master local[4]   the same as a Spark job
    kraft-chaos shrink runs/campaign/20260204-110312-swarm-17   what is left of a failing run"""

MOST_NODES = 7  # of a simulated cluster
_MOST_SEEDS = 10_000_000


def add_arguments(
    command: argparse.ArgumentParser,
    whole: Callable[[int, int], Callable[[str], int]],
    number: Callable[[float, float, str], Callable[[str], float]],
) -> None:
    """`whole` and `number` make readers of numbers within bounds."""
    command.add_argument(
        "--seeds",
        type=seeds,
        required=True,
        metavar="A..B",
        help="the seeds, both ends among them; or one",
    )
    command.add_argument(
        "--scenario", default="swarm", metavar="NAME", help="see kraft-chaos list (default swarm)"
    )
    command.add_argument(
        "--nodes",
        type=whole(1, MOST_NODES),
        metavar="N",
        help="controllers of every cluster (default 3; in a swarm, each seed's own)",
    )
    command.add_argument(
        "--duration",
        type=number(3, 86_400, "a number of seconds"),
        metavar="S",
        help="of hurting, in virtual seconds (default: the scenario's; the swarm draws 40 to 90)",
    )
    command.add_argument(
        "--minutes",
        type=number(0.01, 10_000, "a number of minutes"),
        metavar="M",
        help="begin no run later than this",
    )
    command.add_argument(
        "--jobs",
        type=whole(1, 1024),
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes side by side (default: the machine's processors)",
    )
    command.add_argument(
        "--mutation",
        choices=MUTATIONS,
        default="",
        metavar="ID",
        help=f"plant a bug in every node: {', '.join(MUTATIONS)}",
    )
    command.add_argument("--json", action="store_true", help="the summary as JSON on stdout")
    command.add_argument(
        "--out",
        type=Path,
        default=Path("runs/campaign"),
        metavar="DIR",
        help="where rows.jsonl and failing runs go (default runs/campaign)",
    )
    command.add_argument(
        "--master",
        metavar="URL",
        help="a Spark cluster that runs the seeds and sees --out; writes OUT/rows, Parquet",
    )


REPLAY_HELP = "a recorded run once more, on either runtime"

REPLAY_STORY = (
    "Does again what a run did: the faults of its schedule.json at their times and with their "
    "parameters, and everything else as its run.json has it: nodes, load, time-outs, seed, planted "
    "bug. In virtual time the result is byte for byte what was recorded there, and it is said if "
    "not. In containers time is real and the schedule all that can be repeated; network and disks "
    "are the machine's own. Of a story that is told by conditions (a topic is there, the ISR is "
    "that) the steps are those of the scenario."
)

REPLAY_EXAMPLES = """\
    kraft-chaos replay runs/campaign/20260204-110312-swarm-17
    kraft-chaos replay runs/latest/schedule.json --runtime docker
    kraft-chaos compare last-replica-standing && kraft-chaos replay runs/latest"""

SHRINK_HELP = "the least of a failing run that still fails alike, with its story"

SHRINK_STORY = (
    "Takes away from a failing run whatever it can do without, in virtual time, while the same "
    "check finds the same anomaly in a node of the same role: faults, nodes, operations, clients, "
    "keys, time. What is left is a run directory of its own: a schedule that `replay` runs on "
    "either runtime, and story.txt, in which a person can read who led, what was cut, which "
    "operation was promised what, and what was seen instead."
)

SHRINK_EXAMPLES = """\
    kraft-chaos shrink runs/campaign/20260204-110312-swarm-17
    kraft-chaos shrink runs/latest --minutes 10 && cat runs/shrunk/*/story.txt"""


def add_replay(command: argparse.ArgumentParser, runtimes: Sequence[str]) -> None:
    command.add_argument("named", type=Path, metavar="RUN", help="a run, or its schedule.json")
    command.add_argument(
        "--runtime", choices=runtimes, help="where it runs (default: where it was recorded)"
    )
    command.add_argument(
        "--out",
        type=Path,
        default=Path("runs/replay"),
        metavar="DIR",
        help="where run directories are made (default runs/replay)",
    )
    command.add_argument("--json", action="store_true", help="the verdict as JSON on stdout")


def add_shrink(
    command: argparse.ArgumentParser, number: Callable[[float, float, str], Callable[[str], float]]
) -> None:
    command.add_argument("named", type=Path, metavar="RUN", help="a run that was found invalid")
    command.add_argument(
        "--minutes",
        type=number(0.01, 10_000, "a number of minutes"),
        default=2.0,
        metavar="M",
        help="of looking for something smaller (default 2)",
    )
    command.add_argument(
        "--out",
        type=Path,
        default=Path("runs/shrunk"),
        metavar="DIR",
        help="where the result is made (default runs/shrunk)",
    )


def seeds(text: str) -> range:
    """`3..17`, or `3`."""
    found = re.fullmatch(r"(\d{1,18})(?:\.\.(\d{1,18}))?", text, re.ASCII)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no seed, and no A..B")
    first = int(found[1])
    last = int(found[2]) if found[2] else first
    if not first <= last < first + _MOST_SEEDS:
        raise argparse.ArgumentTypeError(
            f"{text!r}: from the lower seed to the higher, {_MOST_SEEDS:,} at most"
        )
    return range(first, last + 1)
