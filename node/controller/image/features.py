"""The levels of features that are finalized."""

from collections.abc import Iterator

from node.controller.image.digest import Counter
from node.records.metadata import FeatureLevelRecord
from node.records.metadata_versions import METADATA_VERSION

_KIND = -1  # where a resource has its type


class Features:
    def __init__(self, digest: Counter) -> None:
        self._digest = digest
        self._levels: dict[str, int] = {}

    def copy(self, digest: Counter) -> "Features":
        copy = Features(digest)
        copy._levels = dict(self._levels)
        return copy

    def records(self) -> Iterator[FeatureLevelRecord]:
        """metadata.version first: what follows is read by it."""
        for name, level in sorted(self._levels.items(), key=lambda row: row[0] != METADATA_VERSION):
            yield FeatureLevelRecord(name=name, feature_level=level)

    def level(self, name: str) -> int:
        """0 when the feature was never finalized."""
        return self._levels.get(name, 0)

    def levels(self) -> dict[str, int]:
        """Of all that were finalized."""
        return dict(self._levels)

    def replay(self, record: FeatureLevelRecord) -> None:
        """Level 0 removes it."""
        name, level = record.name, record.feature_level
        before = self._levels.pop(name, None)
        if level:
            self._levels[name] = level
        self._digest.count(_KIND, "", name, _text(before), _text(level or None))


def _text(level: int | None) -> str | None:
    return None if level is None else str(level)
