"""RemoveRaftVoter 0 (KIP-853): a controller is to vote no more."""

import base64

from workloads.wire.flexible import MessageReader

_ANY_CLUSTER, _NO_TAGS = b"\x00", b"\x00"


def remove_raft_voter(voter: int, directory_id: str) -> bytes:
    """Body of a request; `directory_id` in Kafka's text form, 22 characters."""
    directory = base64.urlsafe_b64decode(f"{directory_id}==")
    return _ANY_CLUSTER + voter.to_bytes(4, "big") + directory + _NO_TAGS


def read_removed(body: bytes) -> int:
    """The error code. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error = reader.int16()
    reader.string()
    reader.end()
    return error
