"""The client libraries that a workload can use, by name."""

from collections.abc import Mapping

from workloads.clients.library import TopicClient
from workloads.clients.log_driver import LogClients
from workloads.clients.raw_clients import Patience
from workloads.connection import ClientEntry

RAW = "raw"  # our own
LIBRARIES = (RAW, "librdkafka", "kafka-python")
UNWAITED = "librdkafka-unwaited"  # its operation time-out is 0: brokers do not wait
TOPIC_CLIENTS = (RAW, "librdkafka", UNWAITED)


def library_clients(
    name: str, entries: Mapping[int, ClientEntry], patience: Patience
) -> LogClients | None:
    """None for our own, which each workload makes itself. Raises ValueError for an unknown name.

    A library is imported when it is requested: that takes a tenth of a second, and no other run
    needs it.
    """
    match name:
        case "raw":
            return None
        case "librdkafka":
            from workloads.clients.librdkafka import LibrdkafkaClients

            return LibrdkafkaClients(entries, patience)
        case "kafka-python":
            from workloads.clients.kafka_python import KafkaPythonClients

            return KafkaPythonClients(entries, patience)
    raise ValueError(f"unknown client library {name!r}; known: {', '.join(LIBRARIES)}")


def library_topic_client(
    name: str, entries: Mapping[int, ClientEntry], timeout_s: float
) -> TopicClient | None:
    """None for our own. Raises ValueError for an unknown name."""
    if name not in TOPIC_CLIENTS:
        raise ValueError(f"unknown topic client {name!r}; known: {', '.join(TOPIC_CLIENTS)}")
    if name == RAW:
        return None
    from workloads.clients.librdkafka import LibrdkafkaTopicClient

    waits_s = 0.0 if name == UNWAITED else timeout_s
    return LibrdkafkaTopicClient(entries, timeout_s=timeout_s, operation_timeout_s=waits_s)
