"""The only place that builds a Spark session."""

import os
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spark_reports.java import find_java

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_LOGGING = """
rootLogger.level = error
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """The size of a session. The defaults suit a laptop and some hundred runs.

    `shuffle_partitions`: 2 for tests, 8 for 1e7 events, 32 for 1e8. `java_options` apply only to
    the first session of a process: the JVM stays.
    """

    master: str = "local[*]"
    driver_memory: str = "2g"
    shuffle_partitions: int = 8
    java_options: str = ""


@contextmanager
def open_session(settings: SessionSettings) -> "Iterator[SparkSession]":
    """A session that is stopped at the end; its files are in a directory removed with it.

    An open session (a notebook) is used, and left open.
    Raises JavaNotFoundError.
    """
    from pyspark.sql import SparkSession

    opened = SparkSession.getActiveSession()
    if opened is not None:
        yield opened
        return
    with tempfile.TemporaryDirectory(prefix="kraft-chaos-spark-") as name:
        scratch = Path(name)
        # Workers are started as `python3` from the PATH unless told otherwise.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["JAVA_HOME"] = str(find_java(scratch))
        builder = SparkSession.builder.master(settings.master).appName("kraft-chaos")
        for key, value in _configuration(settings, scratch).items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()


def _configuration(settings: SessionSettings, scratch: Path) -> dict[str, str]:
    logging = scratch / "log4j2.properties"
    logging.write_text(_LOGGING)
    options = f"-Dlog4j2.configurationFile={logging.as_uri()} {settings.java_options}".strip()
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": options,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        "spark.default.parallelism": str(settings.shuffle_partitions),
    }
