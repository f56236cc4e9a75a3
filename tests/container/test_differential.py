"""A small share of `python -m tests.differential`."""

import asyncio

import pytest

from tests.differential.__main__ import compare

REQUESTS = 150


@pytest.mark.timeout(600)
def test_our_node_answers_as_apache_kafka_does_or_it_is_known_why_not() -> None:
    tally = asyncio.run(compare(1, REQUESTS))
    assert not tally.unknown, "\n".join(each.told(1) for each in tally.unknown)
    assert tally.asked.total() == REQUESTS
    assert tally.done.total() > REQUESTS / 2, f"{tally}"  # refusals that are alike say little
