"""The image and its records: replayed, they make it again, whatever it came from (M2)."""

from hypothesis import given
from hypothesis import strategies as st

from node.controller.image import Image
from node.records.metadata import (
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    RegisterControllerRecord,
)

NAMES = st.sampled_from(["a", "b", "", "interval.ms"])
RECORDS = st.one_of(
    st.builds(
        ConfigRecord,
        resource_type=st.sampled_from([2, 16]),
        resource_name=NAMES,
        name=NAMES,
        value=st.none() | st.text(max_size=3),
    ),
    st.builds(FeatureLevelRecord, name=NAMES, feature_level=st.integers(0, 3)),
    st.builds(
        RegisterControllerRecord,
        controller_id=st.integers(1, 3),
        incarnation_id=st.none() | st.uuids(version=4),
        zk_migration_ready=st.booleans(),
        end_points=st.just(()),
        features=st.just(()),
    ),
)


def image_of(records: list[MetadataRecord]) -> Image:
    image = Image()
    for record in records:
        image.replay(record)
    return image


def content(image: Image) -> set[str]:
    return {repr(record) for record in image.records()}


@given(st.lists(RECORDS), st.lists(RECORDS))
def test_loading_its_records_is_replaying_what_made_it(
    before: list[MetadataRecord], after: list[MetadataRecord]
) -> None:
    whole = image_of([*before, *after])
    loaded = image_of(list(image_of(before).records()))
    for record in after:
        loaded.replay(record)
    assert content(loaded) == content(whole)
    assert loaded.digest == whole.digest


@given(st.lists(RECORDS), st.lists(RECORDS))
def test_a_copy_stays_as_it_was(before: list[MetadataRecord], after: list[MetadataRecord]) -> None:
    image = image_of(before)
    copy = image.copy()
    held = content(copy)
    for record in after:
        image.replay(record)
    assert content(copy) == held
    assert copy.digest == image_of(before).digest


@given(st.lists(RECORDS, max_size=8), st.lists(RECORDS, max_size=8))
def test_images_of_different_content_have_different_digests(
    one: list[MetadataRecord], other: list[MetadataRecord]
) -> None:
    first, second = image_of(one), image_of(other)
    assert (first.digest == second.digest) == (content(first) == content(second))
