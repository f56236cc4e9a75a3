"""A broker as shells see it: what `node.node` is for a controller."""

import random
from uuid import UUID

from node.broker.held_replicas import ReplicaLogs
from node.broker_core import BrokerCore
from node.config import BrokerRole, NodeConfig
from node.effects import Effect, ElectionState
from node.events import Event
from node.framed import FramedCore
from node.ids import Now, ReplicaKey
from node.outbox import Output
from node.raft.voter_history import VoterHistory
from node.storage.view import LogView
from node.wire import broker_frames


class BrokerNode:
    """`directory` is the id of the disk, and `previous_epoch` the one in which the last process on
    it shut down cleanly, else -1; `replicas` are the logs there.

    Deterministic, as `node.node.Node` is.
    """

    def __init__(
        self,
        *,
        config: NodeConfig,
        role: BrokerRole,
        cluster_id: str,
        key: ReplicaKey,
        voters: VoterHistory,
        election: ElectionState,
        log: LogView,
        rng: random.Random,
        incarnation: UUID,
        directory: UUID,
        previous_epoch: int,
        replicas: ReplicaLogs,
    ) -> None:
        self.core = BrokerCore(
            config=config,
            role=role,
            cluster_id=cluster_id,
            key=key,
            voters=voters,
            election=election,
            log=log,
            rng=rng,
            incarnation=incarnation,
            directory=directory,
            previous_epoch=previous_epoch,
            replicas=replicas,
        )
        self._framed = FramedCore(self.core, broker_frames, f"broker-{key.id}")

    def start(self, now: Now) -> list[Effect]:
        """Once, before the first event."""
        return self._framed.start(now)

    def step(self, event: Event, now: Now) -> list[Effect]:
        """What to do about `event`, in this order (see `node.effects`)."""
        return self._framed.step(event, now)

    def decide(self, event: Event, now: Now) -> list[Output]:
        """The first half of a step, for those who look on: answers and requests are still flat."""
        return self._framed.decide(event, now)

    def encode(self, outputs: list[Output]) -> list[Effect]:
        """The second half: answers and requests as frames. Once, and before the next step."""
        return self._framed.encode(outputs)

    def next_deadline_ns(self) -> int:
        """When to feed `TimeoutElapsed`, on the monotonic clock; may be past."""
        return self._framed.next_deadline_ns()
