"""Spark's source and sink of Kafka."""

import os
import tempfile
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer
from pyspark.sql import SparkSession

from tests.clients.python.program import PATIENCE_S, VALUES, Try, expect, run


def _session() -> SparkSession:
    jars = ",".join(map(str, sorted(Path(os.environ["JARS"]).glob("*.jar"))))
    builder: Any = SparkSession.builder
    session = (
        builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    assert isinstance(session, SparkSession)
    session.sparkContext.setLogLevel("OFF")
    return session


def source(at: Try) -> None:
    producer = Producer({"bootstrap.servers": at.servers, "log_level": 0})
    for each in VALUES:
        producer.produce(at.topic, each.encode())
    producer.flush(PATIENCE_S)
    session = _session()
    with tempfile.TemporaryDirectory() as scratch:
        rows = (
            session.readStream.format("kafka")
            .option("kafka.bootstrap.servers", at.servers)
            .option("subscribe", at.topic)
            .option("startingOffsets", "earliest")
            .load()
        )
        query = (
            rows.selectExpr("CAST(value AS STRING) AS value")
            .writeStream.format("memory")
            .queryName("found")
            .option("checkpointLocation", scratch)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(int(3 * PATIENCE_S))
        found = [row["value"] for row in session.sql("SELECT value FROM found").collect()]
    expect(sorted(found), sorted(VALUES), "what the stream read")


def sink(at: Try) -> None:
    rows = _session().createDataFrame([(each,) for each in VALUES], ["value"])
    (
        rows.write.format("kafka")
        .option("kafka.bootstrap.servers", at.servers)
        .option("topic", at.topic)
        .save()
    )
    consumer = Consumer(
        {
            "bootstrap.servers": at.servers,
            "group.id": at.group,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe([at.topic])
    found = [(each.value() or b"").decode() for each in consumer.consume(len(VALUES), PATIENCE_S)]
    consumer.close()
    expect(sorted(found), sorted(VALUES), "what was written")


if __name__ == "__main__":
    run({"spark-source": source, "spark-sink": sink})
