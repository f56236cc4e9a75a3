"""Apache Kafka's own tool reads the indexes of our partition logs, and finds nothing wrong."""

from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from node.ids import LogId
from node.server.real_disk import RealDisk
from node.storage.log_directories import PartitionLogs
from tests.support.batches import batch
from tests.support.kafka_tools import DUMP, kafka_tools
from tests.support.segments import by_size, new_log

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]
NAME = LogId("orders-0")


def test_every_entry_names_its_batch(tmp_path: Path) -> None:
    """The tool looks up what each entry leads to, and the time of the batch; it tells of an entry
    only if something is wrong with it (--verify-index-only)."""
    tools = kafka_tools(tmp_path / "java")
    (tmp_path / "data").mkdir()
    written(tmp_path / "data")
    files = sorted((tmp_path / "data" / NAME).glob("*index"))
    assert len(files) > 6
    assert all(path.stat().st_size for path in files)
    for check, word in (("--verify-index-only", ""), ("--index-sanity-check", "passed")):
        done = tools.run(DUMP, check, "--files", ",".join(map(str, files)))
        assert done.returncode == 0, done.stderr
        lines = [line for line in done.stdout.splitlines() if not line.startswith("Dumping ")]
        assert len(lines) == (len(files) if word else 0), done.stdout
        assert all(word in line for line in lines)


def written(directory: Path) -> None:
    """Rolled, cut and gone on with, as times rise and fall."""
    rng = Random(5)
    logs = PartitionLogs.open(RealDisk(directory), by_size(40_000))
    logs.create([new_log(NAME, UUID(int=7), limits=logs.limits)])
    log = logs[NAME]
    for epoch in (1, 2):
        for number in range(500):
            time_ms = epoch * 10_000 + 10 * number + rng.randint(0, 1000)
            log.append(batch(log.next_offset, epoch, rng.randint(1, 5), timestamp_ms=time_ms))
        if epoch == 1:
            log.truncate(log.segments[1].base)
    log.flush()
    logs.save_clean_shutdown(3)
    log.close()
