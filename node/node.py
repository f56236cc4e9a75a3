"""The sans-IO whole: events in, effects out, time and chance as arguments.

Frames end here: `node.wire` turns them into the flat messages of `node.core`, and its answers and
requests into frames. A frame that cannot be read closes its connection.
"""

import random
from collections.abc import Sequence
from uuid import UUID

from node import wire
from node.config import NodeConfig
from node.core import Core
from node.effects import Effect, ElectionState
from node.events import Event
from node.framed import FramedCore, Framing
from node.ids import Now, ReplicaKey
from node.outbox import Output
from node.raft.voter_history import VoterHistory
from node.records.metadata import MetadataRecord
from node.storage.view import LogView
from node.wire import API_RANGES


class Node:
    """A controller. `voters` says who votes by what is not in the log; `bootstrap` is what the
    first leader of an empty log writes into it.

    Deterministic: the same events, times and `rng` give the same effects.
    """

    def __init__(
        self,
        *,
        config: NodeConfig,
        cluster_id: str,
        key: ReplicaKey,
        directory: UUID,
        voters: VoterHistory,
        election: ElectionState,
        log: LogView,
        rng: random.Random,
        bootstrap: Sequence[MetadataRecord],
        incarnation: UUID,
        framing: Framing = wire,
    ) -> None:
        self.core = Core(
            config=config,
            cluster_id=cluster_id,
            key=key,
            directory=directory,
            voters=voters,
            election=election,
            log=log,
            rng=rng,
            bootstrap=bootstrap,
            incarnation=incarnation,
            apis=API_RANGES,
        )
        self._framed = FramedCore(self.core, framing, f"raft-client-{key.id}")

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
