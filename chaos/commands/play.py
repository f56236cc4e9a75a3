"""`kraft-chaos up`, `down`, `inject`, `heal`: a cluster to play with by hand.

What was injected is kept in `<out>/<name>/injected.json` until it is healed, since `inject` and
`heal` are processes of their own.
"""

import asyncio
import json
import random
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from chaos.cluster.interface import Cluster, Evidence, Link, NodeId
from chaos.commands.errors import OperatorError
from chaos.interrupt import Interrupt, signals_to
from chaos.nemesis.apply import Hit, cure, inject, resolve
from chaos.nemesis.faults import Fault, Partition, PowerOff, lacking, need_of
from chaos.nemesis.named import FAULTS, aimed_at
from chaos.probes import NoLeaderError, QuorumProbe, driver_for
from chaos.progress import ConsoleProgress
from chaos.runtimes import RUNTIMES

_LEADER_WITHIN_S = 15.0

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Which cluster is played with, and where it is kept what was injected into it."""

    name: str
    runtime: str
    out: Path

    @property
    def directory(self) -> Path:
        return self.out / self.name

    @contextmanager
    def attached(self) -> Iterator[Cluster]:
        """The cluster, while it is needed; it stays up."""
        runtime = RUNTIMES[self.runtime]
        cluster = runtime.attach(self.name)
        try:
            yield cluster
        finally:
            runtime.let_go(cluster)


def up(ground: Ground, *, nodes: int, target: str) -> int:
    """Bring a cluster up and leave it; says how to reach it."""
    name = ground.name
    progress = ConsoleProgress()
    cluster = RUNTIMES[ground.runtime].new(
        run_id=name, nodes=nodes, target=target, keep=True, directory=ground.directory
    )
    try:
        asyncio.run(_up(cluster, progress))
        entries = [cluster.bootstrap[node] for node in cluster.nodes]
    finally:
        progress.end()
        RUNTIMES[ground.runtime].let_go(cluster)
    bootstrap = ",".join(f"{entry.host}:{entry.port}" for entry in entries)
    sys.stdout.write(
        f"cluster {name} is up: {cluster.version}, {len(entries)} controllers\n"
        f"bootstrap {bootstrap}\n"
        f"  kraft-node quorum --bootstrap {entries[0].host}:{entries[0].port} describe\n"
        f"  kraft-chaos inject partition-leader --name {name}\n"
        f"  kraft-chaos heal --name {name}\n"
        f"  kraft-chaos down {name}\n"
    )
    return 0


def down(ground: Ground) -> int:
    """Remove a cluster that is up, and what was injected into it."""
    progress = ConsoleProgress()
    with ground.attached() as cluster:
        asyncio.run(cluster.destroy())
    _forget(ground.directory)
    progress.tell(f"cluster {ground.name} is gone")
    return 0


def inject_fault(ground: Ground, fault: str, *, node: int | None) -> int:
    """Let a fault begin on a cluster that is up; it lasts until `heal`."""
    chosen = FAULTS[fault] if node is None else aimed_at(FAULTS[fault], NodeId(node))
    with ground.attached() as cluster:
        _require(cluster, chosen, node, RUNTIMES[ground.runtime].why_lacking(cluster))
        hit = asyncio.run(_inject(cluster, chosen))
    _remember(ground.directory, fault, hit)
    where = ", ".join(str(link) for link in hit.links) or ", ".join(map(str, hit.nodes))
    sys.stdout.write(f"{chosen.kind}: {'links' if hit.links else 'node'} {where}\n")
    if isinstance(chosen, Partition | PowerOff):
        sys.stdout.write("  whether it bit is known when it is healed\n")
    else:
        for of_node, evidence in hit.evidence.items():
            sys.stdout.write(f"  node {of_node}: {_said(evidence)}\n")
    sys.stdout.write(f"  cure: kraft-chaos heal --name {ground.name}\n")
    return 0


def heal(ground: Ground) -> int:
    """Cure everything that was injected, the newest first. 3 if something did not bite."""
    hits = _remembered(ground.directory)
    if not hits:
        sys.stdout.write(f"nothing is injected into {ground.name}\n")
        return 0
    with ground.attached() as cluster:
        found = asyncio.run(_heal(cluster, list(reversed(hits))))
    _forget(ground.directory)
    for hit, evidence in found:
        sys.stdout.write(f"{hit.fault.kind} healed: {_said(evidence)}\n")
        for fact, value in sorted(evidence.facts.items()):
            sys.stdout.write(f"  {fact}: {value}\n")
    return 0 if all(evidence.bit for _, evidence in found) else 3


def _said(evidence: Evidence) -> str:
    return f"{'bit' if evidence.bit else 'DID NOT BITE'}: {evidence.what}"


async def _up(cluster: Cluster, progress: ConsoleProgress) -> None:
    """Create and wait for a leader; whoever interrupts that gets a clean machine back."""
    interrupt = Interrupt()
    with signals_to(interrupt, progress.tell):
        progress.status("creating the cluster")
        creation = asyncio.create_task(_create(cluster))
        asked = asyncio.create_task(interrupt.wait())
        await asyncio.wait({creation, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if creation.done() and creation.exception() is None:
            return
        creation.cancel()
        await asyncio.wait({creation})
        await cluster.destroy()
        with suppress(asyncio.CancelledError):
            creation.result()
        raise OperatorError(f"interrupted by {interrupt.signal_name}; everything was removed")


async def _create(cluster: Cluster) -> None:
    await cluster.create()
    await _with_probe(cluster, lambda probe: probe.leader(_LEADER_WITHIN_S))


async def _inject(cluster: Cluster, fault: Fault) -> Hit:
    try:
        nodes = await _with_probe(
            cluster, lambda probe: resolve(fault.target, cluster, probe, random.Random())
        )
    except NoLeaderError as error:
        raise OperatorError(
            f"{error}: nobody to hit\n  try: kraft-chaos heal, or inject with --node"
        ) from error
    return await inject(cluster, fault, nodes)


async def _heal(cluster: Cluster, hits: Sequence[Hit]) -> list[tuple[Hit, Evidence]]:
    return [(hit, await cure(cluster, hit)) for hit in hits]


async def _with_probe(cluster: Cluster, ask: Callable[[QuorumProbe], Awaitable[Found]]) -> Found:
    probe = QuorumProbe(driver_for(cluster))
    try:
        return await ask(probe)
    finally:
        await probe.close()


def _require(cluster: Cluster, fault: Fault, node: int | None, why: str) -> None:
    if node is not None and node not in cluster.nodes:
        raise OperatorError(f"no node {node}; there are {', '.join(map(str, cluster.nodes))}")
    missing = lacking(cluster, frozenset({need_of(fault)}))
    if missing:
        raise OperatorError(
            f"cannot {missing[0]} here: {why or 'this cluster has no such power'}\n"
            "  try: kraft-chaos doctor"
        )


# --- what is injected ---


def _state(directory: Path) -> Path:
    return directory / "injected.json"


def _remember(directory: Path, name: str, hit: Hit) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    state = _state(directory)
    known = json.loads(state.read_text()) if state.exists() else []
    entry = {
        "fault": name,
        "nodes": list(hit.nodes),
        "links": [[link.source, link.target] for link in hit.links],
        "evidence": {str(node): asdict(evidence) for node, evidence in hit.evidence.items()},
    }
    state.write_text(json.dumps([*known, entry], indent=2) + "\n")


def _remembered(directory: Path) -> list[Hit]:
    state = _state(directory)
    if not state.exists():
        return []
    return [
        Hit(
            fault=FAULTS[entry["fault"]],
            nodes=tuple(NodeId(node) for node in entry["nodes"]),
            links=tuple(Link(NodeId(a), NodeId(b)) for a, b in entry["links"]),
            evidence={
                NodeId(int(node)): Evidence(**evidence)
                for node, evidence in entry["evidence"].items()
            },
        )
        for entry in json.loads(state.read_text())
    ]


def _forget(directory: Path) -> None:
    _state(directory).unlink(missing_ok=True)
    with suppress(OSError):
        directory.rmdir()  # only when nothing else lies there
