"""What fake coordinators answer of the offsets of groups, as values of kio."""

import datetime
from dataclasses import dataclass, field
from typing import Any

from kio.schema.errors import ErrorCode
from kio.schema.offset_commit.v8 import request as commit_request
from kio.schema.offset_commit.v8 import response as commit_response
from kio.schema.offset_fetch.v8 import request as offset_request
from kio.schema.offset_fetch.v8 import response as offset_response
from kio.static.primitive import i32, i32Timedelta, i64

_ZERO = i32Timedelta.parse(datetime.timedelta(0))


@dataclass
class GroupOffsets:
    """`committed`: by group. `error` refuses both, `forgets` so many of the newest."""

    committed: dict[str, list[int]] = field(default_factory=dict)
    error: ErrorCode = ErrorCode.none
    forgets: int = 0

    def commit(self, request: commit_request.OffsetCommitRequest) -> Any:
        (topic,) = request.topics
        (partition,) = topic.partitions
        if self.error is ErrorCode.none:
            known = self.committed.setdefault(str(request.group_id), [])
            known.append(int(partition.committed_offset))
        result = commit_response.OffsetCommitResponsePartition(
            partition_index=partition.partition_index, error_code=self.error
        )
        told = commit_response.OffsetCommitResponseTopic(name=topic.name, partitions=(result,))
        return commit_response.OffsetCommitResponse(throttle_time=_ZERO, topics=(told,))

    def fetch(self, request: offset_request.OffsetFetchRequest) -> Any:
        (group,) = request.groups
        (topic,) = group.topics or ()
        (index,) = topic.partition_indexes
        known = self.committed.get(str(group.group_id), [])
        kept = known[: len(known) - self.forgets]
        result = offset_response.OffsetFetchResponsePartitions(
            partition_index=index,
            committed_offset=i64(kept[-1] if kept else -1),
            committed_leader_epoch=i32(-1),
            metadata="",
            error_code=ErrorCode.none,
        )
        told = offset_response.OffsetFetchResponseTopics(name=topic.name, partitions=(result,))
        return offset_response.OffsetFetchResponse(
            throttle_time=_ZERO,
            groups=(
                offset_response.OffsetFetchResponseGroup(
                    group_id=group.group_id,
                    topics=() if self.error else (told,),
                    error_code=self.error,
                ),
            ),
        )
