"""How each target is asked: the one place that knows both."""

from collections.abc import Callable, Mapping
from typing import Any

from chaos.audit.kafka_client import KafkaClient
from chaos.audit.node_client import NodeClient
from chaos.cluster.interface import Cluster

CLIENTS: Mapping[str, Callable[[Cluster], Any]] = {"node": NodeClient, "kafka": KafkaClient}
