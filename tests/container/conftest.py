"""All of this needs a Docker engine. A file's tests run one after the other; files side by side,
as runs of several users on one machine would."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


# First: xdist reads the groups in a hook of its own, which comes before this one where a path of
# this directory is given on the command line.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.container)
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
