"""Requests of every API and version that the node serves, and answers to what it asks.

Fields are at their limits and beyond.

A message is drawn field by field along kio's description of its version and written here, not by
the node's writer: so a string can have any length that its version can carry, an array more
elements than anybody sends. Most fields get a value that lets the message pass on to what
reads the next one (`LIKELY`), the others a limit of their type.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

from kio.serial import entity_reader

from node.codec.fields import FIXED, MarkedField, marked_fields
from node.codec.varint import write_unsigned
from node.limits import MAX_ELEMENTS
from node.wire.api import Api, kio_class
from node.wire.apis import APIS, BY_KEY
from node.wire.frames import RequestHeader, read_response_header, request_header, response_header
from workloads.wire import client_metrics, describe_quorum
from workloads.wire.header import Api as ClientApi

CLUSTER = "a-cluster"
DIRECTORY = UUID(int=501)
METADATA_TOPIC = "__cluster_metadata"
RESOURCES = ("a", "b", "grün", "c" * 249)
# Tagged fields that change what all the others mean.
RARE = {"diverging_epoch", "snapshot_id"}
# How often a field is at a limit; one of these for a whole message.
EXTREMES = (0.0, 0.02, 0.12)
CLIENTS = (None, "", "fuzz", "fuzz", "f" * 32_767)  # what they call themselves
# Lengths at which an encoding changes, or somebody's patience ends; the last are for flexible
# versions only.
LENGTHS = (0, 1, 63, 126, 127, 128, 254, 255, 256, 16_383, 16_384, 32_766, 32_767)
LONG_LENGTHS = (32_768, 40_000, 65_535, 65_536, 140_000)
LETTERS = ("x", "x", " ", ",", "(", "ä", "語", "\0", "\\")
COUNTS = (0, 2, 3, 9)
_BINARY = ("bytes", "records")
TOO_MANY = (MAX_ELEMENTS - 2, MAX_ELEMENTS, MAX_ELEMENTS + 1, 10_001)

PATTERNS = (
    "client_id=a.*",
    "client_id=b,client_source_port=[0-9]+",
    "client_id=a{99999999999}",
    "client_id=" + "(" * 1000 + ")" * 1000,
    "client_id=" + "(" * 120 + "a" + ")*" * 120,
    "client_id=(?i)" + "[\\0-\\uffff]" * 20,
    "client_id=(?u)(?L)x",
    "client_id=[[x",
    "client_id=" + "a" * 256,
    "nobody=x",
    "=",
)
LONG = ("m" * 32_767, "m" * 32_768, "m," * 16_383)
VALUES = ("1000", "99", "9" * 40, " 100", "metric.a,metric.b", "x", ",", *LONG, *PATTERNS)
KEYS = ("interval.ms", "interval.ms", "metrics", "metrics", "match", "match", "", "unknown")
LONG_KEYS = ("k" * 255, "k" * 256, "k" * 40_000)

Draw = Callable[[Random], Any]


def one_of(*values: Any) -> Draw:
    return lambda rng: rng.choice(values)


NODES = one_of(1, 1, 1, 2, 7, -1)
EPOCHS = one_of(0, 1, 1, 1, 2, 3, 5)
OFFSETS = one_of(0, 1, 2, 4, 5, 1000)
# By the name that kio gives the field, alone or with its class; of an array how many it has, and
# under `name[]` of what.
LIKELY: dict[str, Draw] = {
    "cluster_id": one_of(CLUSTER, CLUSTER, CLUSTER, None, "another"),
    "topic": one_of(METADATA_TOPIC),
    "topic_name": one_of(METADATA_TOPIC),
    "topic_id": one_of(UUID(int=1)),
    "partition": one_of(0),
    "partition_index": one_of(0),
    "resource_type": one_of(16, 16, 16, 16, 2, 4),
    "resource_name": one_of(*RESOURCES, ""),
    "configuration_keys": one_of(None),
    "config_operation": one_of(0, 0, 0, 1, 2, 2, 3),
    "value": one_of(*VALUES, None),
    "validate_only": one_of(False, False, False, True),
    "endpoint_type": one_of(1, 2),
    "replica_id": NODES,
    "voter_id": NODES,
    "leader_id": NODES,
    "candidate_id": NODES,
    "leader_epoch": EPOCHS,
    "replica_epoch": EPOCHS,
    "current_leader_epoch": EPOCHS,
    "last_fetched_epoch": EPOCHS,
    "last_offset_epoch": EPOCHS,
    "last_epoch": EPOCHS,
    "fetch_offset": OFFSETS,
    "last_offset": OFFSETS,
    "log_end_offset": OFFSETS,
    "max_wait": one_of(0, 0, 1, 500),
    "max_bytes": one_of(1 << 20, 1),
    "partition_max_bytes": one_of(1 << 20, 1),
    "high_watermark": one_of(-1, 0, 4, 2**63 - 1),
    "replica_directory_id": one_of(DIRECTORY, UUID(int=502), UUID(int=0)),
    "voter_directory_id": one_of(DIRECTORY, DIRECTORY, UUID(int=0)),
    "candidate_directory_id": one_of(DIRECTORY, UUID(int=502)),
    "name": one_of(*KEYS * 3, *LONG_KEYS),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A request, without its size."""

    api: Api
    version: int
    correlation_id: int
    frame: bytes

    @property
    def name(self) -> str:
        return f"{self.api.name} {self.version}"


def draw_request(
    rng: Random,
    correlation_id: int,
    likely: Mapping[str, Draw] = LIKELY,
    apis: Sequence[Api] = (),
    extremes: Sequence[float] = EXTREMES,
    clients: Sequence[str | None] = CLIENTS,
) -> Drawn:
    """One of `apis`; of all, if none is named, and half of them alter configs then: what is
    written outlives its request. `likely` are values of fields by name, which a share of fields,
    one of `extremes`, does not get; `clients` are who asks."""
    altering = not apis and rng.random() < 0.5
    api = BY_KEY[ClientApi.INCREMENTAL_ALTER_CONFIGS] if altering else rng.choice(apis or APIS)
    version = rng.randint(api.min_version, api.max_version)
    request_class = kio_class(api.package, api.name, version, "request")
    flexible = request_class.__flexible__
    client = rng.choice(clients)
    header = RequestHeader(
        api_key=api.key, api_version=version, correlation_id=correlation_id, client_id=client
    )
    out = bytearray(request_header(header, flexible=flexible))
    _Writer(rng, flexible, likely, extremes).struct(out, request_class)
    return Drawn(api=api, version=version, correlation_id=correlation_id, frame=bytes(out))


def draw_answer(rng: Random, header: RequestHeader, likely: dict[str, Draw]) -> bytes:
    """An answer to the request with this header, as a voter could send it that is out of its mind.

    `likely` are values for fields that depend on what was asked.
    """
    api = BY_KEY[header.api_key]
    response_class = kio_class(api.package, api.name, header.api_version, "response")
    flexible = response_class.__flexible__
    out = bytearray(response_header(header.correlation_id, tagged=flexible))
    _Writer(rng, flexible, LIKELY | likely).struct(out, response_class)
    return bytes(out)


class _Writer:
    """Of one message, in which one array at most is very long."""

    def __init__(
        self,
        rng: Random,
        flexible: bool,
        likely: Mapping[str, Draw],
        extremes: Sequence[float] = EXTREMES,
    ) -> None:
        self._rng = rng
        self._flexible = flexible
        self._likely = likely
        self._class = ""  # of the struct that is being written
        self._extreme = rng.choice(extremes)
        self._may_be_long = rng.random() < 0.01 and any(extremes)

    def struct(self, out: bytearray, message_class: Any) -> None:
        around, self._class = self._class, message_class.__name__
        described = list(marked_fields(message_class))
        for field in described:
            if field.tag is None:
                self._field(out, field)
        if self._flexible:
            self._tags(out, [field for field in described if field.tag is not None])
        self._class = around

    def _field(self, out: bytearray, field: MarkedField) -> None:
        if field.array:
            self._array(out, field)
        elif field.struct is not None:
            if field.nullable:
                is_there = self._rng.random() < 0.5
                out += b"\x01" if is_there else b"\xff"
                if not is_there:
                    return
            self.struct(out, field.struct)
        elif field.kafka_type in FIXED:
            out += self._fixed(field)
        else:
            self._text(out, field)

    def _tags(self, out: bytearray, tagged: list[MarkedField]) -> None:
        """Some of those that are known, and now and then one that nobody knows (KIP-482)."""
        rng = self._rng
        sections = []
        for field in sorted(tagged, key=lambda each: each.tag or 0):
            if rng.random() < (0.05 if field.name in RARE else 0.8):
                content = bytearray()
                self._field(content, field)
                sections.append((field.tag or 0, bytes(content)))
        if rng.random() < self._extreme:
            sections.append((rng.choice((99, 2**31 - 1)), bytes(rng.choice((0, 1, 200)))))
        write_unsigned(out, len(sections))
        for tag, section in sections:
            write_unsigned(out, tag)
            write_unsigned(out, len(section))
            out += section

    def _array(self, out: bytearray, field: MarkedField) -> None:
        rng = self._rng
        count = self._draw(field.name, one_of(1))
        if rng.random() < self._extreme:
            count = rng.choice((*COUNTS, None)) if field.nullable else rng.choice(COUNTS)
        if count is not None and self._may_be_long and rng.random() < 0.5:
            self._may_be_long = False
            element = bytearray()
            self._element(element, field)
            count = rng.choice(TOO_MANY) if len(element) < 200 else 2
            self._length(out, count, ">i")
            out += element * count
            return
        self._length(out, -1 if count is None else count, ">i")
        for _ in range(count or 0):
            self._element(out, field)

    def _element(self, out: bytearray, field: MarkedField) -> None:
        if field.struct is not None:
            self.struct(out, field.struct)
        elif field.kafka_type in FIXED:
            out += self._fixed(field)
        else:
            self._text(out, field)

    def _fixed(self, field: MarkedField) -> bytes:
        layout = struct.Struct(">" + FIXED[field.kafka_type])
        rng = self._rng
        if field.kafka_type == "uuid":
            extremes = (bytes(16), b"\xff" * 16, rng.randbytes(16))
            likely = self._value(field, one_of(UUID(int=1))).bytes
            return rng.choice(extremes) if rng.random() < self._extreme else likely
        if field.kafka_type == "bool":
            return layout.pack(self._value(field, one_of(False, True)))
        signed = FIXED[field.kafka_type].islower()
        top = 2 ** (8 * layout.size - signed)
        low = -top if signed else 0
        value = self._value(field, one_of(0, 1))
        if rng.random() < self._extreme:
            value = rng.choice((low, low + 1, -1, 2, top // 2, top - 2**16, top - 2, top - 1))
        return layout.pack(max(low, min(value, top - 1)))

    def _text(self, out: bytearray, field: MarkedField) -> None:
        rng = self._rng
        value = self._value(field, one_of("x"))
        if rng.random() < self._extreme:
            lengths = (*LENGTHS, *LONG_LENGTHS) if self._flexible else LENGTHS
            value = rng.choice((*VALUES, rng.choice(LETTERS) * rng.choice(lengths)))
        is_binary = field.kafka_type in _BINARY
        if is_binary and isinstance(value, str):
            value = value.encode()
        nullable = field.nullable and not field.array
        if value is None or (nullable and rng.random() < self._extreme / 4):
            if nullable:
                self._length(out, -1, ">i" if is_binary else ">h")
                return
            value = b"" if is_binary else ""
        if isinstance(value, bytes):
            self._length(out, len(value), ">i")
            out += value
            return
        content = value.encode()[: None if self._flexible else 2**15 - 1]
        self._length(out, len(content), ">h")
        out += content

    def _value(self, field: MarkedField, otherwise: Draw) -> Any:
        return self._draw(f"{field.name}[]" if field.array else field.name, otherwise)

    def _draw(self, name: str, otherwise: Draw) -> Any:
        found = self._likely.get(f"{self._class}.{name}") or self._likely.get(name, otherwise)
        return found(self._rng)

    def _length(self, out: bytearray, length: int, old: str) -> None:
        if self._flexible:
            write_unsigned(out, length + 1)
        else:
            out += struct.pack(old, length)


# --- answers ---


def read_answer(drawn: Drawn, frame: bytes) -> Any:
    """The answer by kio's own reader, and by the clients' where they speak that version.

    Raises whatever they raise on an answer that is none.
    """
    api, version = drawn.api, drawn.version
    response_class = kio_class(api.package, api.name, version, "response")
    tagged = response_class.__flexible__ and api.name != "ApiVersions"
    correlation_id, at = read_response_header(frame, tagged=tagged)
    assert correlation_id == drawn.correlation_id, f"{correlation_id} answers {drawn}"
    answer, size = entity_reader(response_class)(frame, at)
    assert at + size == len(frame), f"{len(frame) - at - size} bytes too many in {drawn.name}"
    match ClientApi(api.key) if api.key in set(ClientApi) else None:
        case ClientApi.DESCRIBE_QUORUM if version == ClientApi.DESCRIBE_QUORUM.version:
            describe_quorum.read_quorum_response(frame[at:])
        case ClientApi.DESCRIBE_CONFIGS if version == ClientApi.DESCRIBE_CONFIGS.version:
            names = {result.resource_name for result in answer.results}
            kinds = {result.resource_type for result in answer.results}
            if len(names) == len(answer.results) and kinds <= {16}:
                client_metrics.read_described(frame[at:], sorted(names))
        case ClientApi.INCREMENTAL_ALTER_CONFIGS if version == 1:
            names = {result.resource_name for result in answer.responses}
            if len(names) == len(answer.responses):
                client_metrics.read_altered(frame[at:], sorted(names))
        case _:
            pass
    return answer
