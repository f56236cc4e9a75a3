"""A small share of `python -m tests.fuzz.frames`."""

import random

from tests.fuzz.frames import Tally, fuzz, fuzz_codec


def test_the_codec_reads_or_refuses() -> None:
    tally = Tally()
    fuzz_codec(random.Random("a small share"), 2000, tally)
    assert set(tally.counts) == {"refused by the codec", "read all the same"}


def test_a_node_outlives_what_is_thrown_at_it() -> None:
    tally = fuzz(seed=7, in_process=0, over_tcp=300, address=None)
    assert tally.counts == {"thrown at the node": 300}
