"""Logs of replicas that are to be made, and when they begin new segments, where a test minds only
their size, or neither."""

from uuid import UUID

from node.effects import NewLog, SegmentLimits
from node.ids import LogId

_ANY = UUID(int=0)


def by_size(size: int = 1 << 30, index_interval: int = 4096) -> SegmentLimits:
    return SegmentLimits(size=size, ms=1 << 62, index_interval=index_interval)


def new_log(
    log: LogId,
    topic: UUID,
    directory: UUID = _ANY,
    limits: SegmentLimits | None = None,
) -> NewLog:
    return NewLog(log=log, topic=topic, directory=directory, limits=limits or by_size())
