"""No acknowledged write is lost in a power cut: else every finding of the harness is in doubt.

An fsync in flight during the shutdown may return 0 although nothing reached the disk; the agent
stops all processes first (`fault-injection` 2.2). Repeat with more cuts on any new kernel.
"""

import threading

import pytest
from docker.models.containers import Container

from tests.container.clusters import ONE, cluster_of_stand_ins, containers_of, run

pytestmark = [pytest.mark.container, pytest.mark.xdist_group("container")]
CUTS = 6
ACKNOWLEDGED_BEFORE_THE_CUT = 200

# Four threads, each appending 100-byte records to a file of its own, synced and then acknowledged.
WRITER = """
import os, sys, threading
def write(number):
    file = os.open(f"/data/log-{sys.argv[1]}-{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    count = 0
    while True:
        os.write(file, b"%099d\\n" % count)
        os.fdatasync(file)
        os.write(1, b"%d %d\\n" % (number, count))
        count += 1
for number in range(4):
    threading.Thread(target=write, args=(number,)).start()
"""


class Acknowledged:
    """What the writers said, read by a thread until the node is gone."""

    def __init__(self, container: Container, cut: int) -> None:
        _, self._output = container.exec_run(
            ["python3", "-c", WRITER, str(cut)], stream=True, demux=False
        )
        self._enough = threading.Event()
        self._text = b""
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def wait(self) -> None:
        assert self._enough.wait(30)

    def last(self) -> dict[int, int]:
        """The last record that each writer acknowledged."""
        self._thread.join(30)
        lines = self._text[: self._text.rfind(b"\n")].splitlines()
        pairs = [line.split() for line in lines]
        return {int(writer): int(count) for writer, count in pairs}

    def _read(self) -> None:
        for piece in self._output:
            self._text += piece
            if self._text.count(b"\n") >= ACKNOWLEDGED_BEFORE_THE_CUT:
                self._enough.set()


def test_no_acknowledged_record_is_lost() -> None:
    with cluster_of_stand_ins("sound") as cluster:
        for cut in range(CUTS):
            with containers_of("sound") as nodes:
                writers = Acknowledged(nodes[ONE], cut)
                writers.wait()
                run(cluster.power_off([ONE]))
                acknowledged = writers.last()
            run(cluster.start(ONE))
            assert run(cluster.power_evidence(ONE)).bit
            with containers_of("sound") as nodes:
                for writer, count in acknowledged.items():
                    wanted = f"/data/log-{cut}-{writer}"
                    kept = nodes[ONE].exec_run(["cat", wanted]).output.splitlines()
                    assert len(kept) > count, f"cut {cut}: record {count} of writer {writer}"
                    assert int(kept[count]) == count
