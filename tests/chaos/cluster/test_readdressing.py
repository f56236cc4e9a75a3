"""Whether a quorum has committed that a voter is reached elsewhere, as its leader tells it."""

import asyncio
from uuid import UUID

import pytest

from chaos.cluster.docker.docker_cluster import committed_address, other_host
from chaos.cluster.interface import Advertised, FaultEvidence, NodeId
from tests.support.fake_cluster import FakeCluster

TWO = NodeId(2)
HOST = other_host(TWO, Advertised.UNREACHABLE)


def told(within_s: float, *, host: str = HOST, committed: bool = True) -> FaultEvidence:
    async def main() -> FaultEvidence:
        cluster = FakeCluster()
        await cluster.create()
        cluster.registers.voters = {(1, UUID(int=1)), (2, UUID(int=2))}
        cluster.registers.hosts = {1: "node-1", 2: host}
        cluster.registers.committed_is_known = committed
        try:
            return await committed_address(TWO, HOST, cluster.entries, within_s)
        finally:
            await cluster.destroy()

    return asyncio.run(main())


def test_a_voter_is_elsewhere_once_the_leader_names_it_there_and_that_is_committed() -> None:
    evidence = told(60.0)
    assert (evidence.bit, evidence.what) == (
        True,
        "the quorum has committed that it is reached at node-2-nowhere",
    )


@pytest.mark.parametrize(
    ("host", "committed"), [("node-2", True), ("node-2-again", True), (HOST, False)]
)
def test_it_is_not_as_long_as_one_of_both_is_missing(host: str, committed: bool) -> None:
    assert not told(0.5, host=host, committed=committed).bit
