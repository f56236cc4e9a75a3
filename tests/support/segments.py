"""When logs of replicas begin new segments, where a test minds only their size, or neither."""

from node.effects import SegmentLimits


def by_size(size: int = 1 << 30, index_interval: int = 4096) -> SegmentLimits:
    return SegmentLimits(size=size, ms=1 << 62, index_interval=index_interval)
