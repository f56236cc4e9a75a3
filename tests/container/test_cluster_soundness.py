"""No acknowledged write is lost in a power cut: else every finding of the harness is in doubt.

An fsync in flight during the shutdown may return 0 although nothing reached the disk; the agent
stops all processes first. Repeat with more cuts on any new kernel.
"""

import threading
from typing import Any

import docker
from docker.models.containers import Container

from chaos.setup import docker_engine
from tests.container.clusters import ONE, cluster_of_stand_ins, containers_of, run, said_in

CUTS = 6
ACKNOWLEDGED_BEFORE_THE_CUT = 200
END = "that was all"

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

    def __init__(self, client: docker.DockerClient, container: Container, cut: int) -> None:
        command = ["python3", "-c", WRITER, str(cut)]
        begun = client.api.exec_create(container.id or "", command, tty=True)
        # A file object over the connection; both hang on the library's response.
        self._output: Any = client.api.exec_start(begun["Id"], tty=True, socket=True)
        self._enough = threading.Event()
        self._text = b""
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def wait(self) -> None:
        assert self._enough.wait(30)

    def last(self) -> dict[int, int]:
        """The last record that each writer acknowledged."""
        self._thread.join(30)
        self._output._sock.close()
        self._output._response.close()
        lines = self._text[: self._text.rfind(b"\n")].splitlines()
        pairs = [line.split() for line in lines]
        return {int(writer): int(count) for writer, count in pairs}

    def _read(self) -> None:
        while piece := self._output.read(4096):
            self._text += piece
            if self._text.count(b"\n") >= ACKNOWLEDGED_BEFORE_THE_CUT:
                self._enough.set()


def records_in(container: Container, path: str) -> list[bytes]:
    """A file's lines; what was not synced may have left NULs without a newline behind them.

    The engine may lose what an exec printed, and no record with it: the end of the print tells.
    """
    said = said_in(container, "sh", "-c", f"cat {path} && echo && echo {END}")
    *records, end = said.splitlines() or [b""]
    assert end == END.encode(), f"the engine lost what was read of {path}"
    return records


def test_no_acknowledged_record_is_lost() -> None:
    client = docker_engine.connect()
    try:
        with cluster_of_stand_ins("sound") as cluster, containers_of("sound") as nodes:
            for cut in range(CUTS):
                writers = Acknowledged(client, nodes[ONE], cut)
                writers.wait()
                run(cluster.power_off([ONE]))
                acknowledged = writers.last()
                run(cluster.start(ONE))
                assert run(cluster.power_evidence(ONE)).bit
                for writer, count in acknowledged.items():
                    kept = records_in(nodes[ONE], f"/data/log-{cut}-{writer}")
                    assert len(kept) > count, (
                        f"cut {cut}: record {count} of writer {writer}; all acknowledged: "
                        f"{acknowledged}; sizes: {said_in(nodes[ONE], 'ls', '-l', '/data')!r}"
                    )
                    assert int(kept[count]) == count
    finally:
        client.close()
