"""What `tests.support.quorum` keeps of a node, of a connection, and of what a node told."""

from collections.abc import Callable
from dataclasses import dataclass, field

from chaos.cluster.sim.invariants import WatchedLife
from node.core import Core
from node.effects import ElectionState
from node.ids import ChannelId, ConnectionId, NodeId, Offset, ReplicaKey
from node.process_roles import ControllerRole
from node.wire.apis import Response
from tests.support.memory_log import MemoryLog


class Mischief:
    """Where a planted bug of the disk takes hold; the base class does everything right."""

    def persists(self) -> bool:
        """Does quorum-state reach the disk?"""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLine:
    at_ns: int
    node: NodeId
    incarnation: int
    event: str
    fields: dict[str, object]


INNER, OUTER = "CONTROLLER", "EXTERNAL"
OnAnswer = Callable[[Response | None], None]


@dataclass(eq=False, slots=True)
class Link:
    """A connection that `client` opened to `server`; None is a client outside the quorum."""

    id: ConnectionId
    client: NodeId | None
    server: NodeId
    pending: list[int] = field(default_factory=list)  # correlation ids, in order
    is_open: bool = True
    request_ns: int = 0  # when the last message of each direction arrives
    answer_ns: int = 0
    is_dead_there: bool = False  # something sent that way was swallowed
    is_dead_back: bool = False
    on_answer: OnAnswer | None = None
    listener: str = INNER
    channel: ChannelId | None = None  # of the client, if that is a node


@dataclass(eq=False, slots=True)
class Member:
    key: ReplicaKey
    log: MemoryLog = field(default_factory=MemoryLog)
    election: ElectionState = ElectionState()
    core: Core[ControllerRole] | None = None
    life: WatchedLife | None = None
    incarnation: int = 0
    out: dict[ChannelId, Link] = field(default_factory=dict)
    served: dict[ConnectionId, Link] = field(default_factory=dict)
    armed_ns: int = -1
    is_flushing: bool = False

    @property
    def log_end(self) -> Offset:
        """With `election`: what its disk is sure to hold, as the invariants ask for it."""
        return self.log.durable_end()
