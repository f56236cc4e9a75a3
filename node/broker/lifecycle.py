"""A broker's life as the controller sees it (KIP-631, KIP-841, KIP-966; `BrokerLifecycleManager`).

It registers, with the epoch of its last life where that ended in good order, and is fenced. Then it
sends heartbeats: asking to stay fenced until it has replayed its own registration, then to be
unfenced, and at its end to be let go, which it is once it leads nothing.
"""

from enum import IntEnum
from uuid import UUID

from node.broker.controller_link import ControllerLink
from node.config import BrokerRole
from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, NO_BROKER_EPOCH, NodeId, Offset
from node.wire.api_versions import SUPPORTED_FEATURES
from node.wire.apis import Response
from node.wire.broker_lifecycle import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from node.wire.controller_registration import FeatureRange, RegisteredListener

_RETRY_NS = 100 * MS
_CATCHING_UP_NS = 20 * MS  # between heartbeats until it is unfenced


class LifeState(IntEnum):
    """Kafka's numbers (BrokerState)."""

    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class Lifecycle:
    def __init__(
        self,
        *,
        me: NodeId,
        cluster_id: str,
        incarnation: UUID,
        listeners: tuple[Endpoint, ...],
        directories: tuple[UUID, ...],
        previous_epoch: int,
        role: BrokerRole,
        link: ControllerLink,
    ) -> None:
        self._me = me
        self._registration = BrokerRegistrationRequest(
            broker=me,
            cluster_id=cluster_id,
            incarnation=incarnation,
            listeners=tuple(RegisteredListener(endpoint=at) for at in listeners),
            features=tuple(
                FeatureRange(name=name, lowest=low, highest=high)
                for name, low, high in SUPPORTED_FEATURES
            ),
            directories=directories,
            previous_epoch=previous_epoch,
        )
        self._interval_ns = role.heartbeat_ms * MS
        self._link = link
        self._due_ns = 0  # of the next request; NEVER_NS while one is out
        self.epoch = NO_BROKER_EPOCH  # that the controller gave this life
        self.state = LifeState.STARTING
        self.is_fenced = True  # as the controller answered last
        self.is_caught_up = False  # has it replayed its own registration?
        self.heard_ns = 0  # when the controller last answered a heartbeat
        self.is_unregistered = False  # somebody did that (UnregisterBroker) while it was up

    def poll(self, applied: Offset, mono_ns: int) -> None:
        """Send what is due. `applied`: all below is replayed."""
        if mono_ns < self._due_ns:
            return
        self._due_ns = NEVER_NS
        if self.epoch == NO_BROKER_EPOCH:
            self._link.send(self._registration, self._registered)
        else:
            self._link.send(self._heartbeat(applied), self._heard)

    def deadline_ns(self) -> int:
        return self._due_ns

    def begin_shutdown(self) -> None:
        """Ask to be let go, with the next heartbeat, now."""
        if self.epoch == NO_BROKER_EPOCH:
            self.state = LifeState.SHUTTING_DOWN  # nobody counts on it
        elif self.state < LifeState.PENDING_CONTROLLED_SHUTDOWN:
            self.state = LifeState.PENDING_CONTROLLED_SHUTDOWN
            if self._due_ns != NEVER_NS:
                self._due_ns = 0

    def _heartbeat(self, applied: Offset) -> BrokerHeartbeatRequest:
        return BrokerHeartbeatRequest(
            broker=self._me,
            epoch=self.epoch,
            metadata_offset=applied - 1,
            want_fence=self.state is LifeState.STARTING,
            want_shutdown=self.state is LifeState.PENDING_CONTROLLED_SHUTDOWN,
        )

    def _registered(self, response: Response | None, mono_ns: int) -> None:
        self._due_ns = mono_ns + _RETRY_NS
        if isinstance(response, BrokerRegistrationResponse) and response.error is ErrorCode.NONE:
            self.epoch = response.epoch
            self._due_ns = mono_ns

    def _heard(self, response: Response | None, mono_ns: int) -> None:
        self._due_ns = mono_ns + _RETRY_NS
        if not isinstance(response, BrokerHeartbeatResponse):
            return
        # As in Kafka it asks on, and neither ends nor registers again: who unregisters a broker
        # does not want it back.
        self.is_unregistered = response.error is ErrorCode.BROKER_ID_NOT_REGISTERED
        if self.is_unregistered and self.state is LifeState.PENDING_CONTROLLED_SHUTDOWN:
            self._let_go()  # nobody counts on it
        if response.error is ErrorCode.NONE:
            self.heard_ns = mono_ns
            self.is_fenced = response.is_fenced
            self.is_caught_up = self.is_caught_up or response.is_caught_up
            self._follow(response)
            is_settled = self.state is LifeState.RUNNING
            self._due_ns = mono_ns + (self._interval_ns if is_settled else _CATCHING_UP_NS)

    def _follow(self, told: BrokerHeartbeatResponse) -> None:
        match self.state:
            case LifeState.STARTING if told.is_caught_up:
                self.state = LifeState.RECOVERY
            case LifeState.RECOVERY if not told.is_fenced:
                self.state = LifeState.RUNNING
            case LifeState.PENDING_CONTROLLED_SHUTDOWN if told.should_shut_down:
                self._let_go()
            case _:
                pass

    def _let_go(self) -> None:
        self.state = LifeState.SHUTTING_DOWN
        self._due_ns = NEVER_NS
