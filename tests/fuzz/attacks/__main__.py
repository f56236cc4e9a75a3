"""Runs the attacks on three brokers and a controller; a line each, and what it cost others."""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from node.wire.entities import TopicPartition
from tests.fuzz.attacks import __doc__ as story
from tests.fuzz.attacks.crowds import ATTACKS, Attack, Ports
from tests.fuzz.attacks.odd import requests
from tests.fuzz.attacks.raw import ask
from tests.fuzz.broker_processes import (
    Records,
    check_kept,
    prepare,
    three_brokers,
)
from tests.fuzz.broker_storm import STEADY
from tests.fuzz.processes import Living, Report, check_processes
from tests.fuzz.sessions import Surprise
from tests.fuzz.steady import Steady, Waits
from tests.support.own_brokers import OwnCluster

AFTER_OPERATIONS = 4  # of the client that behaves, when an attack is over
# Of a process: an idle one has some 60 MiB. Beside that requests may take 100, their copies as they
# are read as much again, and answers 100.
MEMORY_LIMIT_BYTES = 384 * 1024 * 1024


def all_attacks() -> dict[str, Attack]:
    return {**{name: _odd(frames) for name, frames in requests().items()}, **ATTACKS}


def _odd(frames: Sequence[bytes]) -> Attack:
    """Each request to each node, one after the other."""

    async def attack(ports: Ports) -> None:
        await asyncio.gather(*(_ask_all(port, frames) for port in ports.all))

    return attack


async def _ask_all(port: int, frames: Sequence[bytes]) -> None:
    for frame in frames:
        await ask(port, frame)


async def beside(attack: Attack, ports: Ports, steady: Steady) -> Waits:
    """What the client that behaves waited during an attack. It may be refused then, where replicas
    fall back on this machine; it is served afterwards."""
    attacking = asyncio.create_task(_whole(attack, ports))
    waits = await steady.work(lambda _: not attacking.done())
    await attacking
    after = await steady.work(lambda done: done < AFTER_OPERATIONS)
    if after.refusal:
        raise Surprise(f"a client that behaves is refused: {after.refusal}")
    return waits


async def _whole(attack: Attack, ports: Ports) -> None:
    await attack(ports)


def run(cluster: OwnCluster, names: Sequence[str]) -> None:
    """Raises Surprise. The brokers are stopped and started in the end."""
    ids = prepare(cluster)
    nodes = list(cluster.brokers.values())
    watched: list[Living] = [*nodes, *cluster.quorum.nodes.values()]
    pids = [node.process.pid for node in watched if node.process is not None]
    ports = Ports([node.port for node in nodes], [n.outer for n in cluster.quorum.nodes.values()])
    records = Records(TopicPartition(name=STEADY, id=ids[STEADY], index=0))
    steady = Steady(nodes[0].port, nodes[0].directory / "synced", records)
    attacks, report = all_attacks(), Report()
    for name in names:
        began = time.monotonic()
        try:
            waits = asyncio.run(beside(attacks[name], ports, steady))
            check_processes(watched, pids, report, MEMORY_LIMIT_BYTES)
        except (Surprise, AssertionError) as surprise:
            raise Surprise(f"{name}: {surprise!r}") from surprise
        print(
            f"{name}: {time.monotonic() - began:.1f} s, {len(waits.operations)} operations beside"
            f" with a p99 of {waits.p99 * 1000:.0f} ms; so far at most"
            f" {report.memory_bytes / 2**20:.0f} MiB a process",
            flush=True,
        )
    check_kept(cluster, records, report)
    print(f"{len(names)} attacks; {len(records.written)} acknowledged records are kept")


def main() -> int:
    parser = argparse.ArgumentParser(description=story)
    parser.add_argument("--only", action="append", choices=sorted(all_attacks()), default=[])
    options = parser.parse_args()
    names = options.only or list(all_attacks())
    with (
        tempfile.TemporaryDirectory(prefix="kraft-attacks-") as directory,
        three_brokers(Path(directory)) as cluster,
    ):
        try:
            run(cluster, names)
        except Surprise as surprise:
            print(surprise, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
