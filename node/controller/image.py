"""The controller's state. It changes by `replay` alone, on every node alike."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import assert_never

from node.endpoint import Endpoint
from node.ids import NodeId
from node.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    MetadataRecord,
    NoOpRecord,
    RegisterControllerRecord,
    UnknownRecord,
)

METADATA_VERSION = "metadata.version"
_FEATURE, _CONTROLLER = -1, -2  # where a resource has its type
_DIGESTS = 1 << 62
Resource = tuple[int, str]  # type, name


class Image:
    """`digest` is a sum over all entries: the same for equal images, however they came about."""

    def __init__(self) -> None:
        self.digest = 0
        # The inner ones are replaced, never changed: copies of the image share them.
        self._configs: dict[Resource, dict[str, str]] = {}
        self._features: dict[str, int] = {}
        self.controllers: dict[int, RegisterControllerRecord] = {}  # the newest, by node id

    def copy(self) -> "Image":
        image = Image()
        image.digest = self.digest
        image._configs = dict(self._configs)
        image._features = dict(self._features)
        image.controllers = dict(self.controllers)
        return image

    def records(self) -> Iterator[MetadataRecord]:
        """Replayed by an empty image, they make this one."""
        for name, level in self._features.items():
            yield FeatureLevelRecord(name=name, feature_level=level)
        for (kind, resource), entries in self._configs.items():
            for name, value in entries.items():
                yield ConfigRecord(
                    resource_type=kind, resource_name=resource, name=name, value=value
                )
        yield from self.controllers.values()

    def config(self, resource: Resource) -> dict[str, str]:
        """What was set, by key; empty when nothing was. Not to be changed by the caller."""
        return self._configs.get(resource, {})

    def feature_level(self, name: str) -> int:
        """0 when the feature was never finalized."""
        return self._features.get(name, 0)

    def feature_levels(self) -> dict[str, int]:
        """Of all that were finalized."""
        return dict(self._features)

    def controller_endpoints(self) -> dict[NodeId, tuple[Endpoint, ...]]:
        """Where those that registered said that they are."""
        return {
            NodeId(node): tuple(
                Endpoint(name=at.name, host=at.host, port=at.port) for at in record.end_points
            )
            for node, record in self.controllers.items()
        }

    def replay(self, record: MetadataRecord | UnknownRecord) -> None:
        """What is not known is left out: nobody decides from such an image
        (`node.raft.unreplayable`)."""
        match record:
            case ConfigRecord():
                self._replay_config(record)
            case FeatureLevelRecord():
                self._replay_feature(record)
            case BeginTransactionRecord() | EndTransactionRecord() | AbortTransactionRecord():
                # Ours lie within one batch, which is atomic by itself: none is ever left open.
                pass
            case RegisterControllerRecord(controller_id=node):
                before = repr(self.controllers[node]) if node in self.controllers else None
                self._count(_CONTROLLER, "", str(node), before, repr(record))
                self.controllers[node] = record
            case NoOpRecord() | UnknownRecord():
                pass
            case _:
                assert_never(record)

    def _replay_config(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        entries = dict(self._configs.get(resource, {}))
        self._count(*resource, record.name, entries.pop(record.name, None), record.value)
        if record.value is not None:
            entries[record.name] = record.value
        if entries:
            self._configs[resource] = entries
        else:
            self._configs.pop(resource, None)

    def _replay_feature(self, record: FeatureLevelRecord) -> None:
        """Level 0 removes it."""
        name, level = record.name, record.feature_level
        before = self._features.pop(name, None)
        if level:
            self._features[name] = level
        self._count(_FEATURE, "", name, _text(before), _text(level or None))

    def _count(self, kind: int, of: str, name: str, before: str | None, after: str | None) -> None:
        if before is not None:
            self.digest = (self.digest - _digest(kind, of, name, before)) % _DIGESTS
        if after is not None:
            self.digest = (self.digest + _digest(kind, of, name, after)) % _DIGESTS


def _text(level: int | None) -> str | None:
    return None if level is None else str(level)


def _digest(kind: int, of: str, name: str, value: str) -> int:
    """Of one entry."""
    entry = f"{kind}\0{len(of)}\0{of}{len(name)}\0{name}{value}".encode()
    return int.from_bytes(blake2b(entry, digest_size=8).digest(), "big")
