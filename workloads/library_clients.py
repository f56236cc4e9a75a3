"""The client libraries that a workload may be told to use, by name."""

from collections.abc import Mapping

from workloads.connection import Entry
from workloads.log_driver import LogClients
from workloads.raw_producer import Patience

RAW = "raw"
LIBRDKAFKA = "librdkafka"
KAFKA_PYTHON = "kafka-python"


def library_clients(
    name: str, entries: Mapping[int, Entry], patience: Patience
) -> LogClients | None:
    """None for our own, which a workload brings along. Raises ValueError for an unknown name."""
    match name:
        case "raw":
            return None
    raise ValueError(f"no client library {name!r}; there are {RAW}, {LIBRDKAFKA}, {KAFKA_PYTHON}")
