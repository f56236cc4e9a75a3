"""What clients talk to: three brokers of ours, or one of Apache Kafka's, as processes on loopback,
with the settings that each has by default, but for what one machine needs, and for how large a
message may be."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from chaos.releases import NEWEST
from tests.support.broker_processes import BrokerProcess
from tests.support.kafka_tools import KafkaTools
from tests.support.own_brokers import own_cluster
from tests.support.ports import give_back_ports, take_ports
from tests.support.quorum_processes import PATIENCE_S, wait_until

OURS, KAFKA = "ours", f"Apache Kafka {NEWEST}"
_IDS = (11, 12, 13)
_OURS = """\
default.replication.factor=3
offsets.topic.num.partitions=3
group.initial.rebalance.delay.ms=0
message.max.bytes=16777216
"""
_KAFKA = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
log.dirs={data}
offsets.topic.num.partitions=3
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=3
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=4194304
message.max.bytes=16777216
"""
_CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


@contextmanager
def ours(directory: Path) -> Iterator[str]:
    """Where they are, once clients are served."""
    with own_cluster(directory, 1, _IDS, of_brokers=_OURS) as cluster:
        cluster.admin()
        yield cluster.servers()


@contextmanager
def apache_kafka(directory: Path, tools: KafkaTools) -> Iterator[str]:
    """As `ours`."""
    directory.mkdir(parents=True)
    port, controller = ports = take_ports(2)
    broker = BrokerProcess(id=1, directory=directory, port=port)
    config = directory / "server.properties"
    config.write_text(_KAFKA.format(port=port, controller=controller, data=directory / "data"))
    formatted = tools.run(
        "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", config, "--standalone"
    )
    assert formatted.returncode == 0, formatted.stderr + formatted.stdout
    broker.start(tools)
    try:
        servers = f"127.0.0.1:{port}"
        client = AdminClient({"bootstrap.servers": servers, "log_level": 0})

        def serves() -> bool | None:
            try:
                return bool(client.list_topics(timeout=5).brokers) or None
            except KafkaException:  # nobody listens yet
                return None

        wait_until(serves, "Apache Kafka serves clients", PATIENCE_S)
        yield servers
    finally:
        broker.kill()
        give_back_ports(ports)
