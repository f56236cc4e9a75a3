"""Members of one group, and whoever keeps it: what they are told, when time passes as they say."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from node.broker.coordinators.group import Group
from node.broker.coordinators.rebalancing import Rebalancing, Stored
from node.config import GroupSettings
from node.errors import ErrorCode
from node.ids import MS, ConnectionId, Now
from node.wire.apis import Response
from node.wire.group_membership import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeavingMember,
    Share,
    SyncGroupRequest,
    SyncGroupResponse,
)

DELAY_MS, SESSION_MS, REBALANCE_MS = 3000, 10_000, 60_000
SETTINGS = GroupSettings(first_delay_ms=DELAY_MS, members=3)
GROUP_BYTES = 1000


class GroupMembers:
    """A `Host` that writes nothing down before it is told to (`write_down`)."""

    def __init__(self, settings: GroupSettings = SETTINGS) -> None:
        self.group = Group(id="g")
        self.rebalancing = Rebalancing(settings, GROUP_BYTES, Random(1), self)
        self.now_ms = 0
        self.responses: dict[ConnectionId, Response] = {}
        self._to_write: list[Stored] = []
        self._next_connection = 1

    # --- Host ---

    def respond(self, connection: ConnectionId, response: Response) -> None:
        assert connection not in self.responses, f"{connection} was answered already"
        self.responses[connection] = response

    def store(self, group: Group, now: Now, stored: Stored) -> None:
        assert now == self._now
        assert group is self.group
        self._to_write.append(stored)

    # --- what members do: the connection on which they wait ---

    def join(self, member: str = "", **changes: object) -> ConnectionId:
        request = replace(_JOIN, member=member, **changes)  # type: ignore[arg-type]
        return self._ask(
            lambda connection: self.rebalancing.join(self.group, connection, request, self._now)
        )

    def sync(self, member: str, shares: str = "", **changes: object) -> ConnectionId:
        """`shares`: names of members, each of which gets its own name."""
        request = SyncGroupRequest(
            group="g",
            generation=self.group.generation,
            member=member,
            shares=tuple(Share(member=each, assignment=each.encode()) for each in shares.split()),
        )
        request = replace(request, **changes)  # type: ignore[arg-type]
        return self._ask(
            lambda connection: self.rebalancing.sync(self.group, connection, request, self._now)
        )

    def heartbeat(
        self, member: str, generation: int | None = None, instance: str | None = None
    ) -> ErrorCode:
        number = self.group.generation if generation is None else generation
        request = HeartbeatRequest(group="g", generation=number, member=member, instance=instance)
        return self.rebalancing.heartbeat(self.group, request, self._now)

    def leave(self, member: str = "", instance: str | None = None) -> ErrorCode:
        leaving = LeavingMember(id=member, instance=instance)
        return self.rebalancing.leave(self.group, leaving, self._now)

    # --- what else happens ---

    def write_down(self, error: ErrorCode = ErrorCode.NONE) -> None:
        writes, self._to_write = self._to_write, []
        for stored in writes:
            stored(error, self._now)

    def run_ms(self, milliseconds: int) -> None:
        end_ms = self.now_ms + milliseconds
        while self.group.deadline_ns() <= end_ms * MS:
            self.now_ms = max(self.now_ms, -(-self.group.deadline_ns() // MS))
            self.rebalancing.elapse(self.group, self._now)
        self.now_ms = end_ms

    def new_id(self, **changes: object) -> str:
        told = self.joined(self.join(**changes))  # type: ignore[arg-type]
        assert told.error is ErrorCode.MEMBER_ID_REQUIRED
        return told.member

    def static(self, instance: str) -> str:
        """Its member, in a group that has no other."""
        joining = self.join(instance=instance)
        self.run_ms(DELAY_MS)
        return self.joined(joining).member

    def stable(self, count: int) -> list[str]:
        """So many members, each with a share; the first one leads."""
        members = [self.new_id() for _ in range(count)]
        joining = [self.join(member) for member in members]
        self.run_ms(2 * DELAY_MS)
        assert {self.joined(each).leader for each in joining} == {members[0]}
        syncing = [self.sync(member) for member in members[1:]]
        syncing.append(self.sync(members[0], " ".join(members)))
        self.write_down()
        assert all(self.share(each).error is ErrorCode.NONE for each in syncing)
        return members

    # --- what they are told ---

    def joined(self, connection: ConnectionId) -> JoinGroupResponse:
        response = self.responses[connection]
        assert isinstance(response, JoinGroupResponse)
        return response

    def share(self, connection: ConnectionId) -> SyncGroupResponse:
        response = self.responses[connection]
        assert isinstance(response, SyncGroupResponse)
        return response

    def waits(self, connection: ConnectionId) -> bool:
        return connection not in self.responses

    @property
    def _now(self) -> Now:
        return Now(self.now_ms * MS, self.now_ms * MS)

    def _ask(self, act: Callable[[ConnectionId], None]) -> ConnectionId:
        connection = ConnectionId(self._next_connection)
        self._next_connection += 1
        act(connection)
        return connection


_JOIN = JoinGroupRequest(
    group="g",
    session_timeout_ms=SESSION_MS,
    rebalance_timeout_ms=REBALANCE_MS,
    protocol_type="consumer",
    protocols=(
        JoinProtocol(name="range", metadata=b"r"),
        JoinProtocol(name="roundrobin", metadata=b"rr"),
    ),
    client_id="c",
)
