"""The controller's state. It changes by `replay` alone, on every node alike.

A module a concern: `configurations` and `features`, `brokers` (registrations), `topics` (and each
`partition`), put together by `image`. A broker that is fenced and a partition's ISR are nowhere
else. An image is also the records that make it (`records`), which is what a snapshot holds, and has
a `digest`, so that two nodes, or a log and a snapshot, can be compared.
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
