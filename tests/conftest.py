"""What holds for all tests: Hypothesis draws the same examples every time.

A test that fails now and then tells nobody anything. New examples are drawn on purpose, by
`make fuzz`, which sets HYPOTHESIS_PROFILE=explore.
"""

import gc
import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.kafka_python import make_dropped_sockets_close

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
make_dropped_sockets_close()
_INTEGRATION = {"spark", "browser", "slow"}
# What collecting ten thousand tests makes stays to the end: looking through it again and again for
# garbage took a third of the time of each worker's start.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite", action="store_true", help="write down what really happens in tests/stories"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` looks for tests that need containers in tests/container alone, and for others
    that are not quick in files that name their marker. What takes longest goes first, or one worker
    would be left alone with it."""
    items.sort(key=lambda item: item.get_closest_marker("longest") is None)
    for item in items:
        if item.get_closest_marker("container") and item.path.parent.name != "container":
            raise pytest.UsageError(
                f"{item.nodeid} needs containers: it belongs in tests/container"
            )
        for name in _INTEGRATION & {mark.name for mark in item.iter_markers()}:
            if f"mark.{name}" not in _source(item.path):
                needed = f"write pytest.mark.{name} in its own"
                raise pytest.UsageError(f"{item.nodeid} is marked by another file: {needed}")


@cache
def _source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()
