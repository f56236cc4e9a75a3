"""The clients, those with most users first."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from chaos.releases import NEWEST
from spark_reports.java import find_java
from tests.clients import fetched
from tests.clients.fetched import HERE, ROOT

_IN_PYTHON = "tests.clients.python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """How it is started, and what it finds in its environment."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """`prepare` raises `fetched.NotToBeHad`."""

    name: str
    release: str
    prepare: Callable[[], Prepared]


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def _python(module: str, python: Callable[[], Path]) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        command = (str(python()), "-m", f"{_IN_PYTHON}.{module}")
        return Prepared(command=command, environment=_environment())

    return prepare


def _go(name: str) -> Callable[[], Prepared]:
    return lambda: Prepared(command=(str(fetched.go_program(name)),), environment=_environment())


def _javascript() -> Prepared:
    node = fetched.installed("node", "install Node.js")
    modules = str(fetched.node_modules())
    script = str(HERE / "javascript" / "kafkajs.js")
    return Prepared(command=(node, script), environment=_environment(NODE_PATH=modules))


def _java(main: str) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        libraries = fetched.jars("clients")
        classes = fetched.java_classes(libraries, "Client", "Streams")
        java = fetched.installed("java", "install a Java")
        command = (java, "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", f"{classes}:{libraries}/*")
        return Prepared(command=(*command, main), environment=_environment())

    return prepare


def _harness() -> Path:
    return Path(sys.executable)


def _with_jars(
    module: str, jars: Callable[[], Path], python: Callable[[], Path] = _harness
) -> Callable[[], Prepared]:
    """A program in Python that starts Java's."""

    def prepare() -> Prepared:
        found = jars()
        java = find_java(found.with_suffix(".java"))
        more = _environment(JARS=str(found), JAVA_HOME=str(java))
        return Prepared(command=(str(python()), "-m", f"{_IN_PYTHON}.{module}"), environment=more)

    return prepare


def _kcat() -> Prepared:
    fetched.installed("kcat", "apt-get install kcat")
    return Prepared(command=(str(HERE / "shell" / "kcat"),), environment=_environment())


_OWN = fetched.python_venv
_KAFKA = partial(fetched.kafka_jars, NEWEST)
# pyspark comes as source only, and the connector of the harness' own release is not everywhere.
_OF_SPARK = partial(fetched.python_venv, "requirements-spark.txt", only_wheels=False)
_CONNECT, _SPARK = partial(fetched.jars, "connect"), partial(fetched.jars, "spark")
CLIENTS: tuple[Client, ...] = (
    Client(name="librdkafka", release="2.16.1", prepare=_python("librdkafka", _OWN)),
    Client(name="kafka-python", release="3.0.12", prepare=_python("kafka_python", _OWN)),
    Client(name="java", release="4.3.1", prepare=_java("Client")),
    Client(name="java-tools", release=NEWEST, prepare=_with_jars("java_tools", _KAFKA)),
    Client(name="franz-go", release="1.22.3", prepare=_go("franz")),
    Client(name="sarama", release="1.61.1", prepare=_go("sarama")),
    Client(name="kafkajs", release="2.2.4", prepare=_javascript),
    Client(name="aiokafka", release="0.14.0", prepare=_python("aiokafka", _OWN)),
    Client(name="kafka-go", release="0.4.51", prepare=_go("kafkago")),
    Client(name="kcat", release="1.7.1", prepare=_kcat),
    Client(name="streams", release="4.3.1", prepare=_java("Streams")),
    Client(
        name="connect",
        release="4.3.1",
        prepare=_with_jars("connect", _CONNECT),
    ),
    Client(
        name="spark",
        release="4.2.0",
        prepare=_with_jars("spark", _SPARK, _OF_SPARK),
    ),
)
