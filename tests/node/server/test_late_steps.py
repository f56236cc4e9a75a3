"""Time passes for the core only where the shell says that all input before it was heard."""

import random
from pathlib import Path
from uuid import UUID

from node.config import NodeConfig
from node.core import Life
from node.effects import ConnectionClosed, ElectionState, SendToPeer, TimeoutElapsed, Trace
from node.ids import ConnectionId, Endpoint, NodeId, Now, ReplicaKey
from node.process_roles import controller_node
from node.raft.voter_forms import DYNAMIC
from node.raft.voter_history import VoterHistory
from node.server.real_disk import RealDisk
from node.storage.log import Log
from tests.support.memory_log import BOOTSTRAP

SECOND_NS = 10**9


def voter(number: int) -> tuple[ReplicaKey, tuple[Endpoint, ...]]:
    endpoint = Endpoint(name="CONTROLLER", host=f"node-{number}", port=9100 + number)
    return ReplicaKey(NodeId(number), UUID(int=1000 + number)), (endpoint,)


def test_a_late_step_begins_no_election(tmp_path: Path) -> None:
    voters = (voter(1), voter(2), voter(3))
    config = NodeConfig(
        node_id=NodeId(1),
        log_dirs=(str(tmp_path),),
        listeners=voters[0][1],
        advertised=voters[0][1],
    )
    log = Log.open(RealDisk(tmp_path), "__cluster_metadata-0", config.segment_bytes)
    node = controller_node(
        config,
        Life(
            cluster_id="cluster",
            key=voters[0][0],
            directory=voters[0][0].directory,
            voters=VoterHistory.formatted(voters, DYNAMIC),
            election=ElectionState(),
            log=log,
            rng=random.Random(1),
            incarnation=UUID(int=1 << 64),
        ),
        BOOTSTRAP,
    )
    node.start(Now(0, 0))
    late = Now(10 * SECOND_NS, 10 * SECOND_NS)
    states = [
        [e.fields["state"] for e in effects if isinstance(e, Trace) and e.event == "q.state"]
        for effects in (
            node.step(ConnectionClosed(connection=ConnectionId(1)), late),
            node.step(TimeoutElapsed(), late),
        )
    ]
    assert states == [[], ["prospective"]]
    assert node.next_deadline_ns() > late.mono_ns
    asked = node.step(TimeoutElapsed(), Now(15 * SECOND_NS, 15 * SECOND_NS))
    assert any(isinstance(effect, SendToPeer) for effect in asked)
    log.close()
