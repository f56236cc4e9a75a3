"""Apache Kafka's own tools, as processes of this machine against nodes on loopback."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from chaos.releases import NEWEST
from chaos.setup import docker_engine, kafka_image
from spark_reports.java import find_java

TOOLS = "org.apache.kafka.tools"
QUORUM = f"{TOOLS}.MetadataQuorumCommand"
CLUSTER = f"{TOOLS}.ClusterTool"
FEATURES = f"{TOOLS}.FeatureCommand"
DUMP = f"{TOOLS}.DumpLogSegments"
JVM = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
PATIENCE_S = 300.0  # a JVM starts slowly where others have the machine

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True, slots=True)
class KafkaTools:
    java: Path
    jars: Path

    def run(self, tool: str, *words: str | Path, told: str = "") -> Done:
        """`told` is what it reads from its input."""
        command = [str(self.java), *JVM, "-cp", f"{self.jars}/*", tool, *map(str, words)]
        return subprocess.run(
            command, input=told, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )


def kafka_tools(scratch: Path) -> KafkaTools:
    """Of the newest release; fetched once, which takes a minute."""
    docker_engine.ensure(print)
    client = docker_engine.connect()
    try:
        jars = kafka_image.jars(client, NEWEST, print)
    finally:
        client.close()
    return KafkaTools(find_java(scratch) / "bin" / "java", jars)
