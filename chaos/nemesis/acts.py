"""What several kinds of faults do to their victims, all at once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from chaos.cluster.interface import Cluster, FaultEvidence, NodeId, NodeStatus
from chaos.nemesis.fault import ByNode
from chaos.nemesis.proof import if_it_lasted, of_nodes


async def on_each(
    nodes: Sequence[NodeId], act: Callable[[NodeId], Awaitable[FaultEvidence]]
) -> dict[NodeId, FaultEvidence]:
    found = await asyncio.gather(*(act(node) for node in nodes))
    return dict(zip(nodes, found, strict=True))


async def start_all(cluster: Cluster, nodes: Sequence[NodeId]) -> None:
    """Those that are off; returns when all of them answer."""
    await all_done(cluster.start(node) for node in nodes)


async def all_done(acts: Iterable[Awaitable[None]]) -> None:
    """Wait for all, then raise the first error: one node's failure leaves no other half started."""
    results = await asyncio.gather(*acts, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


async def statuses(cluster: Cluster, nodes: Sequence[NodeId]) -> dict[NodeId, NodeStatus]:
    return {node: await cluster.status(node) for node in nodes}


def of_lasting(
    evidence: ByNode, seen: Mapping[NodeId, NodeStatus], expected: NodeStatus
) -> FaultEvidence:
    """One answer for all nodes that were hit: `seen` is what they were just before the cure."""
    return of_nodes(
        {node: if_it_lasted(found, seen[node], expected) for node, found in evidence.items()},
        tuple(seen),
    )
