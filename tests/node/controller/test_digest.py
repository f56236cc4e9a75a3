"""The digest of an image is that of its entries, whenever it was asked for on the way."""

from hypothesis import given
from hypothesis import strategies as st

from node.controller.image.digest import _KEPT, Digest

VALUES = st.none() | st.text(max_size=2) | st.integers(150, 450).map("x".__mul__)
PLACES = st.tuples(st.integers(1, 2), st.sampled_from("ab"), st.just("interval.ms"))
Place = tuple[int, str, str]


def of_entries(entries: dict[Place, str]) -> int:
    digest = Digest()
    for place, value in entries.items():
        digest.count(*place, None, value)
    return digest.value


@given(st.lists(st.tuples(PLACES, VALUES, st.booleans()), max_size=12))
def test_it_is_that_of_what_is_there(changes: list[tuple[Place, str | None, bool]]) -> None:
    digest, entries = Digest(), dict[Place, str]()
    for place, value, is_asked in changes:
        digest.count(*place, entries.pop(place, None), value)
        if value is not None:
            entries[place] = value
        if is_asked:
            assert digest.value == of_entries(entries)
    assert digest.value == of_entries(entries)


def test_what_waits_to_be_hashed_is_bounded() -> None:
    digest = Digest()
    for number in range(3 * _KEPT):
        digest.count(16, str(number), "interval.ms", None, "7")
        assert len(digest._changed) < _KEPT
    assert digest.value == of_entries(
        {(16, str(number), "interval.ms"): "7" for number in range(3 * _KEPT)}
    )
