"""The registered brokers and their state (KIP-631, KIP-841), and the finalized features."""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from node.controller.image.digest import Counter
from node.records.metadata import (
    METADATA_VERSION,
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

# The levels of finalized features.


_FEATURE = -1  # in place of a resource type


class Features:
    def __init__(self, digest: Counter) -> None:
        self._digest = digest
        self._levels: dict[str, int] = {}

    def copy(self, digest: Counter) -> "Features":
        copy = Features(digest)
        copy._levels = dict(self._levels)
        return copy

    def records(self) -> Iterator[FeatureLevelRecord]:
        """metadata.version first: it decides how the rest is read."""
        for name, level in sorted(self._levels.items(), key=lambda row: row[0] != METADATA_VERSION):
            yield FeatureLevelRecord(name=name, feature_level=level)

    def level(self, name: str) -> int:
        """0 when the feature was never finalized."""
        return self._levels.get(name, 0)

    def levels(self) -> dict[str, int]:
        """The levels of all finalized features."""
        return dict(self._levels)

    def replay(self, record: FeatureLevelRecord) -> None:
        """Level 0 removes it."""
        name, level = record.name, record.feature_level
        before = self._levels.pop(name, None)
        if level:
            self._levels[name] = level
        self._digest.count(_FEATURE, "", name, _feature_text(before), _feature_text(level or None))


def _feature_text(level: int | None) -> str | None:
    return None if level is None else str(level)


_KIND = -3
_FENCE, _UNFENCE = 1, -1

Change = (
    RegisterBrokerRecord
    | UnregisterBrokerRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | BrokerRegistrationChangeRecord
)


class Brokers:
    """Each broker as its registration record, updated by later changes."""

    def __init__(self, digest: Counter) -> None:
        self._digest = digest
        self._registered: dict[int, RegisterBrokerRecord] = {}

    def copy(self, digest: Counter) -> "Brokers":
        copy = Brokers(digest)
        copy._registered = dict(self._registered)
        return copy

    def records(self) -> Iterator[RegisterBrokerRecord]:
        yield from self._registered.values()

    @property
    def is_empty(self) -> bool:
        """Is no broker registered?"""
        return not self._registered

    def find(self, broker: int) -> RegisterBrokerRecord | None:
        return self._registered.get(broker)

    def all(self) -> list[RegisterBrokerRecord]:
        """By id."""
        return [self._registered[broker] for broker in sorted(self._registered)]

    def is_active(self, broker: int) -> bool:
        """Registered, unfenced, and not in controlled shutdown: it may lead, and be in an ISR."""
        found = self._registered.get(broker)
        return found is not None and not found.fenced and not found.in_controlled_shutdown

    def replay(self, record: Change) -> None:
        match record:
            case RegisterBrokerRecord(broker_id=broker):
                self._put(broker, record)
            case UnregisterBrokerRecord(broker_id=broker, broker_epoch=epoch):
                self._at(broker, epoch)
                self._put(broker, None)
            case FenceBrokerRecord(id=broker, epoch=epoch):
                self._put(broker, replace(self._at(broker, epoch), fenced=True))
            case UnfenceBrokerRecord(id=broker, epoch=epoch):
                self._put(broker, replace(self._at(broker, epoch), fenced=False))
            case BrokerRegistrationChangeRecord(broker_id=broker, broker_epoch=epoch):
                self._put(broker, _changed(self._at(broker, epoch), record))
            case _:
                assert_never(record)

    def _at(self, broker: int, epoch: int) -> RegisterBrokerRecord:
        found = self._registered.get(broker)
        assert found is not None, f"a record of broker {broker}, which is not registered"
        assert found.broker_epoch == epoch, f"a record of broker {broker} in epoch {epoch}: {found}"
        return found

    def _put(self, broker: int, after: RegisterBrokerRecord | None) -> None:
        before = self._registered.pop(broker, None)
        if after is not None:
            self._registered[broker] = after
        self._digest.count(_KIND, "", str(broker), _text(before), _text(after))


def _changed(
    found: RegisterBrokerRecord, change: BrokerRegistrationChangeRecord
) -> RegisterBrokerRecord:
    cordoned = change.cordoned_log_dirs
    return replace(
        found,
        fenced={_FENCE: True, _UNFENCE: False}.get(change.fenced, found.fenced),
        in_controlled_shutdown=bool(change.in_controlled_shutdown) or found.in_controlled_shutdown,
        log_dirs=change.log_dirs or found.log_dirs,
        cordoned_log_dirs=found.cordoned_log_dirs if cordoned is None else cordoned,
    )


def _text(registration: RegisterBrokerRecord | None) -> str | None:
    return None if registration is None else repr(registration)
