"""KIP-853, as shipped: the log holds the whole set of voters (`node.raft.voter_forms`)."""

from collections.abc import Iterable, Sequence

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import NodeId, Offset, ReplicaKey
from node.lazy_dataclass import dataclass
from node.raft.voter_forms import (
    DYNAMIC,
    FEATURE,
    STATIC,
    ForeignVoters,
    KRaftVersions,
    Refused,
    VoterChange,
    why_no_voter,
    why_unreachable,
)
from node.raft.voter_set import VoterSet
from node.records.control import (
    AddVoter,
    ControlRecord,
    KRaftVersion,
    RemoveVoter,
    Voter,
    Voters,
)
from node.wire.api_versions import ApiVersionsResponse
from node.wire.raft_voters import AddVoterRequest, RemoveVoterRequest


@dataclass(frozen=True, slots=True)
class WholeSets:
    """With kraft.version 0 voters are static, and their directory ids unknown."""

    def told(self, keys: Iterable[ReplicaKey]) -> tuple[ReplicaKey, ...]:
        """By their ids, as Apache Kafka's controllers read it."""
        return tuple(map(ReplicaKey, sorted({key.id for key in keys})))

    def named(self, before: VoterSet | None, records: Iterable[ControlRecord]) -> VoterSet | None:
        del before
        voters = None
        for record in records:
            match record:
                case Voters(voters=rows):
                    voters = VoterSet.of_rows(rows)
                case AddVoter() | RemoveVoter():
                    raise ForeignVoters(
                        "the log belongs to a quorum whose voters controller.quorum.voters lists"
                        " (KIP-856), and this disk was formatted for one whose voters have no list"
                        " (KIP-853)",
                        "format an empty disk as those of the other nodes were",
                    )
                case _:
                    pass
        return voters

    def records_of(self, voters: VoterSet, kraft_version: int) -> tuple[ControlRecord, ...]:
        if kraft_version == STATIC:
            return ()
        return KRaftVersion(version=kraft_version), Voters(voters=tuple(voters.rows.values()))

    def first_records(
        self, voters: VoterSet, kraft_version: int, met: Iterable[ReplicaKey]
    ) -> tuple[ControlRecord, ...]:
        del met
        return self.records_of(voters, kraft_version)

    def lets_write(self, named_at: Offset | None, voter_ends: Sequence[Offset]) -> bool:
        del named_at, voter_ends
        return True

    def refuses(self, change: VoterChange, kraft_version: int, listener: str) -> Refused | None:
        if kraft_version < DYNAMIC:
            return ErrorCode.UNSUPPORTED_VERSION, "kraft.version is 0: voters are static"
        if isinstance(change, AddVoterRequest):
            what = why_unreachable(change.endpoints, listener)
            return (ErrorCode.INVALID_REQUEST, what) if what else None
        return None

    def forbids(self, change: VoterChange, voters: VoterSet) -> Refused | None:
        key = change.voter
        match change:
            case AddVoterRequest() if key in voters:
                return ErrorCode.DUPLICATE_VOTER, "it is a voter already"
            case AddVoterRequest() if key.id in voters.by_id:
                what = f"node {key.id} is a voter with another directory: remove that one first"
                return ErrorCode.DUPLICATE_VOTER, what
            case RemoveVoterRequest() if key not in voters:
                return ErrorCode.VOTER_NOT_FOUND, "it is no voter"
            case RemoveVoterRequest() if len(voters) == 1:
                return ErrorCode.VOTER_NOT_FOUND, "it is the last one"
            case _:
                return None

    def candidate_at(self, node: NodeId) -> tuple[Endpoint, ...] | None:
        del node
        return ()

    def new_endpoints(self, request: AddVoterRequest) -> tuple[Endpoint, ...]:
        return request.endpoints

    def lacks(self, told: ApiVersionsResponse, kraft_version: int) -> Refused | None:
        if (what := why_no_voter(told)) is not None:
            return ErrorCode.INVALID_REQUEST, what
        low, high = told.levels(FEATURE)
        if low <= kraft_version <= high:
            return None
        what = f"it supports {FEATURE} {low} to {high}, and the quorum's is {kraft_version}"
        return ErrorCode.INVALID_REQUEST, what

    def change_record(
        self, change: VoterChange, voters: VoterSet, supported: KRaftVersions
    ) -> ControlRecord:
        match change:
            case AddVoterRequest():
                low, high = supported
                row = Voter(
                    key=change.voter,
                    endpoints=change.endpoints,
                    min_kraft_version=low,
                    max_kraft_version=high,
                )
                voters = voters.plus(row)
            case RemoveVoterRequest():
                voters = voters.minus(change.voter)
        return Voters(voters=tuple(voters.rows.values()))

    def tells_leaders(self, kraft_version: int) -> bool:
        return kraft_version == STATIC

    def update_record(
        self, row: Voter, voters: VoterSet, kraft_version: int
    ) -> ControlRecord | None:
        if kraft_version == STATIC:
            return None
        return Voters(voters=tuple(voters.plus(row).rows.values()))
