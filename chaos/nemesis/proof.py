"""Puts the evidence of several nodes and links together, as evidence of one fault.

What proves a fault of one node or link is decided in `chaos.cluster.fault_evidence`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from chaos.cluster.interface import Cluster, FaultEvidence, Link, NodeId, NodeStatus
from chaos.nemesis.fault import ByNode
from checkers.verdict import counted

NEVER_FIRED = "nothing was hit"


def of_links(
    per_link: Mapping[Link, FaultEvidence],
    cut: tuple[Link, ...],
    off: Collection[NodeId] = frozenset(),
) -> FaultEvidence:
    """A partition bit if each of its links swallowed bytes that were sent along it.

    No node can send anything along a link to or from a node that is `off`: missing evidence of such
    a link proves nothing, as long as another link of the cut has two ends that run.
    """
    dead = sorted({node for link in cut for node in (link.source, link.destination)} & set(off))
    alive = tuple(link for link in cut if not {link.source, link.destination} & set(dead))
    evidence = _all_of({str(link): per_link.get(link) for link in alive or cut})
    if alive in ((), cut):
        return evidence
    links, nodes = (
        counted(len(cut) - len(alive), "link"),
        ", ".join(f"node {node}" for node in dead),
    )
    return replace(evidence, what=f"{evidence.what}; {links} of {nodes}, off by then, not proved")


def of_nodes(per_node: Mapping[NodeId, FaultEvidence], hit: tuple[NodeId, ...]) -> FaultEvidence:
    """A fault of several nodes bit if it bit on each of them."""
    return _all_of({f"node {node}": per_node.get(node) for node in hit})


def if_it_lasted(evidence: FaultEvidence, seen: NodeStatus, expected: NodeStatus) -> FaultEvidence:
    """Evidence of a fault of a node, taken at its beginning, with the node's state before the cure.

    A node that is up again before the cure was not hurt for as long as recorded.
    """
    if not evidence.bit or seen is expected:
        return evidence
    what = f"{evidence.what}, but it was {seen} again before the cure"
    return replace(evidence, bit=False, what=what)


def of_both(one: FaultEvidence, other: FaultEvidence) -> FaultEvidence:
    """A fault with two sides bit if both did."""
    return FaultEvidence(
        bit=one.bit and other.bit,
        what=f"{one.what}; {other.what}",
        facts={**one.facts, **other.facts},
    )


def of_failure(
    what: str, error: BaseException, measured: FaultEvidence | None = None
) -> FaultEvidence:
    """A fault that could not be injected or proved counts as one that did not bite; `measured`
    values from before the failure stay."""
    facts = measured.facts if measured is not None else {}
    failed = {"failed": type(error).__name__}
    return FaultEvidence(bit=False, what=f"{what}: {error}", facts={**facts, **failed})


def _all_of(parts: Mapping[str, FaultEvidence | None]) -> FaultEvidence:
    if not parts:
        return FaultEvidence(bit=False, what=NEVER_FIRED)
    facts: dict[str, int | str | bool] = {}
    for name, part in parts.items():
        for fact, value in part.facts.items() if part is not None else ():
            facts[f"{name} {fact}"] = value
    lacking = {name: part for name, part in parts.items() if part is None or not part.bit}
    return FaultEvidence(bit=not lacking, what=_sentence(lacking or parts), facts=facts)


def _sentence(parts: Mapping[str, FaultEvidence | None]) -> str:
    """One sentence of all parts' results: parts with the same result are named together."""
    said: dict[str, list[str]] = {}
    for name, part in parts.items():
        what = part.what if part is not None else "no evidence"
        names = said.setdefault(what, [])
        if name not in what:
            names.append(name)
    return "; ".join(
        f"{', '.join(names)}: {what}" if names else what for what, names in said.items()
    )


# Actions on all victims at once, shared by several kinds of faults.


async def on_each(
    nodes: Sequence[NodeId], act: Callable[[NodeId], Awaitable[FaultEvidence]]
) -> dict[NodeId, FaultEvidence]:
    found = await asyncio.gather(*(act(node) for node in nodes))
    return dict(zip(nodes, found, strict=True))


async def start_all(cluster: Cluster, nodes: Sequence[NodeId]) -> None:
    """Start the nodes that are off; returns when all of them answer."""
    await all_done(cluster.start(node) for node in nodes)


async def all_done(acts: Iterable[Awaitable[None]]) -> None:
    """Wait for all, then raise the first error, so that one node's failure does not leave the
    others half done."""
    results = await asyncio.gather(*acts, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


async def statuses(cluster: Cluster, nodes: Sequence[NodeId]) -> dict[NodeId, NodeStatus]:
    return {node: await cluster.status(node) for node in nodes}


def of_lasting(
    evidence: ByNode, seen: Mapping[NodeId, NodeStatus], expected: NodeStatus
) -> FaultEvidence:
    """One answer for all nodes that were hit: `seen` is their state just before the cure."""
    return of_nodes(
        {node: if_it_lasted(found, seen[node], expected) for node, found in evidence.items()},
        tuple(seen),
    )
