"""The image that metadata records make when they are replayed: one entry per thing that they name;
the images of snapshots.

Two images are equal if they have the same entries, in whatever order their records came: those of a
log one after the other, or those of a snapshot. A record counts only as far as `checkers.disk`
reads it. Left out are quotas, access control, delegation tokens, the registrations of controllers,
and the directories of replicas.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import pyarrow as pa

from checkers.evidence.image import (
    TOPIC,
    Detail,
    Partition,
    changed,
    node_of,
    partition_of,
    without_elr,
)

RecordFields = Mapping[str, Any]  # of LOG_RECORDS or SNAPSHOT_RECORDS
ImageEntry = tuple[object, ...]  # its kind, and its name

_VOTERS: ImageEntry = ("voters",)
_OF_BROKERS = ("incarnationId", "brokerEpoch", "endPoints", "features", "rack", "logDirs")
_ENDS = {"EndTransaction": True, "AbortTransaction": False}


class ReplayedImage:
    """`entries` are read-only. Voters are an entry once a record named all of them.

    Unless it `is_whole`, the records begin in the middle of a log, and only what they say
    themselves is known.
    """

    def __init__(self, *, is_whole: bool = True) -> None:
        self.entries: dict[ImageEntry, object] = {}
        self._is_whole = is_whole
        self._told: set[ImageEntry] = set()  # entries that exist, or are known to be removed
        self._begun: list[RecordFields] | None = (
            None  # of a transaction that has not ended (KIP-868)
        )

    def differs_from(self, other: "ReplayedImage") -> list[ImageEntry]:
        """The entries in which a complete image differs; voters only if both have them: the first
        voters of a log may be known only by the formatting of its disk."""
        named = self.entries.keys() | other.entries.keys() if self._is_whole else set(self._told)
        if not (_VOTERS in self.entries and _VOTERS in other.entries):
            named.discard(_VOTERS)
        return sorted((e for e in named if self.entries.get(e) != other.entries.get(e)), key=str)

    def replay(self, row: RecordFields) -> None:
        kind = row["type"]
        if kind == "BeginTransaction":
            self._begun = []
        elif kind in _ENDS:
            self._end(is_done=_ENDS[kind])
        elif self._begun is not None and kind not in _CONTROL:
            self._begun.append(row)
        else:
            self._apply(row)

    def _end(self, *, is_done: bool) -> None:
        begun, self._begun = self._begun, None
        if is_done:
            for row in begun or ():
                self._apply(row)
        # the transaction began before what was replayed, all of which it may undo
        elif begun is None:
            self.entries.clear()
            self._told.clear()

    def _apply(self, row: RecordFields) -> None:
        apply = _APPLY.get(row["type"])
        if apply is not None:
            apply(self, row, json.loads(row["detail"]) if row["detail"] else {})

    def _set(self, entry: ImageEntry, value: object) -> None:
        """None: the thing no longer exists."""
        self._told.add(entry)
        if value is None:
            self.entries.pop(entry, None)
        else:
            self.entries[entry] = value

    # --- one method a kind of record ---

    def _config(self, row: RecordFields, _: Detail) -> None:
        self._set(("config", row["resource_type"], row["resource"], row["name"]), row["value"])

    def _feature(self, row: RecordFields, _: Detail) -> None:
        self._set(("feature", row["name"]), None if row["value"] == "0" else row["value"])

    def _producer_ids(self, _: RecordFields, detail: Detail) -> None:
        self._set(("producer ids",), detail["nextProducerId"])

    def _broker(self, _: RecordFields, detail: Detail) -> None:
        told = {name: _sorted(detail.get(name)) for name in _OF_BROKERS}
        fenced, stopping = detail["fenced"], detail.get("inControlledShutdown", False)
        self._set(_broker(detail), {**told, "fenced": fenced, "inControlledShutdown": stopping})

    def _broker_gone(self, _: RecordFields, detail: Detail) -> None:
        self._set(_broker(detail), None)

    def _broker_fenced(self, row: RecordFields, detail: Detail) -> None:
        self._change_broker(detail, {"fenced": row["type"] == "FenceBroker"})

    def _broker_changed(self, _: RecordFields, detail: Detail) -> None:
        told: dict[str, object] = {}
        if detail.get("fenced", 0):
            told["fenced"] = detail["fenced"] == 1
        if detail.get("inControlledShutdown", 0):
            told["inControlledShutdown"] = True
        if detail.get("logDirs"):
            told["logDirs"] = _sorted(detail["logDirs"])
        self._change_broker(detail, told)

    def _change_broker(self, detail: Detail, told: Mapping[str, object]) -> None:
        known = self.entries.get(_broker(detail))
        if isinstance(known, dict):
            self.entries[_broker(detail)] = {**known, **told}

    def _topic(self, _: RecordFields, detail: Detail) -> None:
        self._set(("topic", detail["topicId"]), detail["name"])

    def _topic_gone(self, _: RecordFields, detail: Detail) -> None:
        """Its partitions and its configuration go with it, for which no record is written."""
        topic = detail["topicId"]
        name = self.entries.get(("topic", topic))
        for entry in list(self.entries):
            is_of_it = entry[:2] in (("topic", topic), ("partition", topic))
            if is_of_it or entry[:3] == ("config", TOPIC, name):
                self._set(entry, None)
            elif name is None and entry[:2] == ("config", TOPIC):  # its owner is not known
                self._told.discard(entry)

    def _partition(self, _: RecordFields, detail: Detail) -> None:
        self._set(_partition(detail), partition_of("", detail))

    def _partition_changed(self, _: RecordFields, detail: Detail) -> None:
        known = self.entries.get(_partition(detail))
        if isinstance(known, Partition):
            self.entries[_partition(detail)] = changed(known, detail)

    def _elr_cleared(self, _: RecordFields, detail: Detail) -> None:
        for entry, known in list(self.entries.items()):
            if isinstance(known, Partition) and (known.elr or known.last_known_elr):
                topic = self.entries.get(("topic", known.topic_id))
                if detail["topicName"] in ("", topic):
                    self.entries[entry] = without_elr(known)

    def _voters(self, _: RecordFields, detail: Detail) -> None:
        self._set(_VOTERS, frozenset(map(_voter, detail["voters"])))

    def _voter_changed(self, row: RecordFields, detail: Detail) -> None:
        """The first voters, added to none, are all of them (KIP-856)."""
        known = self.entries.get(_VOTERS, frozenset() if self._is_whole else None)
        if isinstance(known, frozenset):
            one = {_voter(detail)}
            self._set(_VOTERS, known | one if row["type"] == "AddVoter" else known - one)


def _voter(detail: Detail) -> tuple[int, str]:
    return detail["voterId"], detail["voterDirectoryId"]


def _broker(detail: Detail) -> ImageEntry:
    return ("broker", node_of(detail))


def _partition(detail: Detail) -> ImageEntry:
    return ("partition", detail["topicId"], detail["partitionId"])


def _sorted(value: object) -> object:
    """Lists of these have no order; an empty one is as none."""
    return sorted(value, key=str) if isinstance(value, list) and value else value or None


_Apply = Callable[[ReplayedImage, RecordFields, Detail], None]
_CONTROL: Mapping[str, _Apply] = {
    "KRaftVoters": ReplayedImage._voters,
    "AddVoter": ReplayedImage._voter_changed,
    "RemoveVoter": ReplayedImage._voter_changed,
}
_APPLY: Mapping[str, _Apply] = {
    **_CONTROL,
    "Config": ReplayedImage._config,
    "FeatureLevel": ReplayedImage._feature,
    "ProducerIds": ReplayedImage._producer_ids,
    "RegisterBroker": ReplayedImage._broker,
    "UnregisterBroker": ReplayedImage._broker_gone,
    "FenceBroker": ReplayedImage._broker_fenced,
    "UnfenceBroker": ReplayedImage._broker_fenced,
    "BrokerRegistrationChange": ReplayedImage._broker_changed,
    "Topic": ReplayedImage._topic,
    "RemoveTopic": ReplayedImage._topic_gone,
    "Partition": ReplayedImage._partition,
    "PartitionChange": ReplayedImage._partition_changed,
    "ClearElr": ReplayedImage._elr_cleared,
}


# The complete snapshots of the metadata log on the nodes' disks after the run.


_Row = Mapping[str, Any]


@dataclass(frozen=True)
class StoredSnapshot:
    """By its name it covers all records below `end`, the last of which is of `epoch`."""

    node: int
    end: int
    epoch: int
    records: tuple[_Row, ...]

    @cached_property
    def image(self) -> ReplayedImage:
        """The image that its records make."""
        made = ReplayedImage()
        for row in self.records:
            made.replay(row)
        return made


def stored_snapshots(snapshot_records: pa.Table) -> tuple[StoredSnapshot, ...]:
    """By node and end; those with which a disk was formatted end at 0. A snapshot without its
    footer was not written to its end, or is damaged, and is left out."""
    return tuple(_whole(snapshot_records.to_pylist()))


def _whole(rows: list[_Row]) -> Iterator[StoredSnapshot]:
    by_file = groupby(rows, key=lambda row: (row["node"], row["end"], row["epoch"]))
    for (node, end, epoch), found in by_file:
        records = tuple(found)
        if records[0]["type"] == "SnapshotHeader" and records[-1]["type"] == "SnapshotFooter":
            yield StoredSnapshot(node, end, epoch, records)
