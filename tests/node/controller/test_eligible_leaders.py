"""Eligible leader replicas (KIP-966): its own examples, and the rules it states."""

from dataclasses import replace

import pytest

from node.controller.image.topics import RECOVERED, RECOVERING
from node.errors import ErrorCode
from node.records.metadata import (
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
)
from node.wire.alter_partition import PartitionResult
from node.wire.api_versions import (
    FeatureUpdate,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from node.wire.configs import AlterConfigsRequest, ConfigChange, ResourceChange
from node.wire.reassignments import ElectLeadersRequest, ElectLeadersResponse, NamedPartition
from tests.support.brokers import Brokers

NONE = -1


def four_of_three() -> Brokers:
    """Four brokers, min ISR 3: the KIP's example."""
    brokers = Brokers()
    brokers.come_up(1, 2, 3, 4)
    brokers.create("t", (1, 2, 3, 4), min_insync_replicas="3")
    return brokers


def three_of_two(**configs: str) -> Brokers:
    brokers = Brokers()
    brokers.come_up(1, 2, 3)
    brokers.create("t", (1, 2, 3), **{"min_insync_replicas": "2", **configs})
    return brokers


def test_the_seven_steps_of_the_kip() -> None:
    brokers = four_of_three()
    assert brokers.state() == ((1, 2, 3, 4), (), 1)  # T0: everyone is online
    brokers.propose(1, 2)  # T1: 3 and 4 lag
    assert brokers.state() == ((1, 2), (3, 4), 1)
    brokers.propose(1, 2, 3)  # T2: 3 catches up
    assert brokers.state() == ((1, 2, 3), (), 1)
    brokers.fence(2)  # T3: 2 and 3 are offline
    brokers.fence(3)
    assert brokers.state() == ((1,), (2, 3), 1)
    brokers.propose(1, 4)  # T4: 4 catches up
    assert brokers.state() == ((1, 4), (2, 3), 1)
    brokers.fence(4)  # T5: 1 and 4 are offline
    brokers.fence(1)
    assert brokers.state() == ((), (1, 2, 3, 4), NONE)
    brokers.register(3)  # and 3 comes back with an unclean shutdown
    assert brokers.state() == ((), (1, 2, 4), NONE)
    brokers.register(1)  # T6: so does 1
    assert brokers.state() == ((), (2, 4), NONE)
    brokers.beat(2)  # 2 comes back after the partition
    assert brokers.state() == ((2,), (4,), 2)
    brokers.beat(1)  # T7: 1 and 3 catch up
    brokers.beat(3)
    brokers.propose(2, 1, 3)
    assert brokers.state() == ((2, 1, 3), (), 2)


def test_a_member_of_the_elr_keeps_its_place_while_another_joins_the_isr() -> None:
    """ISR [0], ELR [1], maximal ISR [0, 2]: until [0, 2] is committed 1 is eligible."""
    brokers = three_of_two()
    brokers.propose(1, 2)
    brokers.propose(1)
    assert brokers.state() == ((1,), (2,), 1)
    brokers.propose(1, 3)
    assert brokers.state() == ((1, 3), (), 1)


def test_more_than_all_replicas_cannot_be_asked_for() -> None:
    """min.insync.replicas 3 of two replicas is 2 (KIP-966, backward compatibility)."""
    brokers = Brokers()
    brokers.come_up(1, 2)
    brokers.create("t", (1, 2), min_insync_replicas="3")
    brokers.propose(1)
    assert brokers.state() == ((1,), (2,), 1)
    brokers.propose(1, 2)
    assert brokers.state() == ((1, 2), (), 1)


def test_the_last_replica_standing() -> None:
    """The motivation: 3 loses its log, and is not elected, for 2 has all that was acknowledged."""
    brokers = three_of_two()
    brokers.fence(1)
    brokers.fence(2)
    assert brokers.state() == ((3,), (2,), 3)
    brokers.fence(3)
    assert brokers.partition().last_known_elr == (3,)
    brokers.come_up(3)
    assert brokers.state() == ((), (2,), NONE)
    brokers.beat(2)
    assert brokers.state() == ((2,), (), 2)
    assert brokers.partition().last_known_elr == ()
    assert brokers.partition().recovery == RECOVERED


def test_without_the_feature_the_last_member_stays_and_leads_again() -> None:
    brokers = Brokers(elr=False)
    brokers.come_up(1, 2, 3)
    brokers.create("t", (1, 2, 3), min_insync_replicas="2")
    for broker in (1, 2, 3):
        brokers.fence(broker)
    assert brokers.state() == ((3,), (), NONE)
    brokers.come_up(1, 2)
    assert brokers.state() == ((3,), (), NONE)
    brokers.come_up(3)
    assert brokers.state() == ((3,), (), 3)


def test_an_elr_that_changes_alone_keeps_the_leader_epoch() -> None:
    """E11: an unclean registration of a member of the ELR."""
    brokers = three_of_two()
    brokers.propose(1, 2)
    brokers.propose(1)
    brokers.fence(2)
    before = brokers.partition()
    brokers.register(2)
    change, registration = brokers.records
    assert isinstance(change, PartitionChangeRecord)
    assert (change.eligible_leader_replicas, change.isr, change.leader) == ((), None, -2)
    assert isinstance(registration, RegisterBrokerRecord)
    after = brokers.partition()
    assert after.leader_epoch == before.leader_epoch
    assert after.partition_epoch == before.partition_epoch + 1


@pytest.mark.parametrize(("clean", "elr"), [(True, (2,)), (False, ())])
def test_who_shut_down_cleanly_stays_eligible(clean: bool, elr: tuple[int, ...]) -> None:
    """E5."""
    brokers = three_of_two()
    brokers.propose(1, 2)
    brokers.propose(1)
    brokers.fence(2)
    brokers.register(2, clean=clean)
    assert brokers.state() == ((1,), elr, 1)


def test_where_all_are_in_doubt_the_last_leader_is_waited_for() -> None:
    """E8, E9: its election is an unclean one."""
    brokers = three_of_two()
    for broker in (1, 2, 3):
        brokers.fence(broker)
    for broker in (1, 2, 3):
        brokers.register(broker)
    assert brokers.state() == ((), (), NONE)
    assert brokers.partition().last_known_elr == (3,)
    brokers.beat(1)
    brokers.beat(2)
    assert brokers.state() == ((), (), NONE)
    brokers.beat(3)
    assert brokers.state() == ((3,), (), 3)
    found = brokers.partition()
    assert (found.recovery, found.last_known_elr) == (RECOVERING, ())
    refused = brokers.propose(3, 1, recovery=RECOVERING)
    assert isinstance(refused, PartitionResult)
    assert refused.error == ErrorCode.INVALID_REQUEST
    brokers.propose(3, 1)
    assert (brokers.state(), brokers.partition().recovery) == (((3, 1), (), 3), RECOVERED)


def test_unclean_elections_are_held_where_a_topic_allows_them() -> None:
    """Before anybody is waited for, and only where nobody is eligible."""
    brokers = three_of_two(unclean_leader_election_enable="true")
    brokers.propose(1, 2)
    brokers.propose(1)
    brokers.fence(2)
    brokers.register(2)
    assert brokers.state() == ((1,), (), 1)
    brokers.fence(1)
    assert brokers.state() == ((3,), (), 3)
    assert brokers.partition().recovery == RECOVERING


@pytest.mark.parametrize(
    ("unclean", "elected"),
    [("false", ((), (1, 2), NONE)), ("true", ((3,), (), 3))],
)
def test_who_is_fenced_and_eligible_is_waited_for_unless_anybody_may_lead(
    unclean: str, elected: tuple[tuple[int, ...], tuple[int, ...], int]
) -> None:
    """KIP-966, delivery plan: fenced members of the ELR, and another replica that is not."""
    brokers = three_of_two(unclean_leader_election_enable=unclean)
    brokers.propose(1, 2)
    brokers.fence(2)
    brokers.fence(1)
    assert brokers.state() == elected


def test_the_first_of_the_elr_that_is_back_is_elected_whoever_led_last() -> None:
    """KIP-966, controller behaviors 3: it joins the ISR and leaves the ELR."""
    brokers = three_of_two()
    for broker in (1, 2, 3):
        brokers.fence(broker)
    assert brokers.state() == ((), (2, 3), NONE)
    brokers.beat(1)
    assert brokers.state() == ((), (2, 3), NONE), "1 left when the ISR had the minimum"
    brokers.beat(2)
    assert brokers.state() == ((2,), (3,), 2)
    brokers.beat(3)
    assert brokers.state() == ((2,), (3,), 2), "who is eligible is in sync when a leader says so"


@pytest.mark.parametrize("clean", [True, False])
def test_before_the_feature_every_end_is_alike(clean: bool) -> None:
    """KIP-966, compatibility: out of the ISR as if fenced, and the last of it stays."""
    brokers = Brokers(elr=False)
    brokers.come_up(1, 2, 3)
    brokers.create("t", (1, 2, 3), min_insync_replicas="2")
    brokers.fence(2)
    brokers.fence(3)
    brokers.fence(1)
    assert brokers.state() == ((1,), (), NONE)
    brokers.come_up(1, 2, clean=clean)
    assert brokers.state() == ((1,), (), 1)


def test_an_operator_elects_anybody() -> None:
    brokers = three_of_two()
    for broker in (1, 2, 3):
        brokers.fence(broker)
    for broker in (1, 2, 3):
        brokers.register(broker)
    brokers.beat(2)
    asked = NamedPartition(topic="t", index=0)
    answer = brokers.ask(ElectLeadersRequest(kind=1, partitions=(asked,)))
    assert isinstance(answer, ElectLeadersResponse)
    assert answer.results[0].error == ErrorCode.NONE
    assert brokers.state() == ((2,), (), 2)
    again = brokers.ask(ElectLeadersRequest(kind=1, partitions=(asked,)))
    assert isinstance(again, ElectLeadersResponse)
    assert again.results[0].error == ErrorCode.ELECTION_NOT_NEEDED


def test_the_preferred_leader_is_elected_where_it_may_lead() -> None:
    brokers = three_of_two()
    brokers.fence(1)
    assert brokers.partition().leader == 2
    asked = ElectLeadersRequest(kind=0, partitions=(NamedPartition(topic="t", index=0),))
    refused = brokers.ask(asked)
    assert isinstance(refused, ElectLeadersResponse)
    assert refused.results[0].error == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    brokers.beat(1)
    brokers.propose(2, 3, 1)
    brokers.ask(asked)
    assert brokers.partition().leader == 1


def test_a_partition_that_is_named_twice_is_answered_twice() -> None:
    brokers = three_of_two()
    asked = NamedPartition(topic="t", index=0)
    for kind, overall, error in (
        (0, ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED),
        (7, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),  # there is no such election
    ):
        answer = brokers.ask(ElectLeadersRequest(kind=kind, partitions=(asked, asked)))
        assert isinstance(answer, ElectLeadersResponse)
        assert (answer.error, [each.error for each in answer.results]) == (overall, [error] * 2)


def test_where_all_are_asked_for_topics_that_need_none_are_told_without_partitions() -> None:
    answer = three_of_two().ask(ElectLeadersRequest(kind=0, partitions=None))
    assert isinstance(answer, ElectLeadersResponse)
    assert (answer.topics, answer.results) == (("t",), ())


def altered(brokers: Brokers, kind: int, name: str, value: str | None) -> None:
    operation = 1 if value is None else 0
    change = ConfigChange(name="min.insync.replicas", operation=operation, value=value)
    resource = ResourceChange(type=kind, name=name, changes=(change,))
    brokers.ask(AlterConfigsRequest(resources=(resource,), validate_only=False))


@pytest.mark.parametrize(
    ("kind", "name", "value", "elr"),
    [
        (2, "t", "1", ()),  # the ISR has it
        (2, "t", "3", (2,)),  # as shipped, all of them were dropped: what was acknowledged is lost
        (2, "t", "7", (2,)),
        (2, "t", "2", (2,)),
        (2, "t", None, ()),  # then the cluster's holds
        (4, "", "3", (2,)),
        (4, "", "1", (2,)),  # the topic has one of its own
    ],
)
def test_another_minimum_drops_the_elr_where_the_isr_has_it(
    kind: int, name: str, value: str | None, elr: tuple[int, ...]
) -> None:
    """KIP-966, "ELR update"."""
    brokers = three_of_two()
    brokers.propose(1, 2)
    brokers.propose(1)
    before = brokers.partition()
    altered(brokers, kind, name, value)
    assert isinstance(brokers.records[0], ConfigRecord)
    assert len(brokers.records) == (1 if elr else 2), "in one batch"
    assert brokers.state() == ((1,), elr, 1)
    assert brokers.partition().leader_epoch == before.leader_epoch


def test_the_cluster_s_minimum_is_that_of_topics_without_their_own() -> None:
    brokers = Brokers()
    brokers.come_up(1, 2, 3)
    altered(brokers, 4, "", "2")
    brokers.create("t", (1, 2, 3))
    brokers.propose(1, 2)
    brokers.propose(1)
    assert brokers.state() == ((1,), (2,), 1)
    altered(brokers, 4, "", "3")
    assert brokers.state() == ((1,), (2,), 1)
    altered(brokers, 4, "", "1")
    assert brokers.state() == ((1,), (), 1)


def test_a_raised_minimum_keeps_those_who_are_eligible_while_nobody_leads() -> None:
    brokers = three_of_two()
    for broker in (2, 3, 1):
        brokers.fence(broker)
    assert brokers.state() == ((), (1, 3), NONE)
    altered(brokers, 2, "t", "3")
    assert brokers.state() == ((), (1, 3), NONE)
    brokers.come_up(1, 2, 3, clean=True)
    assert brokers.state() == ((1,), (3,), 1)


def test_a_minimum_that_was_lowered_while_nobody_led_holds_from_the_next_election_on() -> None:
    brokers = three_of_two()
    for broker in (2, 3, 1):
        brokers.fence(broker)
    altered(brokers, 2, "t", "1")
    assert brokers.state() == ((), (1, 3), NONE), "an ISR of nobody has no minimum"
    brokers.come_up(3, clean=True)
    assert brokers.state() == ((3,), (), 3)


def test_who_led_last_before_there_was_an_elr_is_waited_for() -> None:
    """The feature is turned on while nobody leads, and the one of the ISR is in doubt."""
    brokers = Brokers(elr=False)
    brokers.come_up(1, 2, 3)
    brokers.create("t", (1, 2, 3), min_insync_replicas="2")
    for broker in (2, 3, 1):
        brokers.fence(broker)
    update = FeatureUpdate(name="eligible.leader.replicas.version", level=1)
    brokers.ask(UpdateFeaturesRequest(updates=(update,)))
    assert brokers.state() == ((1,), (), NONE)
    brokers.register(1)
    assert brokers.state() == ((), (), NONE)
    assert brokers.partition().last_known_elr == (1,)
    brokers.come_up(2)
    assert brokers.state() == ((), (), NONE), "nobody knows what it has"
    brokers.beat(1)
    assert brokers.state() == ((1,), (), 1)
    assert brokers.partition().recovery == RECOVERING


def test_with_the_feature_the_minimum_is_of_the_cluster() -> None:
    """KAFKA-16540: turning it on makes one for all, and brokers have none of their own."""
    brokers = Brokers(elr=False)
    brokers.come_up(1)
    altered(brokers, 4, "1", "2")
    update = FeatureUpdate(name="eligible.leader.replicas.version", level=1)
    brokers.ask(UpdateFeaturesRequest(updates=(update,)))
    common, own, level = brokers.records
    assert isinstance(common, ConfigRecord)
    assert (common.resource_name, common.value) == ("", "1")
    assert isinstance(own, ConfigRecord)
    assert (own.resource_name, own.value) == ("1", None)
    assert isinstance(level, FeatureLevelRecord)
    altered(brokers, 4, "1", "2")
    assert brokers.records == []


def test_turning_it_off_leaves_no_elr() -> None:
    brokers = three_of_two()
    brokers.propose(1, 2)
    brokers.propose(1)
    update = FeatureUpdate(name="eligible.leader.replicas.version", level=0)
    brokers.ask(UpdateFeaturesRequest(updates=(update,)))
    assert brokers.state() == ((1,), (2,), 1), "an upgrade is no downgrade"
    brokers.ask(UpdateFeaturesRequest(updates=(replace(update, kind=2),)))
    assert brokers.state() == ((1,), (), 1)
    assert not brokers.image.has_elr


@pytest.mark.parametrize("kind", [2, 3])
def test_a_metadata_version_that_cannot_be_lowered_says_so(kind: int) -> None:
    """What the ELR is kept in: KIP-966, "MV downgrade" needs a log written anew."""
    brokers = three_of_two()
    update = FeatureUpdate(name="metadata.version", level=22, kind=kind)
    answer = brokers.ask(UpdateFeaturesRequest(updates=(update,)))
    assert isinstance(answer, UpdateFeaturesResponse)
    assert answer.error is ErrorCode.INVALID_UPDATE_VERSION
    assert "cannot be lowered below" in (answer.message or "")


def test_a_feature_that_there_is_not_is_refused_at_level_0_too() -> None:
    brokers = three_of_two()
    update = FeatureUpdate(name="x", level=0)
    answer = brokers.ask(UpdateFeaturesRequest(updates=(update,)))
    assert isinstance(answer, UpdateFeaturesResponse)
    assert answer.error is ErrorCode.INVALID_UPDATE_VERSION
