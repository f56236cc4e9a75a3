"""What tests of the node's processes with foreign clients share."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture
def collected() -> Iterator[None]:
    """What clients left behind is known once nobody holds them any more: in the test that made
    them, which may say that it does not mind (`tests.support.kafka_python`)."""
    yield
    gc.collect()
