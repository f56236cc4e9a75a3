"""Kafka's own tools, as its scripts in bin/ start them."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.clients.python.jvm import told
from tests.clients.python.program import VALUES, Failed, Try, expect, run, until

_TOOLS = "org.apache.kafka.tools"
_AT = "--bootstrap-server"


def _topics(at: Try, *words: str) -> str:
    return told(f"{_TOOLS}.TopicCommand", _AT, at.servers, *words)


def _produce(at: Try, *words: str, topic: str = "") -> None:
    given = "".join(f"{each}\n" for each in VALUES)
    wanted = ("--topic", topic or at.topic, *words)
    told(f"{_TOOLS}.ConsoleProducer", _AT, at.servers, *wanted, given=given)


def _read_back(at: Try, *words: str, topic: str = "") -> None:
    limits = ("--max-messages", str(len(VALUES)), "--timeout-ms", "60000", "--from-beginning")
    wanted = ("--topic", topic or at.topic, *limits, *words)
    found = told(f"{_TOOLS}.consumer.ConsoleConsumer", _AT, at.servers, *wanted)
    expect(sorted(found.split()), sorted(VALUES), "what was read back")


def metadata(at: Try) -> None:
    expect("PartitionCount: 3" in _topics(at, "--describe", "--topic", at.topic), True, "it says 3")


def create_topic(at: Try) -> None:
    name = f"{at.name}-made"
    _topics(at, "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=12345")
    _produce(at, topic=name)
    _topics(at, "--delete", "--topic", name)
    until(lambda: name not in _topics(at, "--list").split(), "it is gone")


def auto_create(at: Try) -> None:
    name = f"{at.name}-unasked"
    _produce(at, topic=name)
    _read_back(at, topic=name)


def round_trip(at: Try, *words: str) -> None:
    _produce(at, *words)
    _read_back(at)


def _groups(at: Try, *words: str) -> str:
    return told(f"{_TOOLS}.consumer.group.ConsumerGroupCommand", _AT, at.servers, *words)


def groups(at: Try) -> None:
    _produce(at)
    _read_back(at, "--group", at.group)
    expect(at.group in _groups(at, "--list").split(), True, "it is listed")
    expect(at.topic in _groups(at, "--describe", "--group", at.group), True, "its offsets")
    reset = ("--reset-offsets", "--to-earliest", "--execute", "--topic", at.topic)
    _groups(at, "--group", at.group, *reset)
    _groups(at, "--delete-offsets", "--group", at.group, "--topic", at.topic)
    _groups(at, "--delete", "--group", at.group)
    expect(at.group in _groups(at, "--list").split(), False, "it is listed")


def offsets(at: Try) -> None:
    _produce(at)
    _read_back(at, "--group", at.group)
    _produce(at)
    _read_back(at, "--group", at.group)


def seek_by_time(at: Try) -> None:
    _produce(at)
    found = told(f"{_TOOLS}.GetOffsetShell", _AT, at.servers, "--topic", at.topic, "--time", "1")
    if f"{at.topic}:" not in found:
        raise Failed(f"no offsets: {found[:100]}")


def delete_records(at: Try) -> None:
    _produce(at)
    rows = [{"topic": at.topic, "partition": each, "offset": -1} for each in range(3)]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"version": 1, "partitions": rows}, file)
        file.flush()
        name = Path(file.name)
        said = told(f"{_TOOLS}.DeleteRecordsCommand", _AT, at.servers, "--offset-json-file", name)
    expect("low_watermark" in said, True, "it is done")


def configs(at: Try) -> None:
    entity = ("--entity-type", "topics", "--entity-name", at.topic)
    alter = ("--alter", "--add-config", "retention.ms=654321")
    told("kafka.admin.ConfigCommand", _AT, at.servers, *entity, *alter)

    def is_set() -> bool:
        found = told("kafka.admin.ConfigCommand", _AT, at.servers, *entity, "--describe")
        return "retention.ms=654321" in found

    until(is_set, "it is configured so")


def quotas(at: Try) -> None:
    entity = ("--entity-type", "clients", "--entity-default")
    told("kafka.admin.ConfigCommand", _AT, at.servers, *entity, "--describe")


def log_dirs(at: Try) -> None:
    found = told(f"{_TOOLS}.LogDirsCommand", _AT, at.servers, "--describe")
    expect(at.topic in found, True, "its logs are described")


FEATURES: dict[str, Callable[[Try], None]] = {
    "metadata": metadata,
    "create-topic": create_topic,
    "auto-create": auto_create,
    "idempotent": round_trip,
    "zstd": lambda at: round_trip(at, "--compression-codec", "zstd"),
    "offsets": offsets,
    "seek-by-time": seek_by_time,
    "groups": groups,
    "delete-records": delete_records,
    "configs": configs,
    "log-dirs": log_dirs,
    "quotas": quotas,
}

if __name__ == "__main__":
    run(FEATURES)
