"""Unclean recovery (KIP-966, part two): the replica that holds the most leads a lost partition.

A partition is lost if no member of its ISR or ELR may lead. With `unclean.recovery.manager.enabled`
the active controller then asks the replicas that are there where their logs end
(GetReplicaLogInfo), and elects the one with the highest leader epoch and, among those, the highest
log end offset; of equal ones the first in replica order. The topic's `unclean.recovery.strategy`
says when:

* Aggressive: as soon as every replica that is there has answered; after
  `unclean.recovery.timeout.ms`, the best of those that have; if none has, the first that does.
* Balanced: not before all of LastKnownElr are there and have answered, whatever the time. Others
  are waited for as above. While the ELR has members, one of those is waited for, and none is asked.
  Where no last known ELR was recorded, every replica may be the one that has everything.
* None: no replica is asked.

An answer is used only if it was given in the partition's present leader epoch, in which no replica
of it can append or truncate anything, and in a broker epoch that is still the broker's. Nothing of
this is in the log: another active controller begins anew. An election is one more change of the
partition, by the rules of `changes`.

An operator can ask for either kind of recovery (ElectLeaders 3), whatever the strategy, and is
answered when the elections that can be held in `TimeoutMs` are committed. What could not be held
by then is no longer tried for that request.
"""

from collections.abc import Sequence

from node.config import RecoveryStrategy
from node.controller.decision import (
    DecisionContext,
    recovers,
)
from node.controller.image import Image, Partition, PartitionKey
from node.controller.partitions.changes import change, rules_for
from node.controller.partitions.unclean_elections import (
    Answer,
    AnsweredElection,
    Recovery,
    RequestedRecoveries,
    active_replicas,
    elected,
    may_recover,
    needed_replicas,
    partition_at,
    topic_strategy,
    valid_answers,
)
from node.effects import DisconnectPeer
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, ChannelId, ConnectionId, Endpoint, uuid_text
from node.lazy_dataclass import dataclass
from node.outbox import Outbox, RequestTo
from node.records.metadata import PartitionChangeRecord
from node.wire.entities import TopicPartition
from node.wire.offsets import (
    MOST_ASKED,
    ReplicaLogInfo,
    ReplicaLogsRequest,
    ReplicaLogsResponse,
)
from node.wire.reassignments import (
    ElectLeadersRequest,
)

_FIRST_CHANNEL = -(1 << 40)  # of broker 0, the next below it of broker 1: no others are as low
_FIRST_PAUSE_NS = 50 * MS
_LONGEST_PAUSE_NS = 1000 * MS
_AT_ONCE = 1000  # elections of one step; the rest follow at once


def is_of_recovery(channel: ChannelId) -> bool:
    return channel <= _FIRST_CHANNEL


@dataclass(slots=True, kw_only=True)
class _Link:
    """The connection to one broker; it has one request at a time."""

    channel: ChannelId
    endpoint: Endpoint
    awaits: int | None = None  # the correlation id of the outstanding request
    next_id: int = 0
    due_ns: int = 0  # of the next request, or the time-out of the outstanding one
    pause_ns: int = _FIRST_PAUSE_NS

    def pause(self, now_ns: int) -> None:
        self.awaits = None
        self.due_ns = now_ns + self.pause_ns
        self.pause_ns = min(2 * self.pause_ns, _LONGEST_PAUSE_NS)


class UncleanRecovery:
    """Of one active controller. `finished`: the elections that it held."""

    def __init__(self, request_ms: int, timeout_ms: int, outbox: Outbox) -> None:
        self._request_ns = request_ms * MS
        self._timeout_ns = timeout_ms * MS
        self._outbox = outbox
        self._leaderless: dict[PartitionKey, None] | None = None  # None: not looked for yet
        self._ongoing: dict[PartitionKey, Recovery] = {}
        self._links: dict[int, _Link] = {}  # by broker
        self._requests = 0
        self._requested = RequestedRecoveries()
        self._due_ns = 0  # of the next look at all lost partitions
        self.finished = 0

    # --- what is due ---

    def note(self) -> None:
        """The image changed, or an answer came."""
        self._due_ns = 0

    def deadline_ns(self) -> int:
        return self._due_ns

    def poll(self, context: DecisionContext) -> list[PartitionChangeRecord]:
        """The elections that can be held; and ask for what is missing for others."""
        if context.now_ns < self._due_ns:
            return []
        if not recovers(context.image, context.settings):
            self._leaderless = None
            self._ongoing.clear()
            self.hang_up()
            self._due_ns = self._requested.deadline_ns()
            return []
        records: list[PartitionChangeRecord] = []
        timeouts = [NEVER_NS]
        for key in self._follow(context.image):
            recovery = self._recovery(context, key)
            if recovery is None:
                continue
            record = self._election(context, key, recovery)
            if record is not None:
                records.append(record)
                if len(records) == _AT_ONCE:
                    self._due_ns = 0
                    return records
            elif context.now_ns < recovery.begun_ns + self._timeout_ns:
                timeouts.append(recovery.begun_ns + self._timeout_ns)
        self._due_ns = min(*timeouts, self._requested.deadline_ns(), self._ask(context))
        return records

    def hang_up(self) -> None:
        """Ask no broker any more."""
        for broker in list(self._links):
            self._drop(broker)

    # --- what operators request ---

    def request(
        self, connection: ConnectionId, request: ElectLeadersRequest, context: DecisionContext
    ) -> None:
        """Answered by `take_answered`."""
        self._requested.request(connection, request, context)
        self.note()

    def take_answered(self, context: DecisionContext) -> list[AnsweredElection]:
        """After `poll`, with its records in the image."""
        return self._requested.take_answered(context)

    # --- which partitions ---

    def _strategy(self, context: DecisionContext, key: PartitionKey) -> RecoveryStrategy:
        """The topic's, or a bolder one that an operator asks for."""
        found = {topic_strategy(context, key), *self._requested.strategies(key)}
        boldest = (RecoveryStrategy.AGGRESSIVE, RecoveryStrategy.BALANCED, RecoveryStrategy.NONE)
        return next(each for each in boldest if each in found)

    def _follow(self, image: Image) -> list[PartitionKey]:
        """All that are leaderless."""
        changed = image.topics.take_changed()
        if changed is None or self._leaderless is None:
            changed = [key for key, _ in image.topics.partitions()]
            self._leaderless = {}
        for key in changed:
            found = image.topics.partition(*key)
            if found is not None and not found.has_leader:
                self._leaderless[key] = None
            else:
                self._leaderless.pop(key, None)
                self._ongoing.pop(key, None)
        return list(self._leaderless)

    def _recovery(self, context: DecisionContext, key: PartitionKey) -> Recovery | None:
        """None while none may be held. A new leader epoch begins another."""
        found = partition_at(context.image, key)
        if not may_recover(context.image, found, self._strategy(context, key)):
            self._ongoing.pop(key, None)
            return None
        recovery = self._ongoing.get(key)
        if recovery is None or recovery.leader_epoch != found.leader_epoch:
            recovery = Recovery(leader_epoch=found.leader_epoch, begun_ns=context.now_ns)
            self._ongoing[key] = recovery
        return recovery

    # --- the election ---

    def _election(
        self, context: DecisionContext, key: PartitionKey, recovery: Recovery
    ) -> PartitionChangeRecord | None:
        found = partition_at(context.image, key)
        answers = valid_answers(context, found, recovery)
        recovery.answers = answers
        is_late = context.now_ns >= recovery.begun_ns + self._timeout_ns
        strategy = self._strategy(context, key)
        winner = elected(context.image, found, strategy, answers, is_late=is_late)
        if winner is None:
            return None
        record = change(key, found, found, rules_for(context, key, found, winner=winner))
        assert record is not None, f"{key} had no leader, and {winner} does not change it"
        self.finished += 1
        needed = needed_replicas(found) if strategy is RecoveryStrategy.BALANCED else ()
        self._trace(key, found, needed, answers, winner)
        return record

    def _trace(
        self,
        key: PartitionKey,
        found: Partition,
        needed: Sequence[int],
        answers: dict[int, Answer],
        winner: int,
    ) -> None:
        told: list[dict[str, int | str]] = [
            {
                "id": broker,
                "broker_epoch": each.broker_epoch,
                "last_epoch": each.last_epoch,
                "end": each.end,
            }
            for broker, each in sorted(answers.items())
        ]
        self._outbox.trace(
            "c.recovered",
            topic=uuid_text(key[0]),
            index=key[1],
            epoch=found.leader_epoch,
            leader=winner,
            needed=[{"id": each} for each in needed],
            answers=told,
        )

    # --- questions ---

    def _ask(self, context: DecisionContext) -> int:
        """When there is more to do, without news."""
        missing = self._missing(context)
        now_ns, due_ns = context.now_ns, NEVER_NS
        for broker in sorted({*missing, *self._links}):
            link = self._link(context.image, broker)
            if link is None or broker not in missing:
                self._drop(broker)
                continue
            if now_ns >= link.due_ns and link.awaits is not None:
                self._outbox.emit(DisconnectPeer(channel=link.channel))
                link.pause(now_ns)
            elif now_ns >= link.due_ns:
                self._send(broker, link, missing[broker], now_ns)
            due_ns = min(due_ns, link.due_ns)
        return due_ns

    def _missing(self, context: DecisionContext) -> dict[int, list[PartitionKey]]:
        """By broker, the partitions for which its answer is missing."""
        missing: dict[int, list[PartitionKey]] = {}
        for key, recovery in self._ongoing.items():
            for broker in active_replicas(context.image, partition_at(context.image, key)):
                if broker not in recovery.answers:
                    missing.setdefault(broker, []).append(key)
        return missing

    def _link(self, image: Image, broker: int) -> _Link | None:
        """To where the broker is registered now; None if it is registered nowhere."""
        registration = image.brokers.find(broker)
        if registration is None or not registration.end_points:
            return None
        at = registration.end_points[0]  # by which brokers reach each other
        endpoint = Endpoint(name=at.name, host=at.host, port=at.port)
        found = self._links.get(broker)
        if found is None or found.endpoint != endpoint:
            self._drop(broker)
            found = _Link(channel=ChannelId(_FIRST_CHANNEL - broker), endpoint=endpoint)
            self._links[broker] = found
        return found

    def _send(self, broker: int, link: _Link, keys: Sequence[PartitionKey], now_ns: int) -> None:
        """As many as the broker answers at once; those first that it was asked for least lately."""
        self._requests += 1
        sent = sorted(keys, key=lambda key: self._ongoing[key].asked.get(broker, 0))[:MOST_ASKED]
        for key in sent:
            self._ongoing[key].asked[broker] = self._requests
        link.awaits, link.next_id = link.next_id, (link.next_id + 1) % 2**31
        link.due_ns = now_ns + self._request_ns
        self._outbox.emit(
            RequestTo(
                channel=link.channel,
                endpoint=link.endpoint,
                correlation_id=link.awaits,
                request=ReplicaLogsRequest(
                    partitions=tuple(TopicPartition(id=topic, index=index) for topic, index in sent)
                ),
            )
        )

    def _drop(self, broker: int) -> None:
        link = self._links.pop(broker, None)
        if link is not None:
            self._outbox.emit(DisconnectPeer(channel=link.channel))

    # --- answers ---

    def on_response(
        self, channel: ChannelId, correlation_id: int, response: ReplicaLogsResponse, now_ns: int
    ) -> None:
        broker = _FIRST_CHANNEL - channel
        link = self._links.get(broker)
        if link is None or link.awaits != correlation_id:
            return  # response on a connection dropped since
        is_used = [self._take(broker, response.broker_epoch, each) for each in response.logs]
        link.awaits = None
        if all(is_used):
            link.due_ns, link.pause_ns = now_ns, _FIRST_PAUSE_NS
        else:
            link.pause(now_ns)
        self.note()

    def on_lost(self, channel: ChannelId, now_ns: int) -> None:
        """The connection failed, or brought garbage."""
        link = self._links.get(_FIRST_CHANNEL - channel)
        if link is not None:
            link.pause(now_ns)
            self.note()

    def _take(self, broker: int, broker_epoch: int, told: ReplicaLogInfo) -> bool:
        """False: it has to be asked again. An answer of another leader epoch says nothing of this
        one: the replica may have appended or truncated since, or not know yet that it follows no
        leader."""
        recovery = self._ongoing.get((told.partition.id, told.partition.index))
        if recovery is None:
            return True  # the partition has a leader, or is deleted
        if told.error is not ErrorCode.NONE or told.leader_epoch != recovery.leader_epoch:
            return False
        recovery.answers[broker] = Answer(
            broker_epoch=broker_epoch, last_epoch=told.last_epoch, end=told.end
        )
        return True
