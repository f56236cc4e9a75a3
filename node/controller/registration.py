"""Registration of controllers and brokers; a broker's unclean shutdown is detected when it
registers again (`register_broker`, KIP-966).

A controller registers with the active one (KIP-919, `ControllerRegistrationManager`). Its endpoints
and supported features are in the metadata log, one record for each incarnation of its process. The
active controller writes its own; every other sends it, over a connection of its own, because a
parked Fetch at the leader would delay it. It is sent to the current leader until the replayed log
shows it. In a quorum of our nodes alone registrations have no use; so ours begin once another
controller has registered, as Apache Kafka's do, or once brokers have: one of ours that only
observes would be taken for a broker.
"""

from collections.abc import Collection, Sequence
from uuid import UUID

from node import limits
from node.controller.decision import RESERVED, Decision, DecisionContext, RefusedError
from node.controller.image import Image
from node.controller.partitions.changes import when_back, when_in_doubt, when_removed
from node.effects import DisconnectPeer
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, NO_NODE, ChannelId, Endpoint, NodeId, why_not_taken
from node.lazy_dataclass import dataclass
from node.outbox import Outbox, RequestTo
from node.records.metadata import (
    CONTROLLER_REGISTRATIONS,
    DIRECTORIES,
    METADATA_VERSION,
    MetadataRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnregisterBrokerRecord,
)
from node.records.schemas import (
    BrokerEndpoint,
    BrokerFeature,
    ControllerEndpoint,
    ControllerFeature,
)
from node.wire.api_versions import SUPPORTED_FEATURES
from node.wire.registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
    FeatureRange,
    RegisteredListener,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)

REGISTRY_CHANNEL = ChannelId(-1)  # the quorum numbers its own from 0
_FIRST_PAUSE_NS = 100 * MS
_LONGEST_PAUSE_NS = 10_000 * MS


def own_registration(
    node: NodeId, incarnation: UUID, advertised: tuple[Endpoint, ...]
) -> ControllerRegistrationRequest:
    return ControllerRegistrationRequest(
        controller=node,
        incarnation=incarnation,
        listeners=tuple(RegisteredListener(endpoint=endpoint) for endpoint in advertised),
        features=tuple(
            FeatureRange(name=name, lowest=low, highest=high)
            for name, low, high in SUPPORTED_FEATURES
        ),
    )


def register_controller(image: Image, request: ControllerRegistrationRequest) -> Decision:
    """`ClusterControlManager.registerController` refuses only the first. Raises RefusedError."""
    if image.metadata_version < CONTROLLER_REGISTRATIONS:
        raise RefusedError(
            ErrorCode.UNSUPPORTED_VERSION,
            "The current metadata.version is too old for controller registrations.",
        )
    check_told(request.listeners, request.features)
    check_count(request.controller, image.controllers)
    return Decision(records=[record_of(request)], response=ControllerRegistrationResponse())


def check_told(listeners: Sequence[RegisteredListener], features: Sequence[FeatureRange]) -> None:
    """Check what a node reports of itself: it is kept and sent to others. Raises RefusedError."""
    wrong = why_not_taken([each.endpoint for each in listeners])
    if wrong is None and len(features) > limits.MAX_FEATURES:
        wrong = f"{len(features)} features; a node has {limits.MAX_FEATURES} at most"
    if wrong is not None:
        raise RefusedError(ErrorCode.INVALID_REGISTRATION, wrong)


def record_of(request: ControllerRegistrationRequest) -> RegisterControllerRecord:
    return RegisterControllerRecord(
        controller_id=request.controller,
        incarnation_id=request.incarnation,
        zk_migration_ready=False,
        end_points=tuple(
            ControllerEndpoint(
                name=each.endpoint.name,
                host=each.endpoint.host,
                port=each.endpoint.port,
                security_protocol=each.security_protocol,
            )
            for each in request.listeners
        ),
        features=tuple(
            ControllerFeature(
                name=each.name,
                min_supported_version=each.lowest,
                max_supported_version=each.highest,
            )
            for each in request.features
        ),
    )


def check_count(node: NodeId, registered: Collection[int]) -> None:
    """Raises RefusedError where there is no room for one more."""
    if node not in registered and len(registered) >= limits.MAX_REGISTERED:
        why = f"{limits.MAX_REGISTERED} are registered, and no more can be."
        raise RefusedError(ErrorCode.INVALID_REGISTRATION, why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """The destination: the active controller, and the epoch in which it leads."""

    node: NodeId
    epoch: int
    endpoint: Endpoint


class Registrar:
    """Sends the registration of this node. One request at a time."""

    def __init__(
        self, registration: ControllerRegistrationRequest, request_timeout_ms: int, outbox: Outbox
    ) -> None:
        self._registration = registration
        self._record = record_of(registration)
        self._timeout_ns = request_timeout_ms * MS
        self._outbox = outbox
        self._sent_to: Active | None = None  # over the connection that is open
        self._awaits: int | None = None  # correlation id of the outstanding request
        self._next_correlation_id = 0
        self._due_ns = 0  # of the next attempt, or the time-out of the outstanding one
        self._pause_ns = _FIRST_PAUSE_NS

    def is_wanted(self, image: Image, *, is_voter: bool) -> bool:
        """Do controllers register here, and is ours not known? Registration distinguishes a
        controller that does not vote yet from a broker (`node.raft.replicas`)."""
        is_mistaken = not is_voter and not image.brokers.is_empty
        return (
            (bool(image.controllers) or is_mistaken)
            and image.metadata_version >= CONTROLLER_REGISTRATIONS
            and image.controllers.get(self._registration.controller) != self._record
        )

    @property
    def record(self) -> RegisterControllerRecord:
        return self._record

    @property
    def is_talking(self) -> bool:
        """A connection is open, or a request on it was lost."""
        return self._sent_to is not None

    def poll(self, leader: Active | None, mono_ns: int) -> None:
        """Send what is due to `leader`, another node; None if there is none, or none is needed."""
        if leader != self._sent_to:
            self._hang_up()
            self._due_ns, self._pause_ns = 0, _FIRST_PAUSE_NS
        if leader is None or mono_ns < self._due_ns:
            return
        if self._awaits is not None:
            self._fail(mono_ns)
        else:
            self._send(leader, mono_ns)

    def deadline_ns(self) -> int:
        return self._due_ns if self._sent_to is not None else NEVER_NS

    def on_response(
        self, correlation_id: int, response: ControllerRegistrationResponse, mono_ns: int
    ) -> None:
        if correlation_id != self._awaits:
            return  # response on a connection dropped since
        if response.error != ErrorCode.NONE:
            self._outbox.trace("c.unregistered", error=int(response.error))
        self._awaits = None
        self._pause(mono_ns)

    def on_lost(self, mono_ns: int) -> None:
        """The connection failed, or brought garbage."""
        self._awaits = None
        self._pause(mono_ns)

    def _send(self, leader: Active, mono_ns: int) -> None:
        self._sent_to = leader
        self._awaits = self._next_correlation_id
        self._next_correlation_id = (self._awaits + 1) % 2**31
        self._due_ns = mono_ns + self._timeout_ns
        self._outbox.emit(
            RequestTo(
                channel=REGISTRY_CHANNEL,
                endpoint=leader.endpoint,
                correlation_id=self._awaits,
                request=self._registration,
            )
        )

    def _fail(self, mono_ns: int) -> None:
        requested = self._sent_to
        self._hang_up()
        self._sent_to = requested
        self._pause(mono_ns)

    def _pause(self, mono_ns: int) -> None:
        """Until the next attempt: also after a success, while the log does not show it yet."""
        self._due_ns = mono_ns + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, _LONGEST_PAUSE_NS)

    def _hang_up(self) -> None:
        if self._sent_to is not None:
            self._outbox.emit(DisconnectPeer(channel=REGISTRY_CHANNEL))
        self._sent_to = self._awaits = None


def active_controller(
    node: NodeId, me: NodeId, epoch: int, endpoint: Endpoint | None
) -> Active | None:
    """None where there is no leader, its address is unknown, or it is this node."""
    if node in (NO_NODE, me) or endpoint is None:
        return None
    return Active(node=node, epoch=epoch, endpoint=endpoint)


# Broker registration and unregistration (KIP-631, KIP-966).
#
# A new incarnation of a broker's process gets a new broker epoch, greater than any before, and is
# fenced until it asks to be unfenced. The remains of its last incarnation are cleaned up in the
# same batch, before the registration: after a clean shutdown, proved by the epoch that the broker
# kept on its disks, its replicas may stay eligible leaders; else it is in no ISR and no ELR.


def at_epoch(image: Image, broker: int, epoch: int) -> RegisterBrokerRecord:
    """The registration of a broker with that epoch. Raises RefusedError."""
    found = image.brokers.find(broker)
    if found is None:
        raise RefusedError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker} is not registered")
    if found.broker_epoch != epoch:
        raise RefusedError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"Expected broker epoch {found.broker_epoch}, but got {epoch}",
        )
    return found


def register_broker(context: DecisionContext, request: BrokerRegistrationRequest) -> Decision:
    """Raises RefusedError."""
    image, broker = context.image, request.broker
    if request.cluster_id != context.cluster_id:
        raise RefusedError(ErrorCode.INCONSISTENT_CLUSTER_ID)
    existing = image.brokers.find(broker)
    is_same = existing is not None and existing.incarnation_id == request.incarnation
    if not is_same and context.sessions.is_live(broker, context.now_ns):
        raise RefusedError(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
    check_told(request.listeners, request.features)
    check_count(broker, [each.broker_id for each in image.brokers.all()])
    has_directories = image.metadata_version >= DIRECTORIES
    if has_directories:
        _check_directories(image, request)
    _check_features(image, request)
    records: list[MetadataRecord] = []
    if not is_same:
        records += _end_of_last_life(context, existing, request)
    record = RegisterBrokerRecord(
        broker_id=broker,
        incarnation_id=request.incarnation,
        broker_epoch=existing.broker_epoch if existing and is_same else context.next_offset,
        end_points=_endpoints(request),
        features=_features(request),
        rack=request.rack,
        fenced=existing.fenced if existing and is_same else True,
        in_controlled_shutdown=bool(existing and is_same and existing.in_controlled_shutdown),
        log_dirs=request.directories if has_directories else (),
    )
    response = BrokerRegistrationResponse(epoch=record.broker_epoch)
    return Decision(records=[*records, record], response=response)


def unregister(context: DecisionContext, request: UnregisterBrokerRequest) -> Decision:
    """Raises RefusedError."""
    found = context.image.brokers.find(request.broker)
    if found is None:
        raise RefusedError(
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            f"Broker ID {request.broker} is not currently registered",
        )
    record = UnregisterBrokerRecord(broker_id=found.broker_id, broker_epoch=found.broker_epoch)
    records: list[MetadataRecord] = [*when_in_doubt(context, request.broker), record]
    return Decision(records=records, response=UnregisterBrokerResponse())


def _end_of_last_life(
    context: DecisionContext,
    existing: RegisterBrokerRecord | None,
    request: BrokerRegistrationRequest,
) -> list[MetadataRecord]:
    """Clean: it kept the epoch that it was registered with. Before the feature every shutdown was
    unclean, and it made no difference (KIP-966, "Detection of an unclean shutdown")."""
    if not context.image.has_elr:
        return [*when_removed(context, request.broker)]
    if existing is None or existing.broker_epoch != request.previous_epoch:
        return [*when_in_doubt(context, request.broker)]
    return [*when_back(context, existing, request.directories)]


def _check_directories(image: Image, request: BrokerRegistrationRequest) -> None:
    given = request.directories
    taken = {
        directory: other.broker_id
        for other in image.brokers.all()
        if other.broker_id != request.broker
        for directory in other.log_dirs
    }
    rivals = [taken[directory] for directory in given if directory in taken]
    if len(given) > limits.MAX_DIRECTORIES:
        why = f"More than {limits.MAX_DIRECTORIES} directories in request"
    elif not given:
        why = "No directories specified in request"
    elif any(directory.int < RESERVED for directory in given):
        why = "Reserved directory ID in request"
    elif len(set(given)) != len(given):
        why = "Duplicate directory ID in request"
    elif rivals:
        why = f"Broker {rivals[0]} is already registered with a directory of the request"
    else:
        return
    raise RefusedError(ErrorCode.INVALID_REGISTRATION, why)


def _check_features(image: Image, request: BrokerRegistrationRequest) -> None:
    """It supports everything finalized. A level of 0 needs no support."""
    ranges = {each.name: (each.lowest, each.highest) for each in request.features}
    if METADATA_VERSION not in ranges:
        raise RefusedError(
            ErrorCode.INVALID_REGISTRATION, f"Request features do not contain '{METADATA_VERSION}'"
        )
    finalized = {**dict.fromkeys(ranges, 0), **image.feature_levels()}
    for name, level in finalized.items():
        lowest, highest = ranges.get(name, (0, 0))
        if not lowest <= level <= highest:
            raise RefusedError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"The broker does not support finalized version {level} of {name}",
            )


def _endpoints(request: BrokerRegistrationRequest) -> tuple[BrokerEndpoint, ...]:
    return tuple(
        BrokerEndpoint(
            name=each.endpoint.name,
            host=each.endpoint.host,
            port=each.endpoint.port,
            security_protocol=each.security_protocol,
        )
        for each in request.listeners
    )


def _features(request: BrokerRegistrationRequest) -> tuple[BrokerFeature, ...]:
    return tuple(
        BrokerFeature(
            name=each.name, min_supported_version=each.lowest, max_supported_version=each.highest
        )
        for each in request.features
    )
