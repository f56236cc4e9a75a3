"""The controller's state. It changes by `replay` alone, on every node alike."""

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
Resource = tuple[int, str]  # type, name


class Image:
    def __init__(self) -> None:
        self._configs: dict[Resource, dict[str, str]] = {}
        self._features: dict[str, int] = {}
        self.controllers: dict[int, RegisterControllerRecord] = {}  # the newest, by node id

    def copy(self) -> "Image":
        image = Image()
        image._configs = {resource: dict(entries) for resource, entries in self._configs.items()}
        image._features = dict(self._features)
        image.controllers = dict(self.controllers)
        return image

    def config(self, resource: Resource) -> dict[str, str]:
        """What was set, by key; empty when nothing was. Not to be changed by the caller."""
        return self._configs.get(resource, {})

    def feature_level(self, name: str) -> int:
        """0 when the feature was never finalized."""
        return self._features.get(name, 0)

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
            case FeatureLevelRecord(name=name, feature_level=level):
                self._features[name] = level
            case BeginTransactionRecord() | EndTransactionRecord() | AbortTransactionRecord():
                # Ours lie within one batch, which is atomic by itself: none is ever left open.
                pass
            case RegisterControllerRecord(controller_id=node):
                self.controllers[node] = record
            case NoOpRecord() | UnknownRecord():
                pass
            case _:
                assert_never(record)

    def _replay_config(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        entries = self._configs.setdefault(resource, {})
        if record.value is None:
            entries.pop(record.name, None)
        else:
            entries[record.name] = record.value
        if not entries:
            del self._configs[resource]
