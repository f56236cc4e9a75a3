"""Epoch entries and their file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.ids import Epoch, LogPosition, Offset
from node.storage.checkpoints import LeaderEpochs, encode_epochs, parse_epochs

rising = st.lists(st.integers(0, 1000), unique=True, max_size=10).map(sorted)


@st.composite
def leader_epochs(draw: st.DrawFn) -> LeaderEpochs:
    epochs = draw(rising)
    starts = draw(
        st.lists(
            st.integers(0, 10**12), unique=True, min_size=len(epochs), max_size=len(epochs)
        ).map(sorted)
    )
    return LeaderEpochs([Epoch(it) for it in epochs], [Offset(it) for it in starts])


@given(leader_epochs())
def test_the_file_holds_the_entries(entries: LeaderEpochs) -> None:
    assert parse_epochs(encode_epochs(entries)) == entries


def test_the_file_is_kafkas() -> None:
    entries = LeaderEpochs([Epoch(1), Epoch(4)], [Offset(0), Offset(17)])
    assert encode_epochs(entries) == b"0\n2\n1 0\n4 17\n"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"0",
        b"1\n0\n",
        b"0\n1\n",
        b"0\n0\n1 0\n",
        b"0\n1\n1\n",
        b"0\n1\nx 0\n",
        b"0\n1\n-1 0\n",
        b"0\n1\n1 0 0\n",
        b"0\n2\n1 0\n1 5\n",
        b"0\n2\n1 5\n2 5\n",
        b"0\n2\n2 0\n1 5\n",
        b"\xff",
    ],
)
def test_anything_else_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - every reason is as good as another
        parse_epochs(text)


@given(leader_epochs(), st.integers(0, 1000), st.integers(0, 10**12))
def test_the_end_of_an_epoch_is_found_as_by_a_walk(
    entries: LeaderEpochs, epoch: int, beyond: int
) -> None:
    log_end = Offset((entries.starts[-1] if entries.starts else 0) + beyond)
    expected = LogPosition(Epoch(0), Offset(0))
    ends = [*entries.starts[1:], log_end]
    for each, end in zip(entries.epochs, ends, strict=False):
        if each <= epoch:
            expected = LogPosition(each, end)
    assert entries.end_of(Epoch(epoch), LogPosition(Epoch(0), Offset(0)), log_end) == expected


@given(leader_epochs(), st.integers(0, 10**12))
def test_truncation_forgets_what_begins_above(entries: LeaderEpochs, end: int) -> None:
    kept = [start for start in entries.starts if start < end]
    changed = len(kept) < len(entries.starts)
    assert entries.truncate(Offset(end)) == changed
    assert entries.starts == kept
    assert len(entries.epochs) == len(kept)
