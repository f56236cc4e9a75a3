"""Brokers of ours as processes on loopback, beside a quorum of our controllers."""

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.support.ports import give_back_ports, take_ports
from tests.support.quorum_processes import (
    PATIENCE_S,
    ROOT,
    NodeProcess,
    QuorumProcesses,
    format_node,
    kraft_node,
    quorum_processes,
    random_id,
    wait_until,
)

BROKER_PATIENCE_S = 120.0  # of clients, on a machine that stalls
# Quick to notice that one is gone.
PROPERTIES = """\
process.roles=broker
node.id={id}
listeners=INT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers={controllers}
log.dirs={data}
broker.heartbeat.interval.ms=500
replica.fetch.backoff.ms=100
controller.quorum.fetch.timeout.ms=10000
controller.quorum.request.timeout.ms=10000
"""


# Of nodes that are both: by the inner port controllers talk, by the outer one operators do.
COMBINED = """\
process.roles=broker,controller
node.id={id}
listeners=INT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{inner},EXTERNAL://127.0.0.1:{outer}
inter.broker.listener.name=INT
controller.listener.names=CONTROLLER,EXTERNAL
controller.quorum.bootstrap.servers={controllers}
log.dirs={data}
"""


@dataclass
class OwnBroker:
    id: int
    directory: Path
    port: int
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def config(self) -> Path:
        return self.directory / "server.properties"

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def errors(self) -> str:
        return (self.directory / "stderr.log").read_text()

    def start(self) -> None:
        assert self.process is None
        traces, errors = self.directory / "trace.jsonl", self.directory / "stderr.log"
        with traces.open("ab") as out, errors.open("ab") as said:
            self.process = subprocess.Popen(
                kraft_node("start", "-c", self.config), cwd=ROOT, stdout=out, stderr=said
            )

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def terminate(self) -> int:
        return self.end(signal.SIGTERM)

    def end(self, number: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
        self.process = None
        return code


@dataclass(frozen=True)
class OwnCluster:
    quorum: QuorumProcesses
    brokers: dict[int, OwnBroker]

    def addresses(self) -> list[str]:
        return [f"127.0.0.1:{each.port}" for each in self.brokers.values()]

    def servers(self) -> str:
        return ",".join(self.addresses())

    def admin(self) -> AdminClient:
        """Once all brokers are unfenced, as one of them tells it."""
        client = AdminClient({"bootstrap.servers": self.servers(), "log_level": 0})

        def look() -> bool | None:
            try:
                return set(client.list_topics(timeout=10).brokers) == set(self.brokers) or None
            except KafkaException:  # nobody listens yet
                return None

        try:
            wait_until(look, "all brokers are there", BROKER_PATIENCE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}; they said {self.told()}") from None
        return client

    def told(self) -> str:
        """What brokers last said of errors."""
        return "\n".join(each.errors[-2000:] for each in self.brokers.values())


@contextmanager
def own_cluster(
    directory: Path,
    controllers: int,
    ids: Sequence[int],
    settings: str = "",
    of_brokers: str = "",
) -> Iterator[OwnCluster]:
    """Controllers with these settings, and brokers beside them."""
    with (
        quorum_processes(directory / "quorum", controllers, settings) as quorum,
        own_brokers(directory / "brokers", quorum, ids, of_brokers) as brokers,
    ):
        yield OwnCluster(quorum=quorum, brokers=brokers)


@contextmanager
def own_brokers(
    directory: Path, quorum: QuorumProcesses, ids: Sequence[int], settings: str = ""
) -> Iterator[dict[int, OwnBroker]]:
    """Started, and killed at the end. They may not be registered yet."""
    ports = take_ports(len(ids))
    controllers = ",".join(f"127.0.0.1:{node.inner}" for node in quorum.nodes.values())
    brokers: dict[int, OwnBroker] = {}
    try:
        for id_, port in zip(ids, ports, strict=True):
            home = directory / f"broker-{id_}"
            home.mkdir(parents=True)
            broker = brokers[id_] = OwnBroker(id=id_, directory=home, port=port)
            broker.config.write_text(
                PROPERTIES.format(id=id_, port=port, controllers=controllers, data=broker.data)
                + settings
            )
            format_node(quorum.cluster_id, broker.config, "--no-initial-controllers")
            broker.start()
        yield brokers
    finally:
        for broker in brokers.values():
            if broker.process is not None:
                broker.kill()
        give_back_ports(ports)


@contextmanager
def combined_nodes(
    directory: Path, count: int, settings: str = ""
) -> Iterator[tuple[QuorumProcesses, dict[int, OwnBroker]]]:
    """Nodes that are controllers and brokers, started, and killed at the end: one process each, of
    the brokers. They may not be registered yet."""
    ports = take_ports(3 * count)
    brokers: dict[int, OwnBroker] = {}
    nodes: dict[int, NodeProcess] = {}
    for number in range(1, count + 1):
        home = directory / f"node-{number}"
        home.mkdir(parents=True)
        inner, outer, port = ports[number - 1 :: count]
        nodes[number] = NodeProcess(id=number, directory=home, inner=inner, outer=outer)
        brokers[number] = OwnBroker(id=number, directory=home, port=port)
    cluster_id = random_id()
    controllers = ",".join(f"127.0.0.1:{each.inner}" for each in nodes.values())
    voters = ",".join(f"{n.id}@127.0.0.1:{n.inner}:{random_id()}" for n in nodes.values())
    try:
        for node, broker in zip(nodes.values(), brokers.values(), strict=True):
            text = COMBINED.format(
                id=node.id,
                port=broker.port,
                inner=node.inner,
                outer=node.outer,
                controllers=controllers,
                data=broker.data,
            )
            broker.config.write_text(text + settings)
            format_node(cluster_id, broker.config, "--initial-controllers", voters)
        for broker in brokers.values():
            broker.start()
        yield QuorumProcesses(cluster_id=cluster_id, nodes=nodes), brokers
    finally:
        for broker in brokers.values():
            if broker.process is not None:
                broker.kill()
        give_back_ports(ports)
