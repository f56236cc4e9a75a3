"""All of this needs a Docker engine. Tests run side by side, as runs of several users on one
machine would; those of a file that share a cluster or a run, one after the other."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Files of tests that share nothing, or name their groups themselves.
APART = {
    "test_audit",
    "test_commands",
    "test_mixed_quorum",
    "test_own_brokers",
    "test_readme",
    "test_recorded",
    "test_selftest",
    "test_void",
}


# First: xdist reads the groups in a hook of its own, which comes before this one where a path of
# this directory is given on the command line.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.container)
            if item.path.stem not in APART:
                item.add_marker(pytest.mark.xdist_group(item.path.stem))
