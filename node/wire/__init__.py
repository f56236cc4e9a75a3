"""Kafka's frames, to and from the core's own messages.

kio has a class for each message in each version; the core wants one message for all of them. Each
module translates one family: `quorum`, `fetch`, `configs`, `admin`. `apis` is the table of what is
served, `codec` the way in and out. What arrives may be anything, so `reader` trusts no length and
no tag, and whatever cannot be read is a `MalformedFrame`: Kafka hangs up on its sender. An answer
that its version cannot carry is an `UnencodableMessage`, and ends in the same way.
"""

from node.codec import UnencodableMessage
from node.wire.apis import API_RANGES
from node.wire.codec import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    load_codecs,
)
from node.wire.malformed import MalformedFrame

__all__ = [
    "API_RANGES",
    "MalformedFrame",
    "UnencodableMessage",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "load_codecs",
]
