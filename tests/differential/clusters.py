"""A cluster of each, of one shape: three brokers and a controller, in containers."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from chaos.cluster.docker.clusters import new_cluster
from chaos.cluster.interface import NodeId
from chaos.cluster.targets.named import NODE, layout
from chaos.releases import KAFKA, NEWEST
from chaos.run.installation import prepare
from tests.differential.side import Side
from tests.differential.topics import BROKERS

# Nobody leaves an ISR or is fenced because a machine is busy, old records are kept, and groups have
# one coordinator, which does not wait for more members.
SETTINGS = {
    "brokers": str(len(BROKERS)),
    "controllers": "1",
    "replication": "3",
    "min_isr": "1",
    "broker.session.timeout.ms": "60000",
    "replica.lag.time.max.ms": "60000",
    "controller.quorum.fetch.timeout.ms": "30000",
    "leader.imbalance.check.interval.seconds": "86400",
    "log.retention.ms": "-1",
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}


@asynccontextmanager
async def both_sides() -> AsyncIterator[tuple[Side, Side]]:
    """Apache Kafka's and ours, with the topics that are kept; removed afterwards."""
    prepare(print, NEWEST)
    async with AsyncExitStack() as stack:
        # One after the other: four JVMs that start keep ours from answering in time.
        node = await stack.enter_async_context(_side(NODE))
        kafka = await stack.enter_async_context(_side(KAFKA))
        await asyncio.gather(kafka.make_kept_topics(), node.make_kept_topics())
        yield kafka, node


@asynccontextmanager
async def _side(target: str) -> AsyncIterator[Side]:
    made, nodes = layout(target, len(BROKERS), SETTINGS)
    run_id = f"differential-{target}-{os.getpid()}"
    cluster = new_cluster(run_id=run_id, nodes=nodes, target=made)
    try:
        await cluster.create()
        side = Side(
            name=made.name, addresses={id_: cluster.entries[NodeId(id_)] for id_ in BROKERS}
        )
        yield side
        side.close()
    finally:
        await cluster.destroy()
