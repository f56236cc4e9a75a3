"""Kafka's frames, to and from the core's own messages.

kio has a class for each message in each version; the core wants one message for all of them: flat,
without versions, of one partition. Each module is a family of requests: its messages, their
translation to and from kio's classes, and its row in the table of served APIs (`apis`). The
requests of the quorum carry exactly one topic-partition, `__cluster_metadata`-0; a frame that names
another one or several is still decoded, with `partition_ok=False`, so that the core can refuse it
the way Kafka does. An absent uuid is None if the protocol allows its absence to mean "any".

Controllers and brokers serve two tables (`apis`): Fetch of the metadata log is another message than
Fetch of partitions, which names any number of them.

`frames` encodes and decodes (`broker_frames` for a broker). What cannot be read is a
`MalformedFrame`: Kafka closes its connection. An answer that its version cannot carry is an
`UnencodableMessage`, and ends in the same way. kio is imported when a codec is first used or
loaded, not before.
"""

from node.codec import UnencodableMessage
from node.wire.apis import API_RANGES
from node.wire.frames import (
    MalformedFrame,
    decode_request,
    decode_response,
    encode_pieces,
    encode_request,
    encode_response,
    load_codecs,
)

__all__ = [
    "API_RANGES",
    "MalformedFrame",
    "UnencodableMessage",
    "decode_request",
    "decode_response",
    "encode_pieces",
    "encode_request",
    "encode_response",
    "load_codecs",
]
