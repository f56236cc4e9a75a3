"""What options of `kraft-node` mean. Each raises ArgumentTypeError."""

from argparse import ArgumentTypeError
from uuid import UUID

from node.endpoint import Endpoint
from node.ids import NodeId, ReplicaKey, parse_uuid
from node.server.property_values import ConfigError, parse_endpoint


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdigit() and int(port) < 1 << 16):
        raise ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def directory_id(text: str) -> UUID:
    try:
        return parse_uuid(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def endpoint(text: str) -> Endpoint:
    try:
        return parse_endpoint(text, "--endpoint")
    except ConfigError as error:
        raise ArgumentTypeError(str(error)) from error


def addresses(text: str) -> list[tuple[str, int]]:
    return [_address(entry.strip()) for entry in text.split(",")]


def controllers(text: str) -> list[tuple[ReplicaKey, str, int]]:
    """Kafka's syntax: id@host:port:directory-id, separated by commas."""
    return [_controller(entry.strip()) for entry in text.split(",")]


def _controller(entry: str) -> tuple[ReplicaKey, str, int]:
    node, at, rest = entry.partition("@")
    address, colon, directory = rest.rpartition(":")
    if not (at and colon and node.isdigit()):
        raise ArgumentTypeError(f"{entry!r} is not ID@HOST:PORT:DIRECTORY_ID")
    try:
        key = ReplicaKey(NodeId(int(node)), parse_uuid(directory))
    except ValueError as error:
        raise ArgumentTypeError(f"{entry!r}: {error}") from error
    return key, *_address(address)
