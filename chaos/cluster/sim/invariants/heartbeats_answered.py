"""P18, for fenced brokers: one that has caught up is unfenced when it asks for that."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from chaos.cluster.sim.invariants.answer_rules import Looked
from chaos.cluster.sim.invariants.broken import Broken, InvariantViolated
from node.ids import ConnectionId, NodeId
from node.outbox import Output, ResponseTo
from node.wire.broker_lifecycle import BrokerHeartbeatResponse

# Once it is answered that it has caught up, its next heartbeat on the connection asks to be
# unfenced.
_ONCE_MORE = 2


@dataclass(eq=False, slots=True)
class LetIn:
    """One life of a controller: its last answers to heartbeats, and how often in a row."""

    node: NodeId
    life: int  # number
    looked: Looked = field(default_factory=Counter)
    _steps: int = 0
    _left: dict[ConnectionId, int] = field(default_factory=dict)

    def after_step(self, outputs: Sequence[Output], at_ns: int) -> None:
        """Raises InvariantViolated."""
        self._steps += 1
        try:
            for output in outputs:
                if type(output) is ResponseTo:
                    self.heed(output)
        except Broken as broken:
            raise InvariantViolated(
                broken, node=self.node, life=self.life, step=self._steps, at_ns=at_ns
            ) from broken

    def heed(self, answer: ResponseTo) -> None:
        """Raises Broken."""
        told = answer.response
        if not isinstance(told, BrokerHeartbeatResponse):
            return
        self.looked["P18-brokers-are-let-in"] += 1
        if not (told.is_caught_up and told.is_fenced) or told.should_shut_down:
            self._left.pop(answer.connection, None)
            return
        times = self._left[answer.connection] = self._left.get(answer.connection, 0) + 1
        if times > _ONCE_MORE:
            what = (
                f"n{self.node} answered a broker {times} times in a row that it has caught up, and "
            )
            raise Broken("P18-brokers-are-let-in", f"{what}left it fenced")
