"""A harness that makes a cluster and is killed: run as a process of its own by a test."""

import asyncio
import sys

from chaos.cluster.docker.clusters import new_cluster
from tests.support.stand_in import StandIn


async def main() -> None:
    cluster = new_cluster(run_id=sys.argv[1], nodes=3, target=StandIn())
    await cluster.create()
    print("up", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
