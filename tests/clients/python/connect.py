"""Kafka Connect, a worker alone: from a file by way of a topic to another file."""

import subprocess
import tempfile
from pathlib import Path

from tests.clients.python.jvm import java
from tests.clients.python.program import PATIENCE_S, VALUES, Try, run, until

_FILE = "org.apache.kafka.connect.file.FileStream"
_WORKER = """\
bootstrap.servers={servers}
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
offset.storage.file.filename={home}/offsets
offset.flush.interval.ms=1000
listeners=http://127.0.0.1:0
"""


def connect(at: Try) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        (home / "in").write_text("".join(f"{each}\n" for each in VALUES))
        (home / "worker").write_text(_WORKER.format(servers=at.servers, home=home))
        for name, kind, topic, file in (
            ("source", "Source", "topic", "in"),
            ("sink", "Sink", "topics", "out"),
        ):
            (home / f"{name}.properties").write_text(
                f"name={at.name}-{name}\nconnector.class={_FILE}{kind}Connector\ntasks.max=1\n"
                f"file={home / file}\n{topic}={at.topic}\n"
            )
        main = "org.apache.kafka.connect.cli.ConnectStandalone"
        connectors = (home / "source.properties", home / "sink.properties")
        with (home / "log").open("w") as log:
            worker = subprocess.Popen(
                java(main, home / "worker", *connectors), stdout=log, stderr=log
            )
        out = home / "out"
        try:
            until(
                lambda: out.exists() and sorted(out.read_text().split()) == sorted(VALUES),
                "the other file has all",
                3 * PATIENCE_S,  # a worker looks through all jars as it starts
            )
        finally:
            worker.kill()
            worker.wait()


if __name__ == "__main__":
    run({"connect": connect})
