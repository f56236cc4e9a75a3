"""Who a broker is: its registration, and that it is forgotten (KIP-631, KIP-966).

A new life of a broker's process (`incarnation`) gets a new broker epoch, greater than any before,
and is fenced until it asks not to be. What its last life left behind is cleared up in the same
batch, and before the registration: where that shut down cleanly, which the epoch proves that the
broker kept on its disks, its replicas may stay eligible leaders; else it is in no ISR and no ELR.
"""

from node import limits
from node.controller.decision import Decision, RefusedError, Situation
from node.controller.image import Image
from node.controller.isr_updates import when_back, when_in_doubt, when_removed
from node.controller.registration import check_count, check_told
from node.controller.replica_rules import RESERVED
from node.errors import ErrorCode
from node.records.broker_schemas import BrokerEndpoint, BrokerFeature
from node.records.metadata import (
    MetadataRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from node.records.metadata_versions import DIRECTORIES, METADATA_VERSION
from node.wire.broker_lifecycle import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


def at_epoch(image: Image, broker: int, epoch: int) -> RegisterBrokerRecord:
    """The registration of a broker that speaks in that epoch. Raises RefusedError."""
    found = image.brokers.find(broker)
    if found is None:
        raise RefusedError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker} is not registered")
    if found.broker_epoch != epoch:
        raise RefusedError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"Expected broker epoch {found.broker_epoch}, but got {epoch}",
        )
    return found


def register_broker(situation: Situation, request: BrokerRegistrationRequest) -> Decision:
    """Raises RefusedError."""
    image, broker = situation.image, request.broker
    if request.cluster_id != situation.cluster_id:
        raise RefusedError(ErrorCode.INCONSISTENT_CLUSTER_ID)
    existing = image.brokers.find(broker)
    is_same = existing is not None and existing.incarnation_id == request.incarnation
    if not is_same and situation.sessions.is_live(broker, situation.now_ns):
        raise RefusedError(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
    check_told(request.listeners, request.features)
    check_count(broker, [each.broker_id for each in image.brokers.all()])
    has_directories = image.metadata_version >= DIRECTORIES
    if has_directories:
        _check_directories(image, request)
    _check_features(image, request)
    records: list[MetadataRecord] = []
    if not is_same:
        records += _end_of_last_life(situation, existing, request)
    record = RegisterBrokerRecord(
        broker_id=broker,
        incarnation_id=request.incarnation,
        broker_epoch=existing.broker_epoch if existing and is_same else situation.next_offset,
        end_points=_endpoints(request),
        features=_features(request),
        rack=request.rack,
        fenced=existing.fenced if existing and is_same else True,
        in_controlled_shutdown=bool(existing and is_same and existing.in_controlled_shutdown),
        log_dirs=request.directories if has_directories else (),
    )
    response = BrokerRegistrationResponse(epoch=record.broker_epoch)
    return Decision(records=[*records, record], response=response)


def unregister(situation: Situation, request: UnregisterBrokerRequest) -> Decision:
    """Raises RefusedError."""
    found = situation.image.brokers.find(request.broker)
    if found is None:
        raise RefusedError(
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            f"Broker ID {request.broker} is not currently registered",
        )
    record = UnregisterBrokerRecord(broker_id=found.broker_id, broker_epoch=found.broker_epoch)
    records: list[MetadataRecord] = [*when_in_doubt(situation, request.broker), record]
    return Decision(records=records, response=UnregisterBrokerResponse())


def _end_of_last_life(
    situation: Situation,
    existing: RegisterBrokerRecord | None,
    request: BrokerRegistrationRequest,
) -> list[MetadataRecord]:
    """Clean: it kept the epoch that it was registered with. Before the feature every end was
    unclean, and none mattered (KIP-966, "Detection of an unclean shutdown")."""
    if not situation.image.has_elr:
        return [*when_removed(situation, request.broker)]
    if existing is None or existing.broker_epoch != request.previous_epoch:
        return [*when_in_doubt(situation, request.broker)]
    return [*when_back(situation, existing, request.directories)]


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
    """It can do all that is finalized. A level of 0 that it does not know asks nothing of it."""
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
