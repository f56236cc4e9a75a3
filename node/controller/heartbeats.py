"""What a heartbeat of a broker changes (KIP-631, KIP-841, `BrokerHeartbeatManager`).

A broker is fenced, or not, or about to shut down, and asks for another state with each heartbeat.
It is unfenced once it knows its own registration. It may shut down once it leads nothing and every
other broker knows so. That it is about to is in the log, and only another life of it ends that.
"""

from collections.abc import Collection
from uuid import UUID

from node.controller.broker_registration import at_epoch
from node.controller.decision import Decision, Situation
from node.controller.isr_updates import when_added, when_removed
from node.records.metadata import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    RegisterBrokerRecord,
)
from node.records.metadata_versions import CORDONED_DIRECTORIES, DIRECTORIES
from node.wire.broker_lifecycle import BrokerHeartbeatRequest, BrokerHeartbeatResponse

_FENCE, _UNFENCE, _ENTERED = 1, -1, 1


def heartbeat(situation: Situation, request: BrokerHeartbeatRequest) -> Decision:
    """Raises RefusedError."""
    found = at_epoch(situation.image, request.broker, request.epoch)
    # The batch of a registration begins at its epoch at the latest, and is replayed at once.
    is_caught_up = request.metadata_offset >= found.broker_epoch
    # What is on a disk that failed leads nothing, whatever else becomes of the broker.
    on_disks = _directories(situation, found, request)
    if on_disks:
        situation = situation.after(on_disks)
        found = at_epoch(situation.image, request.broker, request.epoch)
    records, is_fenced, is_released = _next_state(situation, found, request, is_caught_up)
    response = BrokerHeartbeatResponse(
        is_caught_up=is_caught_up, is_fenced=is_fenced, should_shut_down=is_released
    )
    return Decision(records=[*on_disks, *records], response=response)


def fence(situation: Situation, broker: int) -> list[MetadataRecord]:
    """It is in no ISR any more, and leads nothing."""
    found = situation.image.brokers.find(broker)
    assert found is not None, f"broker {broker} has a session and is not registered"
    change = BrokerRegistrationChangeRecord(
        broker_id=broker, broker_epoch=found.broker_epoch, fenced=_FENCE
    )
    return [*when_removed(situation, broker), change]


def _next_state(
    situation: Situation,
    found: RegisterBrokerRecord,
    request: BrokerHeartbeatRequest,
    is_caught_up: bool,
) -> tuple[list[MetadataRecord], bool, bool]:
    """Records, whether it is fenced then, and whether it may end."""
    broker = request.broker
    if found.fenced:
        if request.want_shutdown:
            return [], True, True
        if request.want_fence or not is_caught_up:
            return [], True, False
        return _unfence(situation, found), False, False
    if found.in_controlled_shutdown:
        is_released = _may_end(situation, broker)
        return (fence(situation, broker) if is_released else []), is_released, is_released
    if request.want_fence:
        return fence(situation, broker), True, request.want_shutdown
    if request.want_shutdown:
        if not _leads(situation, broker):
            return fence(situation, broker), True, True
        return _enter_shutdown(situation, found), False, False
    return [], False, False


def _unfence(situation: Situation, found: RegisterBrokerRecord) -> list[MetadataRecord]:
    change = BrokerRegistrationChangeRecord(
        broker_id=found.broker_id, broker_epoch=found.broker_epoch, fenced=_UNFENCE
    )
    # One that was about to shut down when it was fenced still is: it may lead nothing (KIP-841).
    led = [] if found.in_controlled_shutdown else when_added(situation, found.broker_id)
    return [change, *led]


def _enter_shutdown(situation: Situation, found: RegisterBrokerRecord) -> list[MetadataRecord]:
    change = BrokerRegistrationChangeRecord(
        broker_id=found.broker_id,
        broker_epoch=found.broker_epoch,
        in_controlled_shutdown=_ENTERED,
    )
    return [change, *when_removed(situation, found.broker_id)]


def _may_end(situation: Situation, broker: int) -> bool:
    """It leads nothing, and all that may lead have heard so."""
    since = situation.sessions.shutdown_offset(broker)
    offsets = situation.sessions.metadata_offsets()
    others = [
        offset for other, offset in offsets.items() if situation.image.brokers.is_active(other)
    ]
    is_known = since is not None and all(offset >= since for offset in others)
    return not _leads(situation, broker) and is_known


def _leads(situation: Situation, broker: int) -> bool:
    return any(found.leader == broker for _, found in situation.image.topics.partitions())


# --- directories ---


def _directories(
    situation: Situation, found: RegisterBrokerRecord, request: BrokerHeartbeatRequest
) -> list[MetadataRecord]:
    """Some failed (KIP-858), or are to get no more replicas (KIP-1066)."""
    level = situation.image.metadata_version
    records: list[MetadataRecord] = []
    offline = frozenset(request.offline)
    left = tuple(each for each in found.log_dirs if each not in offline)
    if level >= DIRECTORIES and left != found.log_dirs and left:
        records += _without_directories(situation, found.broker_id, offline)
        records.append(
            BrokerRegistrationChangeRecord(
                broker_id=found.broker_id, broker_epoch=found.broker_epoch, log_dirs=left
            )
        )
    cordoned = request.cordoned
    if level >= CORDONED_DIRECTORIES and cordoned not in (None, found.cordoned_log_dirs):
        records.append(
            BrokerRegistrationChangeRecord(
                broker_id=found.broker_id,
                broker_epoch=found.broker_epoch,
                cordoned_log_dirs=cordoned,
            )
        )
    return records


def _without_directories(
    situation: Situation, broker: int, offline: Collection[UUID]
) -> list[MetadataRecord]:
    """Its replicas there are in no ISR any more."""
    on_them = {
        key
        for key, partition in situation.image.topics.partitions()
        if broker in partition.replicas and partition.directory(broker) in offline
    }
    changes = when_removed(situation, broker)
    return [each for each in changes if (each.topic_id, each.partition_id) in on_them]
