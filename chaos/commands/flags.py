"""Flags shared by several commands."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from chaos.cluster.targets.kafka_settings import MOST
from chaos.commands.arguments import name, number, setting, target, whole
from chaos.mutations.catalogue import MUTATIONS
from chaos.runtimes import RUNTIMES
from chaos.scenario import SCENARIO_SETTINGS, SIM

if TYPE_CHECKING:  # it imports the engine's libraries
    from chaos.playground import Ground

LARGEST_SEED = 2**63 - 1  # the limit of a table's column
MOST_NODES = 7  # of a simulated cluster
_PLAYGROUND = "play"


def add_nodes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--nodes",
        type=whole(1, MOST),
        default=3,
        metavar="N",
        help="controllers, 3 or 5, or brokers of Apache Kafka, 1 to 5 (default 3); our own has "
        "brokers by --set brokers=N",
    )


def add_out(
    command: argparse.ArgumentParser, what: str = "where run directories are made", to: str = "runs"
) -> None:
    command.add_argument(
        "--out", type=Path, default=Path(to), metavar="DIR", help=f"{what} (default {to})"
    )


def add_json(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument("--json", action="store_true", help=f"{what} as JSON on stdout")


def add_seed(command: argparse.ArgumentParser, beyond: int) -> None:
    """The seed of the first run; later ones count up from it, by less than `beyond`."""
    command.add_argument(
        "--seed",
        type=whole(0, LARGEST_SEED - beyond),
        default=1,
        metavar="N",
        help="seed of the first run of each (default 1)",
    )


def add_mutation(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--mutation",
        choices=MUTATIONS,
        default="",
        metavar="ID",
        help=f"plant a bug in every node: {', '.join(MUTATIONS)}",
    )


def add_minutes(command: argparse.ArgumentParser, what: str, default: float | None) -> None:
    command.add_argument(
        "--minutes",
        type=number(0.01, 10_000, "a number of minutes"),
        default=default,
        metavar="M",
        help=what,
    )


def add_master(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument("--master", metavar="URL", help=what)


def add_name(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "name",
        nargs="?",
        type=name,
        default=_PLAYGROUND,
        metavar="NAME",
        help=f"of the cluster (default {_PLAYGROUND})",
    )


def add_named(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--name", type=name, default=_PLAYGROUND, help=f"the cluster (default {_PLAYGROUND})"
    )
    add_runtime(command)


def add_target(
    command: argparse.ArgumentParser, default: str | None = "node", told: str = ""
) -> None:
    """`told`: the default in words, where it is not one target."""
    command.add_argument(
        "--target",
        type=target,
        default=default,
        metavar="TARGET",
        help="the target: node (our own), kafka or kafka:VERSION (Apache Kafka) "
        f"(default {told or default})",
    )


def add_settings(command: argparse.ArgumentParser, *, of_scenarios: bool = True) -> None:
    of_scenario = [
        f"{name}={' or '.join(setting.values)}" for name, setting in SCENARIO_SETTINGS.items()
    ]
    command.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        dest="settings",
        metavar="NAME=VALUE",
        help="a setting of the target, may be repeated: roles=combined (every broker is a "
        "controller as well), brokers=N, controllers=3, quorum=static, or dynamic (our own node "
        "lists its voters otherwise), elr=off, replication=N, min_isr=N, unclean=on, log_dirs=2, "
        "defaults=stock, or a key of Kafka's own configuration"
        + (f"; or a setting of the scenario, {', '.join(of_scenario)}" if of_scenarios else ""),
    )


def add_world(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--runtime",
        choices=(*RUNTIMES, SIM),
        default="",
        help="the runtime: containers, or virtual time from the seed, byte for byte the same each "
        "time (default: docker; without an engine `run` uses sim, but only at a terminal)",
    )


def add_runtime(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--runtime", choices=RUNTIMES, default="docker", help="the runtime (default docker)"
    )


def ground_of(parsed: argparse.Namespace) -> "Ground":
    """The cluster of the playground."""
    from chaos.playground import Ground

    return Ground(name=parsed.name, runtime=parsed.runtime)
