"""Basic ids, offsets, times and addresses.

Ids are `NewType`s so that an offset is never taken for an epoch; a replica is the pair of its node
id and the id of its disk (KIP-856: a node that comes back with another disk is another replica).
"""

import base64
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NewType
from uuid import UUID

from node import limits
from node.lazy_dataclass import dataclass

NodeId = NewType("NodeId", int)
Epoch = NewType("Epoch", int)
Offset = NewType("Offset", int)
ConnectionId = NewType("ConnectionId", int)  # incoming; the shell numbers them
ChannelId = NewType("ChannelId", int)  # outgoing; the node's core numbers them
Ticket = NewType("Ticket", int)  # of a read; 1 for a node's first one
LogId = NewType("LogId", str)  # the name of the log's directory, such as orders-3

NO_NODE = NodeId(-1)
# On the wire, for an absent or unknown value: plain numbers, as they come.
NO_EPOCH = -1  # of a leader
NO_BROKER_EPOCH = -1
NO_OFFSET = -1
ZERO_UUID = UUID(int=0)
METADATA_TOPIC = "__cluster_metadata"
METADATA_TOPIC_ID = UUID(int=1)
METADATA_LOG = LogId(f"{METADATA_TOPIC}-0")

MS = 1_000_000  # in ns, as deadlines are
NEVER_NS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Now:
    """The time of a step: monotonic ns for timers, wall-clock ns for values that others read."""

    mono_ns: int
    wall_ns: int


@dataclass(frozen=True, slots=True, order=True)
class LogPosition:
    """Where a log ends, as elections and fetches compare it: epoch first, then offset.

    `epoch` is that of the last record (0 for an empty log), `offset` the next one to be written.
    """

    epoch: Epoch
    offset: Offset


@dataclass(frozen=True, slots=True, order=True)
class ReplicaKey:
    """A node id together with the directory id of its metadata disk (KIP-856, KIP-853)."""

    id: NodeId
    directory: UUID = ZERO_UUID

    @property
    def known_directory(self) -> UUID | None:
        """None: any directory of that node."""
        return None if self.directory == ZERO_UUID else self.directory

    def __eq__(self, other: object) -> bool:
        """By numbers: comparing two UUIDs takes several times as long."""
        if other.__class__ is not ReplicaKey:
            return NotImplemented
        return self.id == other.id and self.directory.int == other.directory.int

    def __hash__(self) -> int:
        """The id alone tells nearly all keys apart, and hashing a UUID is slow."""
        return self.id


@lru_cache(
    maxsize=64
)  # bounded: clients of AddRaftVoter may send our id with any number of directory ids
def one_key(key: ReplicaKey) -> ReplicaKey:
    """The same object for all equal keys: a dictionary finds it without a comparison."""
    return key


def uuid_text(value: UUID) -> str:
    """Kafka's text form of a uuid: 22 characters of URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def parse_uuid(text: str) -> UUID:
    """The inverse of `uuid_text`. Raises ValueError on anything that is not 16 bytes."""
    try:
        raw = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except ValueError as error:
        raise ValueError(f"not a Kafka uuid: {text!r}") from error
    if len(raw) != 16:
        raise ValueError(f"not a Kafka uuid: {text!r} holds {len(raw)} bytes, not 16")
    return UUID(bytes=raw)


# The addresses of a node.


_LABEL = "[0-9A-Za-z_:%-]{1,63}"  # of a name; an IPv6 address is one, with its zone
_HOST = re.compile(rf"({_LABEL}\.)*{_LABEL}\.?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An address, with the name of its listener."""

    name: str
    host: str
    port: int


def why_not_taken(endpoints: Sequence[Endpoint]) -> str | None:
    """What is wrong with addresses received from another node, in words; None if nothing is.

    They are kept in the log, and every node connects to them.
    """
    names = [at.name for at in endpoints]
    if len(names) > limits.MAX_ENDPOINTS:
        return f"{len(names)} endpoints; a node has {limits.MAX_ENDPOINTS} at most"
    if len(set(names)) < len(names):
        return "two endpoints of one listener"
    for at in endpoints:
        if len(at.name) > limits.MAX_HOST_CHARACTERS:
            return f"a listener's name of {len(at.name)} characters"
        if len(at.host) > limits.MAX_HOST_CHARACTERS or not _HOST.fullmatch(at.host):
            return f"{at.host[:64]!r} is neither a host name nor an address"
        if at.port == 0:
            return f"no port on {at.host}"
    return None
