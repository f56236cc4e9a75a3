"""The description of one API: which versions are served, and how its messages translate."""

import re
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from importlib import import_module
from typing import Any, Literal

from node.lazy_dataclass import dataclass
from node.limits import MAX_ELEMENTS, MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.translation import quorum_reader, quorum_writer, reader, writer

Side = Literal["request", "response"]
# The bytes of our message in a version; None if only kio's classes can make them.
Pack = Callable[[Any, int], bytes | None]
# Our message from a frame, from a position to its end, in a version; None if kio's classes have to
# read it.
Unpack = Callable[[bytes, int, int], Any]

# The limits on the elements of requests and of answers.
SMALL = (MAX_ELEMENTS, MAX_ELEMENTS)
PARTITIONS = (MAX_PARTITION_ELEMENTS, MAX_PARTITION_ELEMENTS)
NAMES = (MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS)
NAMES_AND_MORE = (MAX_NAMED_ELEMENTS, 2 * MAX_PARTITION_ELEMENTS)
# What only kio has, in requests that are answered at once.
AT_ONCE = (("timeout", timedelta(0)),)


def _pack_none(_message: Any, _version: int) -> None:
    pass


def _unpack_none(_frame: bytes, _at: int, _version: int) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRange:
    """The served versions of an API, as in ApiVersions."""

    api_key: int
    min_version: int
    max_version: int


@dataclass(frozen=True, slots=True)
class Api:
    """One API: its key and name in Kafka, the versions that are served, and our declared messages
    (`declared`).

    `of_quorum`: they are about the one partition of the metadata log. `always`: names and values of
    what only kio's messages have. `pack_request` and `pack_response` write the most frequent
    messages, in a sixth of the time and the same bytes; `unpack_request` and `unpack_response` read
    just those, in less than half of the time. Bars that need them: the simulator's pace, which
    falls by a tenth without them, and the longest step of a node, which a Fetch of many partitions
    takes then. `may_be_followed`: some known clients send more bytes than a request has, which
    Kafka ignores. `size`: the limits on the elements of a request and of its answer.
    """

    key: int
    name: str
    min_version: int
    max_version: int
    request: type
    response: type
    of_quorum: bool = False
    always: tuple[tuple[str, Any], ...] = ()
    pack_request: Pack = _pack_none
    pack_response: Pack = _pack_none
    packed_flexible: int = 0  # the first version with flexible packed answers (KIP-482)
    unpack_request: Unpack = _unpack_none
    unpack_response: Unpack = _unpack_none
    may_be_followed: bool = False
    size: tuple[int, int] = SMALL

    @property
    def range(self) -> ApiRange:
        return ApiRange(
            api_key=self.key, min_version=self.min_version, max_version=self.max_version
        )

    @property
    def package(self) -> str:
        """kio's package of it."""
        return _snake(self.name)

    def serves(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version

    def to_ours(self, message_class: type, entity: Any) -> Any:
        """Our message from kio's."""
        read = quorum_reader if self.of_quorum else reader
        return read(message_class, entity.__class__)(entity)

    def to_kio(self, message: Any, kind: Any) -> Any:
        """What the codec writes as a message of kio's class `kind`."""
        write = quorum_writer if self.of_quorum else writer
        return write(message.__class__, kind, self.always)(message)

    def prepare(self, version: int) -> None:
        """Make the reader of requests and the writer of responses."""
        asked = kio_class(self.package, self.name, version, "request")
        told = kio_class(self.package, self.name, version, "response")
        (quorum_reader if self.of_quorum else reader)(self.request, asked)
        (quorum_writer if self.of_quorum else writer)(self.response, told, self.always)


_OURS = f"{__package__}.unreleased"
# The module and the class of what kio lacks.
_NOT_IN_KIO = {
    ("get_replica_log_info", 0, "request"): (_OURS, "GetReplicaLogInfoRequest"),
    ("get_replica_log_info", 0, "response"): (_OURS, "GetReplicaLogInfoResponse"),
    ("elect_leaders", 3, "request"): (_OURS, "DesignatingElectLeadersRequest"),
    # The same as the last one of kio's.
    ("elect_leaders", 3, "response"): (
        "kio.schema.elect_leaders.v2.response",
        "ElectLeadersResponse",
    ),
}


@cache
def kio_class(package: str, name: str, version: int, side: Side) -> Any:
    """kio's class of one message in one version, or ours where kio has none. The first call imports
    it."""
    of_kio = f"kio.schema.{package}.v{version}.{side}", f"{name}{side.capitalize()}"
    module, found = _NOT_IN_KIO.get((package, version, side), of_kio)
    return getattr(import_module(module), found)


@cache
def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
