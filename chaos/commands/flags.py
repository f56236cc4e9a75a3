"""Flags that several commands have."""

import argparse
from pathlib import Path

from chaos.cluster.targets.kafka_settings import MOST
from chaos.commands.arguments import name, setting, target, whole
from chaos.runtimes import RUNTIMES
from chaos.scenario import SIM

_PLAYGROUND = "play"


def add_nodes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--nodes",
        type=whole(1, MOST),
        default=3,
        metavar="N",
        help="controllers, 3 or 5, or brokers of Apache Kafka, 1 to 5 (default 3)",
    )


def add_out(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument(
        "--out", type=Path, default=Path("runs"), metavar="DIR", help=f"{what} (default ./runs)"
    )


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


def add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--target",
        type=target,
        default="node",
        metavar="TARGET",
        help="what runs: node, our own (default), kafka or kafka:VERSION, Apache Kafka",
    )


def add_settings(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        dest="settings",
        metavar="NAME=VALUE",
        help="how the target is configured, more than once if need be: roles=combined, "
        "controllers=3, quorum=static, elr=off, replication=N, min_isr=N, unclean=on, "
        "defaults=stock, or a name of Kafka's own configuration",
    )


def add_world(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--runtime",
        choices=(*RUNTIMES, SIM),
        default="",
        help="where it runs: in containers, or in virtual time from the seed, byte for byte the "
        "same each time (default: docker where an engine can be had, else sim)",
    )


def add_runtime(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--runtime", choices=RUNTIMES, default="docker", help="where it runs (default docker)"
    )
