"""Apache Kafka's brokers as processes of this machine, beside a quorum of our controllers."""

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.kafka_tools import JVM, TOOLS, KafkaTools
from tests.support.ports import give_back_ports, take_ports
from tests.support.quorum_processes import (
    PATIENCE_S,
    QuorumProcesses,
)

# Small, since three of them share the machine with the test; quick to notice that one is gone.
PROPERTIES = """\
process.roles=broker
node.id={id}
listeners=INT://127.0.0.1:{port}
advertised.listeners=INT://127.0.0.1:{port}
inter.broker.listener.name=INT
controller.listener.names=CONTROLLER
listener.security.protocol.map=INT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.quorum.bootstrap.servers={controllers}
log.dirs={data}
broker.heartbeat.interval.ms=1000
controller.socket.timeout.ms=3000
offsets.topic.num.partitions=1
offsets.topic.replication.factor=3
log.index.size.max.bytes=1048576
log.cleaner.dedupe.buffer.size=4194304
"""
_QUIET = """\
appender.o.type=Console
appender.o.name=o
appender.o.layout.type=PatternLayout
appender.o.layout.pattern=%d %p %m (%c)%n%throwable
rootLogger.level=WARN
rootLogger.appenderRef.o.ref=o
"""


@dataclass
class BrokerProcess:
    id: int
    directory: Path
    port: int
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def errors(self) -> str:
        return (self.directory / "out.log").read_text()

    def start(self, tools: KafkaTools) -> None:
        assert self.process is None
        log4j = self.directory / "log4j2.properties"
        log4j.write_text(_QUIET)
        command = [
            *(str(tools.java), *JVM, f"-Dlog4j2.configurationFile={log4j}"),
            *("-cp", f"{tools.jars}/*", "kafka.Kafka", str(self.directory / "server.properties")),
        ]
        with (self.directory / "out.log").open("ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out)

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        self.process = None


def _format(
    tools: KafkaTools, quorum: QuorumProcesses, broker: BrokerProcess, settings: str
) -> None:
    config = broker.directory / "server.properties"
    controllers = ",".join(f"127.0.0.1:{node.inner}" for node in quorum.nodes.values())
    config.write_text(
        PROPERTIES.format(
            id=broker.id,
            port=broker.port,
            controllers=controllers,
            data=broker.directory / "data",
        )
        + settings
    )
    storage = "kafka.tools.StorageTool"
    done = tools.run(storage, "format", "-t", quorum.cluster_id, "-c", config)
    assert done.returncode == 0, done.stderr


@contextmanager
def broker_processes(
    directory: Path,
    tools: KafkaTools,
    quorum: QuorumProcesses,
    ids: Sequence[int],
    settings: str = "",
) -> Iterator[dict[int, BrokerProcess]]:
    """Started, and killed at the end. They may not be registered yet."""
    ports = take_ports(len(ids))
    brokers: dict[int, BrokerProcess] = {}
    try:
        for id_, port in zip(ids, ports, strict=True):
            home = directory / f"broker-{id_}"
            home.mkdir(parents=True)
            brokers[id_] = BrokerProcess(id=id_, directory=home, port=port)
            _format(tools, quorum, brokers[id_], settings)
            brokers[id_].start(tools)
        yield brokers
    finally:
        for broker in brokers.values():
            if broker.process is not None:
                broker.kill()
        give_back_ports(ports)


TOPICS = f"{TOOLS}.TopicCommand"
PRODUCER = f"{TOOLS}.ConsoleProducer"
CONSUMER = f"{TOOLS}.consumer.ConsoleConsumer"
