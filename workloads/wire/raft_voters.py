"""AddRaftVoter 0 and RemoveRaftVoter 0 (KIP-853): add or remove a controller as a voter."""

import base64
import struct

from workloads.wire.flexible import MessageReader, array, string

_ANY_CLUSTER, _NO_TAGS = b"\x00", b"\x00"


def add_raft_voter(
    voter: int, directory_id: str, *, listener: str, host: str, port: int, timeout_ms: int
) -> bytes:
    """Body of a request; `directory_id` is in Kafka's text form, 22 characters. The controller has
    one listener."""
    endpoint = string(listener) + string(host) + struct.pack(">H", port) + _NO_TAGS
    head = _ANY_CLUSTER + struct.pack(">ii", timeout_ms, voter)
    return head + _bytes_of(directory_id) + array([endpoint]) + _NO_TAGS


def remove_raft_voter(voter: int, directory_id: str) -> bytes:
    """Body of a request."""
    return _ANY_CLUSTER + struct.pack(">i", voter) + _bytes_of(directory_id) + _NO_TAGS


def read_voters_changed(body: bytes) -> int:
    """The error code of either answer. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error = reader.int16()
    reader.string()
    reader.end()
    return error


def _bytes_of(directory_id: str) -> bytes:
    return base64.urlsafe_b64decode(f"{directory_id}==")
