"""P18, of who is fenced: a broker that has caught up is unfenced when it asks for that."""

from dataclasses import dataclass, field

from chaos.cluster.sim.invariants.broken import Broken
from node.ids import ConnectionId, NodeId
from node.outbox import Answer
from node.wire.broker_lifecycle import BrokerHeartbeatResponse

# Told once that it has caught up, it asks for more with the next heartbeat over the connection.
_ONCE_MORE = 2


@dataclass(eq=False, slots=True)
class LetIn:
    """Of one life of a controller: what it answered to heartbeats last, and how often in a row."""

    node: NodeId
    _left: dict[ConnectionId, int] = field(default_factory=dict)

    def heed(self, answer: Answer) -> None:
        """Raises Broken."""
        told = answer.response
        if not isinstance(told, BrokerHeartbeatResponse):
            return
        if not (told.is_caught_up and told.is_fenced) or told.should_shut_down:
            self._left.pop(answer.connection, None)
            return
        times = self._left[answer.connection] = self._left.get(answer.connection, 0) + 1
        if times > _ONCE_MORE:
            what = f"n{self.node} told a broker {times} times in a row that it has caught up, and "
            raise Broken("P18-brokers-are-let-in", f"{what}left it fenced")
