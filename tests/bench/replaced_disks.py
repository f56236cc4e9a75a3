"""How soon a controller's lost disk is replaced, in containers: from its node's start on an empty
disk until the new replica is a voter that holds all that is committed (KIP-856).

The metadata log has 50 MB: configs of 30 KB, each of a resource of its own. An operator adds the
new replica and removes the old one, as `kraft-node quorum` does. What was on the lost disk is kept
before the clock starts, which is the harness's own doing.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from chaos.cluster.docker.clusters import PoweredDockerCluster, new_cluster
from chaos.cluster.interface import Cluster
from chaos.cluster.powers import Killable, Wipeable
from chaos.cluster.targets.node import OwnNode
from chaos.cluster.topology import host_name, inner_port
from chaos.probes import QuorumProbe, driver_for
from chaos.recorder import MachineClock, Recorder
from chaos.run.watches import QuorumAnswers
from tests.bench.row import Row
from workloads.connection import ClientEntry
from workloads.operation_history import Tally
from workloads.operator import NeverChangedError, Operator, Voter
from workloads.wire.client_metrics import Alteration, ConfigChange, alter, read_altered
from workloads.wire.error_codes import ErrorCode
from workloads.wire.header import Api

LOG_BYTES = 50 << 20
BAR_S = 15.0
_VALUE, _AT_ONCE = "m" * 30_000, 10
_WITHIN_S = 120.0
_PAUSE_S = 0.1


def measure() -> Iterator[Row]:
    return iter(asyncio.run(_measure()))


async def _measure() -> list[Row]:
    target = OwnNode(bootstrap=3)
    cluster = new_cluster(run_id=f"bench-{time.time_ns()}", target=target)
    if not isinstance(cluster, PoweredDockerCluster):
        return [Row(name=_name("the leader's"), value=None, unit="s", bar=BAR_S, note="no disks")]
    try:
        await cluster.create()
        probe = QuorumProbe(driver_for(cluster))
        await _fill(cluster, probe)
        rows = [
            await _replaced(cluster, probe, "a follower's", leads=False),
            await _replaced(cluster, probe, "the leader's", leads=True),
        ]
        await probe.close()
        return rows
    finally:
        await cluster.destroy()


def _name(whose: str) -> str:
    return f"{whose} disk is lost, with {LOG_BYTES >> 20} MB of metadata, until it is replaced"


async def _fill(cluster: Cluster, probe: QuorumProbe) -> None:
    for first in range(0, LOG_BYTES // len(_VALUE), _AT_ONCE):
        names = [f"big-{number}" for number in range(first, first + _AT_ONCE)]
        async with asyncio.timeout(_WITHIN_S):
            while ErrorCode.NOT_CONTROLLER in (errors := await _write(cluster, probe, names)):
                await asyncio.sleep(_PAUSE_S)  # who leads since a moment takes no writes yet
        assert not any(errors), errors


async def _write(cluster: Cluster, probe: QuorumProbe, names: Sequence[str]) -> Sequence[int]:
    """The errors that whoever leads tells, one a name."""
    change = ConfigChange(name="metrics", value=_VALUE)
    body = alter(Alteration(resource=name, changes=(change,)) for name in names)
    connection = await driver_for(cluster).connect(int(await probe.leader(_WITHIN_S)), 1.0)
    try:
        return await connection.send(
            Api.INCREMENTAL_ALTER_CONFIGS,
            body,
            _WITHIN_S,
            lambda answer: read_altered(answer, names),
        )
    finally:
        connection.close()


async def _replaced(cluster: Cluster, probe: QuorumProbe, whose: str, *, leads: bool) -> Row:
    assert isinstance(cluster, Killable)
    assert isinstance(cluster, Wipeable)
    leader = await probe.leader(_WITHIN_S)
    node = leader if leads else next(one for one in cluster.nodes if one != leader)
    await cluster.kill(node)
    wiped = await cluster.wipe(node)
    began = time.monotonic()
    await cluster.start(node)
    started_s = time.monotonic() - began
    try:
        await _add(cluster, Voter(int(node), str(wiped.facts["directory_id_after"])))
    except NeverChangedError as error:
        return Row(name=_name(whose), value=None, unit="s", bar=BAR_S, note=str(error))
    took_s = time.monotonic() - began
    note = f"its process answers after {started_s:.1f} s"
    return Row(name=_name(whose), value=took_s, unit="s", bar=BAR_S, note=note)


async def _add(cluster: Cluster, voter: Voter) -> None:
    reached = {
        int(node): ClientEntry(host=host_name(node), port=inner_port(node))
        for node in cluster.nodes
    }
    with (
        tempfile.TemporaryDirectory() as directory,
        Recorder(Path(directory), clock := MachineClock()) as recorder,
    ):
        answers = QuorumAnswers(recorder, clock)
        operator = Operator(driver_for(cluster), reached, recorder, Tally(), answers)
        try:
            await operator.add(voter, _WITHIN_S)
        finally:
            operator.close()
