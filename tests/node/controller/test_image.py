"""The image and its records: replayed, they make it again, whatever it came from (M2)."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.controller.image import Image
from node.controller.image.loader import ImageLoader
from node.ids import ZERO_UUID
from node.raft.client import SnapshotPart
from node.records.metadata import (
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    decode_metadata,
    encode_metadata,
)
from node.records.schemas import BrokerEndpoint, BrokerFeature
from tests.support.random_brokers import content

NAMES = st.sampled_from(["a", "b", "", "interval.ms"])
LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=30)
TOPICS = {"a": UUID(int=1 << 70), "b": UUID(int=1 << 71)}
IDS = st.lists(st.integers(1, 4), unique=True, max_size=4).map(tuple)
DIRECTORIES = tuple(UUID(int=(1 << 80) + number) for number in range(4))

# Records that stand by themselves, and those of a broker or topic, which `fits` lets through where
# there is one.
RECORDS = st.one_of(
    st.builds(
        ConfigRecord,
        resource_type=st.sampled_from([2, 4, 16]),
        resource_name=NAMES,
        name=NAMES,
        value=st.none() | st.text(max_size=3),
    ),
    st.builds(
        FeatureLevelRecord,
        name=NAMES | st.just("eligible.leader.replicas.version"),
        feature_level=st.integers(0, 3),
    ),
    st.builds(
        RegisterControllerRecord,
        controller_id=st.integers(1, 3),
        incarnation_id=st.none() | st.uuids(version=4),
        zk_migration_ready=st.booleans(),
        end_points=st.just(()),
        features=st.just(()),
    ),
    st.builds(
        RegisterBrokerRecord,
        broker_id=st.integers(1, 3),
        incarnation_id=st.uuids(version=4),
        broker_epoch=st.integers(0, 2),
        end_points=st.just((BrokerEndpoint(name="E", host="h", port=1, security_protocol=0),)),
        features=st.just(
            (BrokerFeature(name="f", min_supported_version=0, max_supported_version=1),)
        ),
        rack=st.none() | st.just("r"),
        fenced=st.booleans(),
        in_controlled_shutdown=st.booleans(),
        log_dirs=st.sampled_from([(), DIRECTORIES[:1], DIRECTORIES[:2]]),
    ),
    st.builds(
        BrokerRegistrationChangeRecord,
        broker_id=st.integers(1, 3),
        broker_epoch=st.integers(0, 2),
        fenced=st.integers(-1, 1),
        in_controlled_shutdown=st.integers(0, 1),
        log_dirs=st.sampled_from([(), DIRECTORIES[2:]]),
        cordoned_log_dirs=st.sampled_from([None, (), DIRECTORIES[3:]]),
    ),
    st.builds(FenceBrokerRecord, id=st.integers(1, 3), epoch=st.integers(0, 2)),
    st.builds(UnfenceBrokerRecord, id=st.integers(1, 3), epoch=st.integers(0, 2)),
    st.builds(UnregisterBrokerRecord, broker_id=st.integers(1, 3), broker_epoch=st.integers(0, 2)),
    st.sampled_from(sorted(TOPICS)).map(lambda name: TopicRecord(name=name, topic_id=TOPICS[name])),
    st.builds(
        PartitionRecord,
        partition_id=st.integers(0, 2),
        topic_id=st.sampled_from(list(TOPICS.values())),
        replicas=IDS,
        isr=IDS,
        removing_replicas=IDS,
        adding_replicas=IDS,
        leader=st.integers(-1, 4),
        leader_epoch=st.integers(0, 9),
        partition_epoch=st.integers(0, 9),
        eligible_leader_replicas=st.none() | IDS,
        last_known_elr=st.none() | IDS,
    ).map(lambda record: replace(record, directories=DIRECTORIES[: len(record.replicas)])),
    st.builds(
        PartitionChangeRecord,
        partition_id=st.integers(0, 2),
        topic_id=st.sampled_from(list(TOPICS.values())),
        isr=st.none() | IDS,
        leader=st.integers(-2, 4),
        leader_recovery_state=st.integers(-1, 1),
        eligible_leader_replicas=st.none() | IDS,
        last_known_elr=st.none() | IDS,
    ),
    st.builds(ClearElrRecord, topic_name=st.sampled_from(["", *TOPICS])),
    st.builds(RemoveTopicRecord, topic_id=st.sampled_from(list(TOPICS.values()))),
    st.builds(
        ProducerIdsRecord,
        broker_id=st.integers(1, 3),
        broker_epoch=st.just(0),
        next_producer_id=st.integers(0, 5),
    ),
)


def fits(image: Image, record: MetadataRecord) -> bool:
    """Could a controller have written it?"""
    match record:
        case TopicRecord(name=name):
            return image.topics.named(name) is None
        case PartitionRecord(topic_id=id_, partition_id=index):
            topic = image.topics.find(id_)
            return topic is not None and index == topic.partitions
        case PartitionChangeRecord(topic_id=id_, partition_id=index):
            return image.topics.partition(id_, index) is not None
        case RemoveTopicRecord(topic_id=id_):
            return image.topics.find(id_) is not None
        case ClearElrRecord(topic_name=name):
            return not name or image.topics.named(name) is not None
        case (
            UnregisterBrokerRecord(broker_id=broker, broker_epoch=epoch)
            | BrokerRegistrationChangeRecord(broker_id=broker, broker_epoch=epoch)
            | FenceBrokerRecord(id=broker, epoch=epoch)
            | UnfenceBrokerRecord(id=broker, epoch=epoch)
        ):
            found = image.brokers.find(broker)
            return found is not None and found.broker_epoch == epoch
        case _:
            return True


def replay(image: Image, records: list[MetadataRecord]) -> Image:
    for record in records:
        if fits(image, record):
            image.replay(record)
    return image


def image_of(records: list[MetadataRecord]) -> Image:
    return replay(Image(), [LEVEL, *records])


def loaded(image: Image, size: int = 1) -> Image:
    """As a snapshot of it is loaded: through bytes, in parts of `size` records."""
    values = [encode_metadata(record, image.metadata_version) for record in image.records()]
    parts = [values[at : at + size] for at in range(0, len(values), size)] or [[]]
    loader = ImageLoader()
    for number, part in enumerate(parts, 1):
        made = loader.load(
            SnapshotPart(values=part, is_first=number == 1, is_last=number == len(parts))
        )
    assert made is not None
    made.end_loading()
    return made


@given(st.lists(RECORDS, max_size=30), st.lists(RECORDS, max_size=30), st.integers(1, 40))
def test_loading_its_records_is_replaying_what_made_it(
    before: list[MetadataRecord], after: list[MetadataRecord], size: int
) -> None:
    whole = image_of([*before, *after])
    again = replay(loaded(image_of(before), size), after)
    assert content(again) == content(whole)
    assert again.digest == whole.digest


@given(st.lists(RECORDS, max_size=30))
def test_a_snapshot_may_say_the_same_entry_twice_and_take_one_back(
    records: list[MetadataRecord],
) -> None:
    """Ours never does; what another wrote is replayed as it stands."""
    loading = Image()
    loading.begin_loading()
    replay(loading, [LEVEL, *records]).end_loading()
    assert content(loading) == content(image_of(records))
    assert loading.digest == image_of(records).digest


@given(st.lists(RECORDS, max_size=30), st.lists(RECORDS, max_size=30))
def test_a_copy_stays_as_it_was(before: list[MetadataRecord], after: list[MetadataRecord]) -> None:
    image = image_of(before)
    copy = image.copy()
    held = content(copy)
    replay(image, after)
    assert content(copy) == held
    with pytest.raises(AssertionError, match="a copy has no digest"):
        _ = copy.digest


@given(st.lists(RECORDS, max_size=8), st.lists(RECORDS, max_size=8))
def test_images_of_different_content_have_different_digests(
    one: list[MetadataRecord], other: list[MetadataRecord]
) -> None:
    first, second = image_of(one), image_of(other)
    assert (first.digest == second.digest) == (content(first) == content(second))


def test_the_digest_of_what_was_loaded_is_hashed_piece_by_piece_and_stays_that() -> None:
    records: list[MetadataRecord] = [
        ConfigRecord(resource_type=16, resource_name=f"r{n % 4}", name="m", value=str(n))
        for n in range(6)
    ]
    image = Image()
    image.begin_loading()
    digest = replay(image, records[:5]).end_loading()
    assert [digest.hash_some(2) for _ in range(2)] == [False, False]
    replay(image, records[5:])
    assert digest.hash_some(2)
    assert digest.value == replay(Image(), records[:5]).digest
    assert image.digest == replay(Image(), records).digest != digest.value


# --- single rules of replay ---

BROKER = RegisterBrokerRecord(
    broker_id=1,
    incarnation_id=DIRECTORIES[0],
    broker_epoch=5,
    end_points=(),
    features=(),
    rack=None,
    fenced=False,
    log_dirs=DIRECTORIES[:1],
)
PARTITION = PartitionRecord(
    partition_id=0,
    topic_id=TOPICS["a"],
    replicas=(1, 2, 3),
    isr=(1,),
    removing_replicas=(),
    adding_replicas=(),
    leader=1,
    leader_epoch=4,
    partition_epoch=7,
    directories=DIRECTORIES[:3],
    eligible_leader_replicas=(2,),
    last_known_elr=(3,),
)
CHANGE = PartitionChangeRecord(partition_id=0, topic_id=TOPICS["a"])


def with_partition() -> Image:
    return image_of([TopicRecord(name="a", topic_id=TOPICS["a"]), PARTITION])


@pytest.mark.parametrize(
    ("change", "leader_epoch"),
    [
        (replace(CHANGE, isr=(1, 2)), 4),
        (replace(CHANGE, eligible_leader_replicas=()), 4),
        (replace(CHANGE, leader=2), 5),
        (replace(CHANGE, leader=1), 5),
        (replace(CHANGE, leader=-1), 5),
    ],
)
def test_every_change_raises_the_partition_epoch_and_a_leader_its_own(
    change: PartitionChangeRecord, leader_epoch: int
) -> None:
    """E11: what changes the ELR alone keeps the leader epoch."""
    image = with_partition()
    image.replay(change)
    found = image.topics.partition(TOPICS["a"], 0)
    assert found is not None
    assert (found.leader_epoch, found.partition_epoch) == (leader_epoch, 8)


@pytest.mark.parametrize("name", ["", "a"])
def test_clearing_an_elr_changes_the_partitions_that_have_one(name: str) -> None:
    image = with_partition()
    image.replay(
        replace(PARTITION, partition_id=1, eligible_leader_replicas=None, last_known_elr=None)
    )
    image.replay(ClearElrRecord(topic_name=name))
    first, second = (image.topics.partition(TOPICS["a"], index) for index in (0, 1))
    assert first is not None
    assert second is not None
    assert (first.elr, first.last_known_elr, first.partition_epoch) == ((), (), 8)
    assert second.partition_epoch == 7


def test_a_topic_takes_its_partitions_and_its_configuration_with_it() -> None:
    image = with_partition()
    before = image_of([]).digest
    image.replay(ConfigRecord(resource_type=2, resource_name="a", name="k", value="v"))
    image.replay(RemoveTopicRecord(topic_id=TOPICS["a"]))
    assert (image.topics.named("a"), image.config((2, "a"))) == (None, {})
    assert image.digest == before


def test_controlled_shutdown_is_left_by_another_registration_alone() -> None:
    """KIP-841."""
    image = image_of([BROKER])
    change = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, in_controlled_shutdown=1)
    assert image.brokers.is_active(1)
    image.replay(change)
    for fenced in (1, -1):
        image.replay(BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, fenced=fenced))
        assert not image.brokers.is_active(1)
    image.replay(BROKER)
    assert image.brokers.is_active(1)


def test_older_partitions_have_no_elr_and_directories_of_nobody() -> None:
    image = Image()
    image.replay(FeatureLevelRecord(name="metadata.version", feature_level=16))
    image.replay(TopicRecord(name="a", topic_id=TOPICS["a"]))
    older = replace(PARTITION, directories=(), eligible_leader_replicas=None, last_known_elr=None)
    image.replay(decode_metadata(encode_metadata(older, 16)))
    found = image.topics.partition(TOPICS["a"], 0)
    assert found is not None
    assert (found.directories, found.elr) == ((ZERO_UUID,) * 3, ())
    assert loaded(image).digest == image.digest
