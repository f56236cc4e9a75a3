"""How far a log start may have moved, by what clients and operators asked for.

A replica's own log start offset is no excuse for missing records below it. Requests are: records
that clients deleted (DeleteRecords), and those that retention drops by the settings of the brokers
or of the topic, as far as it does: a record goes once it is too old, and by size only while enough
is left. Without a setting, Kafka's default of 7 days holds. If compaction was asked for, no record
is sure to remain. If requests were not recorded, or some are missing, it is unknown what was asked
for: any log start will do. Our brokers do not compact the logs of groups (`__consumer_offsets`),
but drop their oldest segments instead.
"""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.partition_logs import columns, split
from checkers.evidence.promised import INTERNAL, topic_of

ANYWHERE = int(np.iinfo(np.int64).max)  # any log start will do
DELETE_RECORDS, PUT = "delete-records", "put"
_MILLISECOND = 1_000_000
# In Kafka the first of these that is set holds, and -1 is no limit.
_UNITS_NS = {
    "retention.ms": _MILLISECOND,
    "log.retention.ms": _MILLISECOND,
    "log.retention.minutes": 60_000 * _MILLISECOND,
    "log.retention.hours": 3_600_000 * _MILLISECOND,
}
_USUAL_NS = 168 * _UNITS_NS["log.retention.hours"]
_OWN = "node"  # the name of our own targets
_USUAL_LOOK_NS = 600_000 * _MILLISECOND  # offsets.retention.check.interval.ms
_SIZES = ("retention.bytes", "log.retention.bytes")


class AskedStarts:
    """For all partitions of a run. By `evidence.once(AskedStarts)`."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        ops = evidence.tables["ops"]
        may_be_done = pc.not_equal(ops["outcome"], "fail")
        self._deletions = split(_of(ops, DELETE_RECORDS, may_be_done), "key")
        self._puts = split(_of(ops, PUT, may_be_done), "key")
        self._at_the_end: dict[str, int] = {}

    # Most runs end long before a record is too old, and keep logs of any size.

    @cached_property
    def _sent(self) -> Mapping[tuple[int | str, ...], pa.Table]:
        return split(self._evidence.acknowledged, "key")

    @cached_property
    def _batches(self) -> Mapping[tuple[int | str, ...], pa.Table]:
        return split(self._evidence.tables["replica_batches"], "key")

    def at_the_end(self, key: str) -> int:
        """The highest log start offset that a partition may have after the run; `ANYWHERE` if any
        will do."""
        if key not in self._at_the_end:
            self._at_the_end[key] = self.by(key, None)
        return self._at_the_end[key]

    def by(self, key: str, now_ns: int | None) -> int:
        """The same at a time of the run; None: after it."""
        if not self._is_known:
            return ANYWHERE
        topic, promised = topic_of(key), self._evidence.promised
        if topic.startswith(INTERNAL):  # other targets prune by their own rules
            return self._without_compaction(now_ns) if promised.is_compacted(topic) else ANYWHERE
        if promised.is_compacted(topic):
            return ANYWHERE
        told = promised.told(topic)
        by_time, by_size = self._by_time(key, told, now_ns), self._by_size(key, told)
        return max(self._deleted(key, now_ns), by_time, by_size)

    def _without_compaction(self, now_ns: int | None) -> int:
        """For topics that Kafka compacts, where compaction moves no log start. Our brokers drop
        whole segments in which nothing is needed any more; they look for them at this interval, and
        no sooner."""
        info = self._evidence.info
        if not info.target.startswith(_OWN):
            return 0
        told = info.settings.get("offsets.retention.check.interval.ms")
        looks_ns = _USUAL_LOOK_NS if told is None else int(told) * _MILLISECOND
        lasted_ns = info.duration_ns if now_ns is None else now_ns
        is_known = info.finished and not self._has_wrong_clocks
        return 0 if is_known and lasted_ns < looks_ns else ANYWHERE

    @cached_property
    def _is_known(self) -> bool:
        missing = {each.kind for each in self._evidence.missing}
        return self._evidence.gives(Kind.OPERATIONS) and Kind.OPERATIONS not in missing

    def _deleted(self, key: str, now_ns: int | None) -> int:
        found = self._deletions.get((key,))
        if found is None:
            return 0
        t0, value = columns(found, "t0", "value")
        until = ANYWHERE if now_ns is None else now_ns
        return int(value[t0 <= until].max(initial=0))

    def _by_time(self, key: str, told: Mapping[str, str], now_ns: int | None) -> int:
        """The offset of the first record that is not too old."""
        said_ns = [int(told[name]) * unit for name, unit in _UNITS_NS.items() if name in told]
        kept_ns, info = said_ns[0] if said_ns else _USUAL_NS, self._evidence.info
        if kept_ns < 0:
            return 0
        if said_ns and (not info.finished or self._has_wrong_clocks):
            return ANYWHERE  # by which clock a node took the age of its records is unknown
        since = (info.duration_ns if now_ns is None else now_ns) - kept_ns
        if since < 0:
            return 0
        found = ANYWHERE
        if (sent := self._sent.get((key,))) is not None:
            t0 = self._evidence.tables["ops"]["t0"].to_numpy()[sent["op_id"].to_numpy()]
            found = int(columns(sent, "offset")[0][t0 > since].min(initial=found))
        if (puts := self._puts.get((key,))) is not None:  # their offsets are unknown
            found = min(found, int((columns(puts, "t0")[0] <= since).sum()))
        return found

    @property
    def _has_wrong_clocks(self) -> bool:
        faults = self._evidence.faults
        return any(fault.shifts_clock and fault.may_have_bitten for fault in faults)

    def _by_size(self, key: str, told: Mapping[str, str]) -> int:
        """The base offset of the last batch from which on some replica has as much as must be
        kept."""
        kept = int(next((told[name] for name in _SIZES if name in told), "-1"))
        if kept <= 0:
            return ANYWHERE if kept == 0 else 0
        batches, found = self._batches.get((key,)), 0
        for replica in split(batches, "node").values() if batches is not None else ():
            base, size = columns(replica, "base_offset", "size")
            order = np.argsort(base, kind="stable")
            left = np.cumsum(size[order][::-1])[::-1]
            found = max(found, int(base[order][left >= kept].max(initial=0)))
        return found


def _of(ops: pa.Table, f: str, may_be_done: pa.ChunkedArray) -> pa.Table:
    return ops.filter(pc.and_(pc.equal(ops["f"], f), may_be_done))
