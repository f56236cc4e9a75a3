"""One Spark session for all tests: a JVM takes seconds to start and a GB of memory."""

from typing import TYPE_CHECKING

import pytest

from spark_reports.session import SessionSettings, open_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

SETTINGS = SessionSettings(
    master="local[2]",
    driver_memory="1g",
    shuffle_partitions=2,
    java_options="-XX:+UseParallelGC -XX:TieredStopAtLevel=1",
)


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    with open_session(SETTINGS) as session:
        yield session
