"""What a fake coordinator answers to members of groups, as values of kio: one that comes or goes
begins a generation, and the others hear of that with their next heartbeat; those that do not join
it are no members of the next one."""

import datetime
from dataclasses import dataclass, field
from typing import Any

from kio.schema.errors import ErrorCode
from kio.schema.heartbeat.v4 import request as heartbeat_request
from kio.schema.heartbeat.v4 import response as heartbeat_response
from kio.schema.join_group.v9 import request as join_request
from kio.schema.join_group.v9 import response as join_response
from kio.schema.leave_group.v5 import request as leave_request
from kio.schema.leave_group.v5 import response as leave_response
from kio.schema.sync_group.v5 import request as sync_request
from kio.schema.sync_group.v5 import response as sync_response
from kio.serial import entity_reader
from kio.static.primitive import i32, i32Timedelta

_ZERO = i32Timedelta.parse(datetime.timedelta(0))


@dataclass
class JoiningMembers:
    """Of one group. `error` refuses everything."""

    error: ErrorCode = ErrorCode.none
    generation: int = 0
    joined: dict[str, int] = field(default_factory=dict)  # which generation, by member
    asked: list[str] = field(default_factory=list)

    def answer(self, api: int, body: bytes) -> Any:
        match api:
            case 11:
                return self._join(_read(join_request.JoinGroupRequest, body))
            case 12:
                return self._heartbeat(_read(heartbeat_request.HeartbeatRequest, body))
            case 13:
                return self._leave(_read(leave_request.LeaveGroupRequest, body))
            case 14:
                return self._sync(_read(sync_request.SyncGroupRequest, body))
        raise AssertionError(f"API {api} is not of members")

    def _join(self, request: join_request.JoinGroupRequest) -> Any:
        self.asked.append("join")
        member, error = str(request.member_id), self.error
        if error is ErrorCode.none and not member:
            member, error = f"m{len(self.asked)}", ErrorCode.member_id_required
        elif error is ErrorCode.none:
            if member not in self.joined:
                self.generation += 1
            self.joined[member] = self.generation
        joined = tuple(
            join_response.JoinGroupResponseMember(
                member_id=each, group_instance_id=None, metadata=b""
            )
            for each in self.joined
        )
        return join_response.JoinGroupResponse(
            throttle_time=_ZERO,
            error_code=error,
            generation_id=i32(self.generation),
            protocol_type="consumer",
            protocol_name="range",
            leader=member,
            skip_assignment=False,
            member_id=member,
            members=joined,
        )

    def _sync(self, request: sync_request.SyncGroupRequest) -> Any:
        self.asked.append("sync")
        shares = {str(each.member_id): each.assignment for each in request.assignments}
        return sync_response.SyncGroupResponse(
            throttle_time=_ZERO,
            error_code=self.error,
            protocol_type="consumer",
            protocol_name="range",
            assignment=shares.get(str(request.member_id), b""),
        )

    def _heartbeat(self, request: heartbeat_request.HeartbeatRequest) -> Any:
        self.asked.append("heartbeat")
        error, member = self.error, str(request.member_id)
        if error is ErrorCode.none and self.joined.get(member, 0) < self.generation - 1:
            self.joined.pop(member, None)
            error = ErrorCode.unknown_member_id
        elif error is ErrorCode.none and self.joined[member] < self.generation:
            error = ErrorCode.rebalance_in_progress
        return heartbeat_response.HeartbeatResponse(throttle_time=_ZERO, error_code=error)

    def _leave(self, request: leave_request.LeaveGroupRequest) -> Any:
        self.asked.append("leave")
        (leaving,) = request.members
        self.joined.pop(str(leaving.member_id), None)
        self.generation += 1
        left = leave_response.MemberResponse(
            member_id=leaving.member_id, group_instance_id=None, error_code=self.error
        )
        return leave_response.LeaveGroupResponse(
            throttle_time=_ZERO, error_code=ErrorCode.none, members=(left,)
        )


def _read(schema: Any, data: bytes) -> Any:
    value, size = entity_reader(schema)(data, 0)
    assert size == len(data)
    return value
