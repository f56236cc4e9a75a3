"""Two copies of a disk, compared: what is a difference, of which sort, and where."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.labs.audit.next_start import BLOCK, Status, compare_bytes, compare_copies

CONTENTS = st.one_of(
    st.binary(max_size=64),
    st.builds(
        lambda parts: b"".join(bytes([value]) * size for value, size in parts),
        st.lists(st.tuples(st.integers(0, 3), st.integers(1, 2 * BLOCK)), max_size=5),
    ),
)


@pytest.mark.parametrize(
    ("said", "held", "status"),
    [
        (b"abc", b"abc", Status.SAME),
        (b"abc\0\0", b"abc", Status.SAME),  # an index is a hole with entries at its beginning
        (b"\0" * 12, b"", Status.SAME),
        (b"", b"", Status.SAME),
        (b"abc", b"", Status.SHORTER),
        (b"abcdef", b"abc", Status.SHORTER),
        (b"abc", b"\0\0\0", Status.ZEROS),
        (b"abcdef", b"abc\0\0\0", Status.ZEROS),
        (
            b"abc" * BLOCK,
            b"abc" * 99 + bytes(BLOCK) + (b"abc" * BLOCK)[BLOCK + 297 :],
            Status.ZEROS,
        ),
        (b"abc", b"abd", Status.OLDER),
        (b"abc", b"abcd", Status.OLDER),
        (b"abc", None, Status.MISSING),
        (None, b"abc", Status.OLDER),  # it was deleted, and is back
        (b"", None, Status.MISSING),
    ],
)
def test_what_the_disk_holds_of_a_file(
    said: bytes | None, held: bytes | None, status: Status
) -> None:
    assert compare_bytes("file", said, held).status is status


@given(CONTENTS, CONTENTS)
def test_ranges_hold_all_that_differs_and_begin_and_end_with_it(said: bytes, held: bytes) -> None:
    size = max(len(said), len(held))
    one, other = said.ljust(size, b"\0"), held.ljust(size, b"\0")
    found = compare_bytes("file", said, held)
    within = {at for each in found.ranges for at in range(each.start, each.end)}
    assert all(one[at] == other[at] for at in range(size) if at not in within)
    ends = [at for each in found.ranges for at in (each.start, each.end - 1)]
    assert all(one[at] != other[at] for at in ends)
    assert [each.start for each in found.ranges] == sorted(each.start for each in found.ranges)
    assert found.differs == bool(found.ranges) == (one != other)


@given(CONTENTS, CONTENTS)
def test_what_differs_and_is_no_zero_makes_a_file_older(said: bytes, held: bytes) -> None:
    size = max(len(said), len(held))
    pairs = zip(said.ljust(size, b"\0"), held.ljust(size, b"\0"), strict=True)
    other_bytes = any(one != other and other for one, other in pairs)
    assert (compare_bytes("file", said, held).status is Status.OLDER) == other_bytes


@given(CONTENTS.filter(lambda content: content[-1:] not in (b"", b"\0")), st.data())
def test_a_tail_that_is_lost_is_told_from_one_that_is_zeros(
    said: bytes, data: st.DataObject
) -> None:
    kept = data.draw(st.integers(0, len(said) - 1))
    assert compare_bytes("file", said, said[:kept]).status is Status.SHORTER
    zeros = said[:kept].ljust(len(said), b"\0")
    assert compare_bytes("file", said, zeros).status is Status.ZEROS


def test_copies_are_compared_file_by_file_wherever_they_lie(tmp_path: Path) -> None:
    for copy, files in {
        "said": {"kraft/meta.properties": b"id", "kraft/a-0/1.log": b"log", "new": b"n"},
        "held": {"kraft/meta.properties": b"id", "kraft/a-0/1.log": b"", "old": b"o"},
    }.items():
        for name, content in files.items():
            path = tmp_path / copy / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    found = {
        each.path: each.status for each in compare_copies(tmp_path / "said", tmp_path / "held")
    }
    assert found == {
        "kraft/a-0/1.log": Status.SHORTER,
        "kraft/meta.properties": Status.SAME,
        "new": Status.MISSING,
        "old": Status.OLDER,
    }
