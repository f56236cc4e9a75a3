"""`kraft-chaos up`, `down`, `inject`, `heal`: a cluster to try things out on by hand."""

import asyncio
import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.interface import (
    Cluster,
    Described,
    FaultEvidence,
    Keeper,
    Link,
    NodeId,
    Roles,
)
from chaos.errors import OperatorError
from chaos.interrupt import Interrupt, signals_to
from chaos.nemesis.fault import Fault, Hit
from chaos.nemesis.kinds import BY_AN_OPERATOR
from chaos.nemesis.recorded import aimed_at, fault_as_json, fault_from
from chaos.nemesis.victims import in_words
from chaos.play.by_hand import aim, begin, create, end, require
from chaos.progress import ConsoleProgress
from chaos.run.planning import require_layout
from chaos.run.runner import Kept
from chaos.run.runtimes import RUNTIMES, let_go
from chaos.run.terminal import document
from chaos.setup.shell import cache_dir

# The faults that are injected into a running cluster: `inject` and `heal` are separate processes.
#
# Kept per user and cluster, independent of the working directory; see `chaos.setup.shell`.


class Injected:
    """The faults of one cluster that are not healed yet, the oldest first."""

    def __init__(self, cluster: str) -> None:
        self._path = cache_dir() / "injected" / f"{cluster}.json"

    def hits(self) -> list[Hit]:
        return [_hit(entry) for entry in self._entries()]

    def add(self, hit: Hit) -> None:
        """Record a fault, atomically, lest half of it is read."""
        self._write([*self._entries(), _row(hit)])

    def require_writable(self) -> None:
        """Raises OperatorError: a fault that is not recorded could not be healed."""
        try:
            self._write(self._entries())
        except OSError as error:
            raise OperatorError(f"cannot record faults in {self._path}: {error}") from error

    def forget(self) -> None:
        self._path.unlink(missing_ok=True)

    def _entries(self) -> list[dict[str, Any]]:
        return list(json.loads(self._path.read_text())) if self._path.exists() else []

    def _write(self, entries: Sequence[dict[str, Any]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(entries, indent=2) + "\n")
        part.replace(self._path)


def _row(hit: Hit) -> dict[str, Any]:
    """The inverse of `_hit`."""
    return {
        "fault": fault_as_json(hit.fault),
        "nodes": list(hit.nodes),
        "links": [[link.source, link.destination] for link in hit.links],
        "evidence": {str(node): asdict(evidence) for node, evidence in hit.evidence.items()},
    }


def _hit(entry: dict[str, Any]) -> Hit:
    return Hit(
        fault=fault_from(**entry["fault"]),
        nodes=tuple(NodeId(node) for node in entry["nodes"]),
        links=tuple(Link(NodeId(a), NodeId(b)) for a, b in entry["links"]),
        evidence={
            NodeId(int(node)): FaultEvidence(**evidence)
            for node, evidence in entry["evidence"].items()
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRef:
    """The cluster of the playground."""

    name: str
    runtime: str

    @property
    def injected(self) -> Injected:
        return Injected(self.name)

    @contextmanager
    def attached(self) -> Iterator[Cluster]:
        """The cluster, within the block; it stays up."""
        cluster = RUNTIMES[self.runtime].attach(self.name)
        try:
            yield cluster
        finally:
            let_go(cluster)


def up(
    ground: ClusterRef,
    target: str,
    *,
    nodes: int,
    settings: Mapping[str, str],
    as_json: bool = False,
) -> int:
    """Bring a cluster up and leave it; print how to reach it."""
    require_layout(target, nodes, settings)
    name = ground.name
    progress = ConsoleProgress()
    cluster = RUNTIMES[ground.runtime].new(
        run_id=name, nodes=nodes, target=target, keep=True, directory=None, settings=settings
    )
    try:
        asyncio.run(_up(cluster, progress))
        ways = _ways_in(cluster)
        made = {
            "cluster": name,
            "nodes": len(cluster.nodes),
            "bootstrap": {str(node): _entries(cluster, [node]) for node in cluster.nodes},
            "roles": {str(node): str(role) for node, role in _roles(cluster).items()},
        }
        version = cluster.version
    finally:
        progress.end()
        let_go(cluster)
    ground.injected.forget()  # of an earlier cluster with that name
    if as_json:
        _print(ground, version, made)
        return 0
    sys.stdout.write(
        f"cluster {name} is up: {version}\n"
        f"{ways}"
        f"  kraft-chaos inject partition-leader --name {name}\n"
        f"  kraft-chaos heal --name {name}\n"
        f"  kraft-chaos down {name}\n"
    )
    return 0


def _print(ground: ClusterRef, target: str, about: Mapping[str, object]) -> None:
    sys.stdout.write(document(about, runtime=ground.runtime, target=target) + "\n")


def _roles(cluster: Cluster) -> Mapping[NodeId, Roles]:
    return cluster.roles if isinstance(cluster, Described) else {}


def _ways_in(cluster: Cluster) -> str:
    """The bootstrap addresses, and a first command: the quorum answers at its controllers."""
    roles = _roles(cluster)
    brokers = [node for node, each in roles.items() if each.is_broker]
    controllers = [node for node in cluster.nodes if node not in roles or roles[node].is_controller]
    lines = [f"bootstrap {_entries(cluster, brokers or controllers)}"]
    if brokers:
        lines.append(f"controllers {_entries(cluster, controllers)}")
    first = _entries(cluster, controllers[:1])
    return "\n".join([*lines, f"  kraft-node quorum --bootstrap {first} describe\n"])


def _entries(cluster: Cluster, nodes: Sequence[NodeId]) -> str:
    addresses = [cluster.bootstrap[node] for node in nodes]
    return ",".join(f"{address.host}:{address.port}" for address in addresses)


def down(ground: ClusterRef, *, as_json: bool = False) -> int:
    """Remove a running cluster, with its injected faults."""
    with ground.attached() as cluster:
        version = cluster.version
        asyncio.run(cluster.destroy())
    ground.injected.forget()
    if as_json:
        _print(ground, version, {"cluster": ground.name, "removed": True})
        return 0
    sys.stdout.write(f"cluster {ground.name} was removed\n")
    return 0


def down_all(runtime: str, *, as_json: bool = False) -> int:
    """Remove every cluster that `up` or `run --keep` left; runs that go on are left alone."""
    names = [each.name for each in RUNTIMES[runtime].standing() if each.keeper is Keeper.USER]
    removed: list[str] = []
    troubles: list[str] = []
    for name in names:
        ground = ClusterRef(name=name, runtime=runtime)
        try:
            with ground.attached() as cluster:
                asyncio.run(cluster.destroy())
        except ClusterError as error:  # the others can be removed all the same
            troubles.append(str(error))
            continue
        ground.injected.forget()
        removed.append(name)
        if not as_json:
            sys.stdout.write(f"cluster {name} was removed\n")
    if as_json:
        about = {"removed": removed, "troubles": troubles}
        sys.stdout.write(document(about, runtime=runtime, target="") + "\n")
    elif not names:
        sys.stdout.write("no cluster is up\n")
    if troubles:
        raise OperatorError("\n".join(troubles))
    return 0


def inject_fault(
    ground: ClusterRef,
    fault: Fault,
    *,
    link: Link | None = None,
    dry_run: bool = False,
    as_json: bool = False,
) -> int:
    """Inject a fault into a running cluster; it lasts until `heal`. `link`: only that one of those
    that it would cut. With `dry_run` nothing is injected, and what it would hit is printed."""
    links = None if link is None else (link,)
    with ground.attached() as cluster:
        _require_up(ground, cluster)
        for node in () if link is None else (link.source, link.destination):
            require(cluster, aimed_at(fault, node))
        require(cluster, fault)
        ground.injected.require_writable()
        hits, rng = ground.injected.hits(), random.Random()
        if dry_run:
            nodes, cut = asyncio.run(aim(cluster, fault, hits, rng, links))
            hit = Hit(fault=fault, nodes=nodes, links=cut)
        else:
            hit = asyncio.run(begin(cluster, fault, hits, rng, links))
            ground.injected.add(hit)
        version = cluster.version
    if as_json:
        about = {"cluster": ground.name, "injected": not dry_run, "victim": in_words(fault.victim)}
        _print(ground, version, {**about, **_row(hit)})
        return 0
    sys.stdout.write(f"{title(hit)}: {in_words(fault.victim)}\n")
    if dry_run:
        sys.stdout.write("  nothing was injected\n")
        return 0
    if not hit.evidence:
        sys.stdout.write("  its evidence is printed when it is healed\n")
    for of_node, evidence in hit.evidence.items():
        sys.stdout.write(f"  node {of_node}: {said(evidence)}\n")
    sys.stdout.write(f"  heal: kraft-chaos heal --name {ground.name}\n")
    return 0


def heal(ground: ClusterRef, *, as_json: bool = False) -> int:
    """Heal all injected faults, the newest first. 3 if one took no effect."""
    with ground.attached() as cluster:
        _require_up(ground, cluster)
        hits = ground.injected.hits()
        found = asyncio.run(end(cluster, list(reversed(hits))))
        version = cluster.version
    ground.injected.forget()
    code = 0 if all(evidence.bit for _, evidence in found) else 3
    if as_json:
        rows = [_row(hit) | {"evidence": asdict(evidence)} for hit, evidence in found]
        _print(ground, version, {"cluster": ground.name, "healed": rows})
        return code
    if not hits:
        sys.stdout.write(f"no fault is injected into {ground.name}\n")
    for hit, evidence in found:
        sys.stdout.write(f"{title(hit)}, healed: {said(evidence)}\n")
        sys.stdout.writelines(f"  {line}\n" for line in _measured(evidence.facts))
    return code


def title(hit: Hit) -> str:
    nodes = ", ".join(map(str, hit.nodes))
    links = f" ({', '.join(map(str, hit.links))})" if hit.links else ""
    return f"{hit.fault.kind} of node {nodes}{links}"


def said(evidence: FaultEvidence) -> str:
    return f"{'took effect' if evidence.bit else 'TOOK NO EFFECT'}: {evidence.what}"


def _measured(facts: Mapping[str, int | str | bool]) -> list[str]:
    """A line for each subject (`1->3`, `node-2`) at the start of the facts' names."""
    lines: dict[str, list[str]] = {}
    for name, value in facts.items():
        subject, _, what = name.rpartition(" ")
        shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
        lines.setdefault(subject, []).append(f"{what.replace('_', ' ')} {shown}")
    return [f"{subject}: {', '.join(told)}" for subject, told in lines.items()]


async def _up(cluster: Cluster, progress: ConsoleProgress) -> None:
    """Create and wait for a leader; an interruption removes everything again."""
    interrupt = Interrupt()
    with signals_to(interrupt, progress.tell):
        creation = asyncio.create_task(create(cluster, progress))
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


def tell_kept(kept: Kept, runtime: str, tell: Callable[[str], None]) -> None:
    """Adopt the cluster that a failed run left: `heal` knows the faults that last. Tell what looks
    at it, and what ends it."""
    ground = ClusterRef(name=kept.cluster, runtime=runtime)
    ground.injected.forget()
    tell(f"kept as it was: cluster {kept.cluster}")
    for hit in kept.lasting:
        if isinstance(hit.fault, BY_AN_OPERATOR):
            tell(f"  lasts: {title(hit)}; no command takes it back")
            continue
        ground.injected.add(hit)
        tell(f"  lasts: {title(hit)}")
    name, node = f"--name {kept.cluster}", next(iter(kept.nodes), 1)
    tell(f"  look: kraft-chaos ps; kraft-chaos logs {node} {name}; kraft-chaos shell {name} {node}")
    heals = f"kraft-chaos heal {name}; " if ground.injected.hits() else ""
    tell(f"  end: {heals}kraft-chaos down {kept.cluster}")


def _require_up(ground: ClusterRef, cluster: Cluster) -> None:
    if not cluster.nodes:
        raise OperatorError(
            f"only parts of cluster {ground.name} are left: its creation was interrupted, or "
            f"the engine was restarted\n  try: kraft-chaos down {ground.name}"
        )
