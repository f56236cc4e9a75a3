"""Makes `tests/data/kafka-*.tar.xz`: disks of Apache Kafka, and what its own tool reads on them.

    python -m tests.support.kafka_disks 4.3.1 DIRECTORY-OF-ITS-JARS

Three nodes, each broker and controller, on ports of this machine: two topics, records in all
codecs, a broker killed and started again, a topic deleted, snapshots often and segments short, so
that metadata logs begin with one. Takes a minute. Kept are the files that the reader reads.
"""

import io
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

DATA = Path(__file__).parent.parent / "data"
DUMPED = "dumped.txt"  # beside the disks: what the dump tool says of each file, behind its path
NODES = (1, 2, 3)
PORT = 29390
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
KEPT = ("*.log", "*.checkpoint", "*-checkpoint", "quorum-state", "meta.properties")
KEPT_TOO = ("partition.metadata", ".kafka_cleanshutdown")
TOOLS = "org.apache.kafka.tools"
PROPERTIES = """
process.roles=broker,controller
node.id={node}
listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{peer}
advertised.listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{peer}
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers={peers}
log.dirs={home}/node-{node}/kafka
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
default.replication.factor=3
min.insync.replicas=2
metadata.log.max.record.bytes.between.snapshots=3000
metadata.log.segment.ms=5000
metadata.max.retention.bytes=3000
"""


def main() -> None:
    version, jars = sys.argv[1:]
    with TemporaryDirectory() as scratch:
        home = Path(scratch)
        cluster = _Cluster(home, Path(jars))
        try:
            cluster.live()
        finally:
            cluster.kill()
        (home / DUMPED).write_text(cluster.dumped())
        _pack(home, DATA / f"kafka-{version}.tar.xz")


class _Cluster:
    def __init__(self, home: Path, jars: Path) -> None:
        self.home = home
        small = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
        self.java = ("java", *small, "-cp", f"{jars}/*")
        self.servers = ",".join(f"127.0.0.1:{PORT + node}" for node in NODES)
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def live(self) -> None:
        self._format()
        for node in NODES:
            self._start(node)
        self._topic("--create", "--topic", "kept", "--partitions", "2")
        self._topic("--create", "--topic", "doomed", "--partitions", "1")
        for number, codec in enumerate(CODECS):
            self._produce(f"letter-{chr(ord('A') + number)}", codec)
        self.processes[2].send_signal(signal.SIGKILL)
        self._produce("letter-P", "none")
        self._until("2 is out of the ISR", lambda: 2 not in self._in_all_isrs())
        self._start(2)
        self._topic("--delete", "--topic", "doomed")
        self._until("the ISR is whole", lambda: 2 in self._in_all_isrs())
        for node in (3, 2):  # the last one is killed: it could not say goodbye to anybody
            self.processes[node].terminate()
            self.processes[node].wait()

    def kill(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

    def dumped(self) -> str:
        """What the tool prints of all files, each behind its path."""
        files = _logs(self.home)
        metadata = [path for path in files if "__cluster_metadata" in str(path)]
        others = [path for path in files if path not in metadata]
        printed = self._dump("--cluster-metadata-decoder", metadata)
        printed += self._dump("--print-data-log", others)
        return printed.replace(f"Dumping {self.home}/", "")

    def _dump(self, how: str, files: Sequence[Path]) -> str:
        return self._run(f"{TOOLS}.DumpLogSegments", how, "--files", ",".join(map(str, files)))

    def _format(self) -> None:
        peers = [f"127.0.0.1:{PORT + 10 + node}" for node in NODES]
        voters = [f"{node}@{peers[node - 1]}:directory-of-node-00{node}w" for node in NODES]
        for node in NODES:
            (self.home / f"node-{node}").mkdir()
            text = PROPERTIES.format(
                node=node,
                client=PORT + node,
                peer=PORT + 10 + node,
                peers=",".join(peers),
                home=self.home,
            )
            path = self.home / f"{node}.properties"
            path.write_text(text)
            words = ("-t", "clusterOfTheTestsDataw", "-c", str(path), "--initial-controllers")
            self._run("kafka.tools.StorageTool", "format", *words, ",".join(voters))

    def _start(self, node: int) -> None:
        with (self.home / f"{node}.out").open("ab") as out:
            self.processes[node] = subprocess.Popen(
                [*self.java, "kafka.Kafka", str(self.home / f"{node}.properties")],
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def _topic(self, *words: str) -> str:
        return self._run(f"{TOOLS}.TopicCommand", "--bootstrap-server", self.servers, *words)

    def _in_all_isrs(self) -> set[int]:
        isrs = re.findall(r"Isr: ([\d,]+)", self._topic("--describe"))
        return set.intersection(*(set(map(int, isr.split(","))) for isr in isrs))

    def _produce(self, text: str, codec: str) -> None:
        """Three records whose first 8 bytes are numbers that rise by one."""
        lines = [f"{text[:7]}{chr(ord(text[7]) + more)} and more" for more in range(3)]
        words = ("--bootstrap-server", self.servers, "--topic", "kept", "--compression-codec")
        command = (*words, codec, "--request-required-acks", "-1", "--timeout", "200")
        self._run(f"{TOOLS}.ConsoleProducer", *command, told="\n".join(lines))

    def _run(self, program: str, *words: str, told: str = "") -> str:
        done = subprocess.run(
            [*self.java, program, *words], input=told, text=True, capture_output=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{program} {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def _until(self, what: str, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not holds():
            if time.monotonic() > deadline:
                raise SystemExit(f"not within a minute: {what}; see {self.home}")


def _logs(home: Path) -> list[Path]:
    found = [*home.rglob("*.log"), *home.rglob("__cluster_metadata-0/*.checkpoint")]
    return sorted(path for path in found if path.stat().st_size)


def _pack(home: Path, archive: Path) -> None:
    """Names, bytes, and nothing of who packed them and when."""
    kept = {path for pattern in (*KEPT, *KEPT_TOO) for path in home.glob(f"node-*/**/{pattern}")}
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for path in sorted(kept | {home / DUMPED}):
            entry = tarfile.TarInfo(str(path.relative_to(home)))
            data = path.read_bytes()
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


def unpack(version: str, directory: Path) -> Sequence[str]:
    """The recorded disks into `directory`; returns the lines of the dump tool."""
    with tarfile.open(DATA / f"kafka-{version}.tar.xz") as tar:
        tar.extractall(directory, filter="data")
    return (directory / DUMPED).read_text().splitlines()


if __name__ == "__main__":
    os.nice(10)
    main()
