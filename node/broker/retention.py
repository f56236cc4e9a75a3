"""Old segments go: by age, and where a log has grown too large (`UnifiedLog.deleteOldSegments`).

Only what is committed, and only where `cleanup.policy` says so. Each replica goes by its own log,
and a follower by its leader's start as well.
"""

from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from node.broker.held_replicas import Held, HeldReplicas, Key
from node.broker.replica_logs import KeptSegment
from node.config import BrokerRole
from node.controller.image import Image
from node.ids import MS, Now, Offset

_POLICY = "cleanup.policy"
_NO_LIMIT = -1
# Logs in one step: to look at one takes some five microseconds, and to cut one some flushes.
LOOKED_AT_AT_ONCE, CUT_AT_ONCE = 1_000, 10


def may_delete(image: Image, topic: str) -> bool:
    """May records of the topic be deleted, by age or by request? Not of one that is compacted."""
    policy = image.topic_config(topic, _POLICY)
    return policy is None or "delete" in map(str.strip, policy.split(","))


def first_kept(
    segments: Sequence[KeptSegment],
    *,
    end: Offset,
    high_watermark: Offset,
    wall_ms: int,
    retention_ms: int,
    retention_bytes: int,
) -> Offset:
    """Where the log begins that is left; where it does already if all is kept. The last segment can
    go only by age; a limit of -1 is none."""
    excess = sum(segment.size for segment in segments) - retention_bytes
    ends = [*(newer.base for _, newer in pairwise(segments)), end]
    first = segments[0].base
    for segment, segment_end in zip(segments, ends, strict=True):
        is_old = retention_ms != _NO_LIMIT and 0 <= segment.newest_ms < wall_ms - retention_ms
        is_last = segment is segments[-1]
        is_excess = retention_bytes != _NO_LIMIT and excess >= segment.size and not is_last
        if segment_end > high_watermark or not (is_old or is_excess):
            break
        excess -= segment.size
        first = segment_end
    return first


class Retention:
    """Looks each log.retention.check.interval.ms, at some logs a step."""

    def __init__(self, replicas: HeldReplicas, role: BrokerRole) -> None:
        self._replicas = replicas
        self._role = role
        self._due_ns: int | None = None
        self._left: deque[Key] = deque()  # that are to be looked at

    def poll(self, image: Image, now: Now) -> None:
        if self._due_ns is None:
            self._due_ns = now.mono_ns + self._role.retention_delay_ms * MS
        if now.mono_ns >= self._due_ns and not self._left:
            self._due_ns = now.mono_ns + self._role.retention_check_ms * MS
            self._left.extend(held.key for held in self._replicas.all())
        cut = 0
        for _ in range(min(len(self._left), LOOKED_AT_AT_ONCE)):
            held = self._replicas.by_key(self._left.popleft())
            if held is not None and may_delete(image, held.name):
                cut += self._look(held, now.wall_ns // MS)
            if cut == CUT_AT_ONCE:
                return

    def deadline_ns(self) -> int:
        return 0 if self._due_ns is None or self._left else self._due_ns

    def _look(self, held: Held, wall_ms: int) -> bool:
        """Does the log begin later now?"""
        segments = self._replicas.segments(held)
        if not segments:
            return False
        replica, settings = held.replica, held.settings
        first = first_kept(
            segments,
            end=replica.end,
            high_watermark=replica.high_watermark,
            wall_ms=wall_ms,
            retention_ms=settings.retention_ms,
            retention_bytes=settings.retention_bytes,
        )
        is_news = first > replica.start
        if is_news:
            self._replicas.begin_at(held, first)
        return is_news
