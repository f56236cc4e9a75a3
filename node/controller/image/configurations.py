"""Configurations by resource."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from sys import intern

from node.controller.image.digest import Counter, EntryChange
from node.records.metadata import ConfigRecord, PlainEntry

# The broker-level name of a topic's configuration key (`ServerTopicConfigSynonyms`).


_WITH_LOG = (
    "cleanup.policy",
    "index.interval.bytes",
    "local.retention.bytes",
    "local.retention.ms",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "preallocate",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
)
_WITH_CLEANER = ("delete.retention.ms", "max.compaction.lag.ms", "min.compaction.lag.ms")
_SYNONYMS = {
    **{key: f"log.{key}" for key in _WITH_LOG},
    **{key: f"log.cleaner.{key}" for key in _WITH_CLEANER},
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "max.message.bytes": "message.max.bytes",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
}


def broker_key(key: str) -> str:
    """The first synonym that Kafka looks for; the key itself if it has none."""
    return _SYNONYMS.get(key, key)


TOPIC, BROKER = 2, 4  # resource types; the broker named "" stands for all
CLUSTER = (BROKER, "")
Resource = tuple[int, str]  # type, name

_UNSET: dict[str, str] = {}  # a resource without configuration
_NONE: dict[str, dict[str, str]] = {}  # a type without resources


class Configs:
    def __init__(self, digest: Counter) -> None:
        self._digest = digest
        self._count: Callable[[int, str, str, str | None, str | None], None] = digest.count
        # By type and name. The innermost dicts are replaced, never changed: resources, and copies
        # of the image, share them.
        self._entries: defaultdict[int, dict[str, dict[str, str]]] = defaultdict(dict)

    def copy(self, digest: Counter) -> "Configs":
        copy = Configs(digest)
        for kind, resources in self._entries.items():
            copy._entries[kind] = dict(resources)
        return copy

    def records(self) -> Iterator[ConfigRecord]:
        for kind, resources in self._entries.items():
            for resource, entries in resources.items():
                for name, value in entries.items():
                    yield ConfigRecord(
                        resource_type=kind, resource_name=resource, name=name, value=value
                    )

    def of(self, resource: Resource) -> dict[str, str]:
        """The configuration by key; empty if there is none. The caller must not change it."""
        kind, name = resource
        return self._entries.get(kind, _NONE).get(name, _UNSET)

    def resources(self, kind: int) -> list[str]:
        """The names of this type's resources that have a configuration."""
        return list(self._entries.get(kind, _NONE))

    def replay(self, record: ConfigRecord) -> None:
        kind, of, value = record.resource_type, record.resource_name, record.value
        name = intern(record.name)  # thousands of resources share a few
        resources = self._entries[kind]
        before = resources.get(of, _UNSET)
        self._count(kind, of, name, before.get(name), value)
        if value is not None:
            resources[of] = {**before, name: value} if before else {name: value}
        elif before.keys() <= {name}:
            resources.pop(of, None)
        else:
            resources[of] = {key: before[key] for key in before if key != name}

    def remove(self, resource: Resource) -> None:
        """The resource was deleted."""
        kind, of = resource
        for name, value in self._entries[kind].pop(of, _UNSET).items():
            self._count(kind, of, name, value, None)

    # --- loading a snapshot ---

    def begin_loading(self) -> None:
        """Entries set from now on are added to the digest when all are loaded."""
        self._count = _not_yet

    def load(self, entries: Iterable[PlainEntry]) -> int:
        """Set these entries; returns how many. The same as replaying a record for each, in a third
        of the time. Resources with equal configurations share one dict: most have a few values in
        common."""
        by_type, loaded = self._entries, 0
        alike: dict[tuple[str, str], dict[str, str]] = {}
        for kind, of, key, value in entries:
            resources = by_type[kind]
            before = resources.get(of)
            if before:
                resources[of] = {**before, intern(key): value}
            else:
                own = alike.get((key, value))
                if own is None:
                    own = alike[key, value] = {intern(key): value}
                resources[of] = own
            loaded += 1
        return loaded

    def end_loading(self) -> Iterator[EntryChange]:
        """The entries loaded, unaffected by later changes."""
        self._count = self._digest.count
        loaded = {kind: dict(resources) for kind, resources in self._entries.items()}
        return (
            (kind, of, name, None, value)
            for kind, resources in loaded.items()
            for of, entries in resources.items()
            for name, value in entries.items()
        )


def _not_yet(_kind: int, _of: str, _name: str, _before: str | None, _after: str | None) -> None:
    """Does not count."""
