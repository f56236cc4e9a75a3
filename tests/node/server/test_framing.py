"""Cutting a stream into frames, wherever TCP cuts it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.server.framing import FrameCutter, FrameSizeRefused, with_size


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=8), st.lists(st.integers(1, 30)))
def test_frames_come_out_as_they_went_in(frames: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(with_size(frame) for frame in frames)
    cutter = FrameCutter()
    received = []
    for length in [*cuts, len(stream) + 1]:
        chunk, stream = stream[:length], stream[length:]
        received += cutter.cut(chunk)
    assert received == frames


@pytest.mark.parametrize("size", [0, -1, -(2**31), 104_857_601, 2**31 - 1])
def test_absurd_sizes_are_refused_at_once(size: int) -> None:
    with pytest.raises(FrameSizeRefused):
        FrameCutter().cut(size.to_bytes(4, "big", signed=True))


def test_what_is_missing_is_waited_for() -> None:
    cutter = FrameCutter()
    assert cutter.cut(b"\0\0\0\2a") == []
    assert cutter.cut(b"b\0") == [b"ab"]
