"""Effects of broker heartbeats (KIP-631, KIP-841, `BrokerHeartbeatManager`), and broker sessions.

A broker is fenced, unfenced or in controlled shutdown, and requests another state with each
heartbeat. It is unfenced once it has replayed its own registration. It may shut down once it leads
nothing and every other broker knows that. Controlled shutdown is in the log, and ends only with the
broker's next incarnation.
"""

from collections.abc import Collection, Mapping
from uuid import UUID

from node.controller.decision import Decision, DecisionContext
from node.controller.image import Image
from node.controller.partitions.changes import when_added, when_removed
from node.controller.registration import at_epoch
from node.ids import MS, NEVER_NS
from node.lazy_dataclass import dataclass
from node.records.metadata import (
    CORDONED_DIRECTORIES,
    DIRECTORIES,
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    RegisterBrokerRecord,
)
from node.wire.registration import BrokerHeartbeatRequest, BrokerHeartbeatResponse

# Broker sessions at the active controller: time and metadata offset of the last heartbeat.
#
# They are in no log, and each active controller begins anew: every unfenced broker then has a whole
# session time-out for its next heartbeat (KAFKA-18138).


@dataclass(slots=True)
class _Session:
    heard_ns: int
    metadata_offset: int | None = None
    shutdown_offset: int | None = None


class BrokerSessions:
    """The sessions of the unfenced brokers."""

    def __init__(self, image: Image, session_ms: int, now_ns: int) -> None:
        self._timeout_ns = session_ms * MS
        self._sessions = {
            each.broker_id: _Session(now_ns) for each in image.brokers.all() if not each.fenced
        }

    def is_live(self, broker: int, now_ns: int) -> bool:
        found = self._sessions.get(broker)
        return found is not None and now_ns <= found.heard_ns + self._timeout_ns

    def metadata_offsets(self) -> Mapping[int, int]:
        return {
            broker: session.metadata_offset
            for broker, session in self._sessions.items()
            if session.metadata_offset is not None
        }

    def shutdown_offset(self, broker: int) -> int | None:
        found = self._sessions.get(broker)
        return None if found is None else found.shutdown_offset

    # --- changes ---

    def heard(self, image: Image, broker: int, metadata_offset: int, now_ns: int) -> None:
        """A heartbeat of it arrived; `image` includes what was decided for it."""
        self.follow(image, now_ns)
        if broker in self._sessions:
            self._sessions[broker].heard_ns = now_ns
            self._sessions[broker].metadata_offset = metadata_offset

    def follow(self, image: Image, now_ns: int) -> None:
        """Drop the sessions of brokers that are fenced or gone; begin those of newly
        unfenced ones."""
        unfenced = {each.broker_id for each in image.brokers.all() if not each.fenced}
        for broker in self._sessions.keys() - unfenced:
            del self._sessions[broker]
        for broker in sorted(unfenced - self._sessions.keys()):
            self._sessions[broker] = _Session(now_ns)

    def shuts_down_at(self, broker: int, offset: int) -> None:
        """The offset that the others must reach; it is set once (KAFKA-14292)."""
        found = self._sessions.get(broker)
        if found is not None and found.shutdown_offset is None:
            found.shutdown_offset = offset

    # --- expiry ---

    def expired(self, now_ns: int) -> int | None:
        """One broker with an expired session: one at a time, so that the effect of its fencing is
        known before the next is handled."""
        silent = [
            (session.heard_ns, broker)
            for broker, session in self._sessions.items()
            if not self.is_live(broker, now_ns)
        ]
        return min(silent)[1] if silent else None

    def deadline_ns(self) -> int:
        if not self._sessions:
            return NEVER_NS
        heard = [session.heard_ns for session in self._sessions.values()]
        return min(heard) + self._timeout_ns + 1


_FENCE, _UNFENCE, _ENTERED = 1, -1, 1


def heartbeat(context: DecisionContext, request: BrokerHeartbeatRequest) -> Decision:
    """Raises RefusedError."""
    found = at_epoch(context.image, request.broker, request.epoch)
    # The batch of a registration begins at its epoch at the latest, and is replayed as a whole.
    is_caught_up = request.metadata_offset >= found.broker_epoch
    # A replica on a failed disk leads nothing, whatever happens to the broker.
    on_disks = _directories(context, found, request)
    if on_disks:
        context = context.after(on_disks)
        found = at_epoch(context.image, request.broker, request.epoch)
    records, is_fenced, is_released = _next_state(context, found, request, is_caught_up)
    response = BrokerHeartbeatResponse(
        is_caught_up=is_caught_up, is_fenced=is_fenced, should_shut_down=is_released
    )
    return Decision(records=[*on_disks, *records], response=response)


def fence(context: DecisionContext, broker: int) -> list[MetadataRecord]:
    """Remove it from every ISR and from leadership."""
    found = context.image.brokers.find(broker)
    assert found is not None, f"broker {broker} has a session and is not registered"
    change = BrokerRegistrationChangeRecord(
        broker_id=broker, broker_epoch=found.broker_epoch, fenced=_FENCE
    )
    return [*when_removed(context, broker), change]


def _next_state(
    context: DecisionContext,
    found: RegisterBrokerRecord,
    request: BrokerHeartbeatRequest,
    is_caught_up: bool,
) -> tuple[list[MetadataRecord], bool, bool]:
    """Records, whether it is fenced then, and whether it may shut down."""
    broker = request.broker
    if found.fenced:
        if request.want_shutdown:
            return [], True, True
        if request.want_fence or not is_caught_up:
            return [], True, False
        return _unfence(context, found), False, False
    if found.in_controlled_shutdown:
        is_released = _may_end(context, broker)
        return (fence(context, broker) if is_released else []), is_released, is_released
    if request.want_fence:
        return fence(context, broker), True, request.want_shutdown
    if request.want_shutdown:
        if not _leads(context, broker):
            return fence(context, broker), True, True
        return _enter_shutdown(context, found), False, False
    return [], False, False


def _unfence(context: DecisionContext, found: RegisterBrokerRecord) -> list[MetadataRecord]:
    change = BrokerRegistrationChangeRecord(
        broker_id=found.broker_id, broker_epoch=found.broker_epoch, fenced=_UNFENCE
    )
    # A broker fenced during controlled shutdown is still in it: it may lead nothing (KIP-841).
    led = [] if found.in_controlled_shutdown else when_added(context, found.broker_id)
    return [change, *led]


def _enter_shutdown(context: DecisionContext, found: RegisterBrokerRecord) -> list[MetadataRecord]:
    change = BrokerRegistrationChangeRecord(
        broker_id=found.broker_id,
        broker_epoch=found.broker_epoch,
        in_controlled_shutdown=_ENTERED,
    )
    return [change, *when_removed(context, found.broker_id)]


def _may_end(context: DecisionContext, broker: int) -> bool:
    """It leads nothing, and every broker that may lead has replayed that."""
    since = context.sessions.shutdown_offset(broker)
    offsets = context.sessions.metadata_offsets()
    others = [offset for other, offset in offsets.items() if context.image.brokers.is_active(other)]
    is_known = since is not None and all(offset >= since for offset in others)
    return not _leads(context, broker) and is_known


def _leads(context: DecisionContext, broker: int) -> bool:
    return any(found.leader == broker for _, found in context.image.topics.partitions())


# --- directories ---


def _directories(
    context: DecisionContext, found: RegisterBrokerRecord, request: BrokerHeartbeatRequest
) -> list[MetadataRecord]:
    """Some directories failed (KIP-858), or are cordoned: they get no more replicas (KIP-1066)."""
    level = context.image.metadata_version
    records: list[MetadataRecord] = []
    offline = frozenset(request.offline)
    left = tuple(each for each in found.log_dirs if each not in offline)
    if level >= DIRECTORIES and left != found.log_dirs and left:
        records += _without_directories(context, found.broker_id, offline)
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
    context: DecisionContext, broker: int, offline: Collection[UUID]
) -> list[MetadataRecord]:
    """Remove the broker's replicas in these directories from every ISR."""
    on_them = {
        key
        for key, partition in context.image.topics.partitions()
        if broker in partition.replicas and partition.directory(broker) in offline
    }
    changes = when_removed(context, broker)
    return [each for each in changes if (each.topic_id, each.partition_id) in on_them]
