"""A small share of the file fuzz, and proof that it can tell a lie."""

import pytest

from node.storage.disk import METADATA_DIRECTORY
from node.storage.log import Log
from tests.fuzz import files
from tests.support.batches import batch


def test_damaged_files_are_read_right_or_refused() -> None:
    outcome = files.run(20, range(300))
    assert outcome.failures == []
    assert all(outcome.counts[kind] > 0 for kind in ("whole", "a prefix", "refused"))


def test_an_invented_batch_is_seen() -> None:
    content = dict(files.SOUND)
    last = files.SEGMENTS[-1]
    end = Log.open(files.on_disk(content), METADATA_DIRECTORY, 1 << 30).end()
    content[last] += batch(end.offset, end.epoch)
    with pytest.raises(AssertionError, match="holds what was never written"):
        files.judge(content)
