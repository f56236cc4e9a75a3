"""The controller's state. Only `replay` changes it, on every node alike.

Modules: `configurations`; `image` (with registrations and finalized features); `topics` (with their
partitions); `digest`; `image` puts them together; `loader` reads and writes snapshots. The fenced
state of a broker and the ISR of a partition are stored nowhere else. An image can be turned into
the records that make it (`records`), the content of a snapshot, and has a `digest`, by which two
nodes, or a log and a snapshot, are compared.
"""

from node.controller.image.image import Image, endpoints_of, is_of_brokers
from node.controller.image.topics import Partition, PartitionKey, Topic

__all__ = [
    "Image",
    "Partition",
    "PartitionKey",
    "Topic",
    "endpoints_of",
    "is_of_brokers",
]
