"""What was configured, by resource."""

from collections.abc import Iterator

from node.controller.image.digest import Digest
from node.records.metadata import ConfigRecord

TOPIC, BROKER = 2, 4  # types of resources; the broker named "" is every one
CLUSTER = (BROKER, "")
Resource = tuple[int, str]  # type, name

_UNSET: dict[str, str] = {}  # of a resource, nothing is


class Configs:
    def __init__(self, digest: Digest) -> None:
        self._digest = digest
        # The inner ones are replaced, never changed: copies of the image share them.
        self._entries: dict[Resource, dict[str, str]] = {}

    def copy(self, digest: Digest) -> "Configs":
        copy = Configs(digest)
        copy._entries = dict(self._entries)
        return copy

    def records(self) -> Iterator[ConfigRecord]:
        for (kind, resource), entries in self._entries.items():
            for name, value in entries.items():
                yield ConfigRecord(
                    resource_type=kind, resource_name=resource, name=name, value=value
                )

    def of(self, resource: Resource) -> dict[str, str]:
        """What was set, by key; empty when nothing was. Not to be changed by the caller."""
        return self._entries.get(resource, {})

    def resources(self, kind: int) -> list[str]:
        """The names of those of a type for which anything is set."""
        return [name for found, name in self._entries if found == kind]

    def replay(self, record: ConfigRecord) -> None:
        kind, of = resource = record.resource_type, record.resource_name
        name, value = record.name, record.value
        before = self._entries.get(resource, _UNSET)
        self._digest.count(kind, of, name, before.get(name), value)
        if value is not None:
            self._entries[resource] = {**before, name: value}
        elif before.keys() <= {name}:
            self._entries.pop(resource, None)
        else:
            self._entries[resource] = {key: before[key] for key in before if key != name}

    def remove(self, resource: Resource) -> None:
        """There is no such resource any more."""
        for name, value in self._entries.pop(resource, {}).items():
            self._digest.count(*resource, name, value, None)
