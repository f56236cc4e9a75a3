"""The client libraries that a workload may be told to use, by name."""

from collections.abc import Mapping

from workloads.connection import Entry
from workloads.log_driver import LogClients
from workloads.raw_producer import Patience

RAW = "raw"  # our own
LIBRARIES = (RAW, "librdkafka", "kafka-python")


def library_clients(
    name: str, entries: Mapping[int, Entry], patience: Patience
) -> LogClients | None:
    """None for our own, which a workload brings along. Raises ValueError for an unknown name.

    A library is imported when it is asked for: it takes a tenth of a second, and no other run
    needs it.
    """
    match name:
        case "raw":
            return None
        case "librdkafka":
            from workloads.librdkafka import LibrdkafkaClients

            return LibrdkafkaClients(entries, patience)
        case "kafka-python":
            from workloads.kafka_python import KafkaPythonClients

            return KafkaPythonClients(entries, patience)
    raise ValueError(f"no client library {name!r}; there are {', '.join(LIBRARIES)}")
