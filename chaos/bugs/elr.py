"""Planted bugs in eligible leader replicas and clean shutdowns (E, KIP-966)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from chaos.bugs.planted import Planted
from node.broker.broker import Broker
from node.broker.image_follower import ImageFollower
from node.controller import controller, registration, resource_configs
from node.controller.decision import MIN_ISR, DecisionContext
from node.controller.image import Image, Partition, PartitionKey
from node.controller.image.configurations import CLUSTER
from node.controller.partitions import changes as partition_changes
from node.controller.partitions import (
    directory_assignments,
    elections,
    unclean_elections,
    unclean_recovery,
)
from node.controller.partitions.changes import (
    Election,
    Rules,
    _Elected,
    rules_for,
    when_removed,
    without,
)
from node.controller.partitions.unclean_elections import Answer, Recovery
from node.controller.partitions.unclean_recovery import UncleanRecovery
from node.effects import SaveCleanShutdown
from node.ids import ChannelId, Now, Offset
from node.records.metadata import (
    ConfigRecord,
    MetadataRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from node.records.schemas import NO_LEADER
from node.storage.partition_log import PartitionLog
from node.wire.apis import Response
from node.wire.registration import BrokerRegistrationRequest

# E-CLEAN-LIE: the clean-shutdown file is written when a new broker is registered, whatever its
# logs have at its end (KIP-966, "Detection of an unclean shutdown").


_on_response = Broker.on_response


def vouch_when_registered(
    self: Broker, channel: ChannelId, correlation_id: int, response: Response, mono_ns: int
) -> None:
    before = self.lifecycle.epoch
    _on_response(self, channel, correlation_id, response, mono_ns)
    if self.lifecycle.epoch != before and not set(self._shutdown._logs):
        self._shutdown._outbox.emit(SaveCleanShutdown(broker_epoch=self.lifecycle.epoch))


E_CLEAN_LIE = Planted(owner=Broker, decision="on_response", wrong=vouch_when_registered)


# E-CLEAN-SEGMENT: a clean shutdown vouches for all segments, and syncs only the last: earlier ones
# were never synced (as Apache Kafka does with the end of a time index).


def without_a_flush(self: PartitionLog) -> None:
    self._begin_segment(self.next_offset)


E_CLEAN_SEGMENT = Planted(owner=PartitionLog, decision="_roll", wrong=without_a_flush)


# E-CLEAN-UNSYNCED: the clean-shutdown file is synced, and the logs that it vouches for are not
# (KIP-966, "Detection of an unclean shutdown").


def taken_for_done(self: PartitionLog) -> Offset:
    self.flushed = True
    return self.next_offset


E_CLEAN_UNSYNCED = Planted(owner=PartitionLog, decision="flush", wrong=taken_for_done)


# E-BETTER-COMES: a Balanced recovery does not wait for the last known ELR, and elects while a
# better replica is on its way (KIP-966, "Unclean recovery").


def none_is_needed(_: Partition) -> tuple[int, ...]:
    return ()


E_BETTER_COMES = Planted(owner=unclean_elections, decision="needed_replicas", wrong=none_is_needed)


# E-CLEAR-GHOST: a broker that replays a deletion and a change of min.insync.replicas at once
# empties the ELR of the deleted topic, and knows it again (KAFKA-19383).


_poll_e_clear_ghost = ImageFollower.poll


def clearing_what_was_deleted(self: ImageFollower, now: Now) -> None:
    before = self.image.config(CLUSTER).get(MIN_ISR)
    known = {topic.id: topic for topic in self.image.topics.all()}
    partitions = dict(self.image.topics.partitions())
    _poll_e_clear_ghost(self, now)
    image = self.image
    if image.config(CLUSTER).get(MIN_ISR) == before:
        return
    gone = [topic for topic in known.values() if image.topics.find(topic.id) is None]
    for topic in gone:
        image.replay(TopicRecord(name=topic.name, topic_id=topic.id))
        for key, found in partitions.items():
            if key[0] == topic.id:
                image.replay(replace(found, elr=()).record(key, image.metadata_version))


E_CLEAR_GHOST = Planted(owner=ImageFollower, decision="poll", wrong=clearing_what_was_deleted)


# E-LATE-ANSWER: where a log ends counts as it was told, although its broker was restarted since and
# may have lost records (KIP-966, "Unclean recovery": the broker epoch in the answer).


_as_it_should_e_late_answer = UncleanRecovery._recovery


def of_any_life(_: DecisionContext, __: Partition, recovery: Recovery) -> dict[int, Answer]:
    return dict(recovery.answers)


def forgetting_nothing(
    self: UncleanRecovery, context: DecisionContext, key: PartitionKey
) -> Recovery | None:
    kept = self._ongoing.get(key)
    recovery = _as_it_should_e_late_answer(self, context, key)
    if recovery is None and kept is not None:
        self._ongoing[key] = kept
    return recovery


E_LATE_ANSWER = Planted(
    owner=unclean_recovery,
    decision="valid_answers",
    wrong=of_any_life,
    other=Planted(owner=UncleanRecovery, decision="_recovery", wrong=forgetting_nothing),
)


# E-LONGEST-LEO: the longest log is taken for the best one, whatever the leader epoch of its end
# (KIP-966, "Unclean recovery": the highest leader epoch, then the longest log).


def longest_of(replicas: Sequence[int], answers: dict[int, Answer]) -> int:
    return max((each for each in replicas if each in answers), key=lambda each: answers[each].end)


E_LONGEST_LEO = Planted(owner=unclean_elections, decision="best_of", wrong=longest_of)


# E-UNASKED-LKL: where the unclean recovery manager is to compare logs, the first of the last known
# ELR is elected, fenced or not, as its last leader is without a manager (KIP-966, part two).


_as_it_should_e_unasked_lkl = partition_changes._elect


def the_first_last_known(before: Partition, after: Partition, rules: Rules) -> _Elected:
    elected = _as_it_should_e_unasked_lkl(before, after, rules)
    last = before.last_known_elr
    if elected.leader == NO_LEADER and last and not (after.isr or after.elr):
        return _Elected(leader=last[0], is_unclean=True)
    return elected


E_UNASKED_LKL = Planted(owner=partition_changes, decision="_elect", wrong=the_first_last_known)


# E-EAGER: a member of the ELR is elected although a replica in the ISR may lead, and is then alone
# in the ISR (KIP-966, "Leader election").


_as_it_should_e_eager = partition_changes._elect


def elr_first(before: Partition, after: Partition, rules: Rules) -> _Elected:
    """Only where a leader has to be elected."""
    elected = _as_it_should_e_eager(before, after, rules)
    if elected.leader != before.leader:
        for broker in after.elr:
            if rules.may_lead(broker):
                return _Elected(leader=broker)
    return elected


E_EAGER = Planted(owner=partition_changes, decision="_elect", wrong=elr_first)


# E-ELECTION-WIPE: the check for a preferred leader election ignores the ELR, and any change that
# it makes empties the ELR (as Apache Kafka before 4.3 does when a replica's directory changes; its
# pull request 20716).


def as_if_there_were_no_elr_e_election_wipe(
    context: DecisionContext, key: PartitionKey, partition: Partition, *, election: Election
) -> Rules:
    return replace(rules_for(context, key, partition, election=election), elr=False)


E_ELECTION_WIPE = Planted(
    owner=elections, decision="rules_for", wrong=as_if_there_were_no_elr_e_election_wipe
)


# E-FENCED-LKL: where no replica is eligible the last known leader is elected, fenced or not
# (KAFKA-19522).


_as_it_should_e_fenced_lkl = partition_changes._elect


def fenced_or_not(before: Partition, after: Partition, rules: Rules) -> _Elected:
    elected = _as_it_should_e_fenced_lkl(before, after, rules)
    last = before.last_known_elr
    if elected.leader == NO_LEADER and len(last) == 1 and not (after.isr or after.elr):
        return _Elected(leader=last[0], is_unclean=True)
    return elected


E_FENCED_LKL = Planted(owner=partition_changes, decision="_elect", wrong=fenced_or_not)


# E-MINISR-DRIFT: a change of min.insync.replicas leaves the ELR as it was under the old value
# (KAFKA-16540).


def nothing_is_dropped(
    _image: Image, _records: Sequence[ConfigRecord], _default: int
) -> Iterator[PartitionChangeRecord]:
    return iter(())


E_MINISR_DRIFT = Planted(owner=resource_configs, decision="drop_elr", wrong=nothing_is_dropped)


# E-CLEAR-ELR: any change of min.insync.replicas empties ELR and last known leader, also where the
# ISR is empty (as Apache Kafka 4.4.0 does; docs/results/findings.md).


def whatever_the_isr(
    image: Image, records: Sequence[ConfigRecord], _default: int
) -> Iterator[PartitionChangeRecord]:
    altered = {each.resource_name for each in records if each.name == MIN_ISR}
    for key, found in image.topics.partitions():
        topic = image.topics.find(key[0])
        if topic is None or not (found.elr or found.last_known_elr):
            continue
        if altered & {topic.name, CLUSTER[1]}:
            yield PartitionChangeRecord(
                topic_id=key[0],
                partition_id=key[1],
                eligible_leader_replicas=(),
                last_known_elr=(),
            )


E_CLEAR_ELR = Planted(owner=resource_configs, decision="drop_elr", wrong=whatever_the_isr)


# E-FILE-MINISR: a cluster that is formatted with eligible leader replicas gets no
# min.insync.replicas for all nodes: leaders and controllers each go by their own file
# (KAFKA-16540).


def each_has_its_own(_image: Image, _default: int) -> Iterator[ConfigRecord]:
    return iter(())


E_FILE_MINISR = Planted(owner=controller, decision="one_min_isr", wrong=each_has_its_own)


# E-NO-DETECT: a broker that registers after an unclean shutdown counts as one that kept
# everything, and stays in the ELR (KAFKA-18635).


def always_clean(
    context: DecisionContext, _: RegisterBrokerRecord | None, request: BrokerRegistrationRequest
) -> list[MetadataRecord]:
    return [*when_removed(context, request.broker)]


E_NO_DETECT = Planted(owner=registration, decision="_end_of_last_life", wrong=always_clean)


# E-NO-ELECT: a broker that registers after an unclean shutdown is removed from ISR and ELR, and
# where it led no leader is elected (KAFKA-18106).


def struck_off(context: DecisionContext, broker: int) -> list[PartitionChangeRecord]:
    return [
        PartitionChangeRecord(
            topic_id=topic,
            partition_id=index,
            isr=without(found.isr, broker),
            eligible_leader_replicas=without(found.elr, broker),
        )
        for (topic, index), found in context.image.topics.partitions()
        if broker in (*found.isr, *found.elr)
    ]


E_NO_ELECT = Planted(owner=registration, decision="when_in_doubt", wrong=struck_off)


# E-UNRELATED-WIPE: a replica's move to another disk empties the ELR (as Apache Kafka 4.3 does; its
# pull request 20716).


def as_if_there_were_no_elr_e_unrelated_wipe(
    context: DecisionContext, key: PartitionKey, partition: Partition
) -> Rules:
    return replace(rules_for(context, key, partition), elr=False)


E_UNRELATED_WIPE = Planted(
    owner=directory_assignments,
    decision="rules_for",
    wrong=as_if_there_were_no_elr_e_unrelated_wipe,
)
