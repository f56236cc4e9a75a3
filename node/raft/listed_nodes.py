"""KIP-856: the configuration lists the nodes that may vote (`node.raft.voter_forms`)."""

from collections.abc import Iterable, Mapping, Sequence

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import NodeId, Offset, ReplicaKey
from node.lazy_dataclass import dataclass
from node.raft.voter_forms import (
    ForeignVoters,
    KRaftVersions,
    Refused,
    VoterChange,
    lacked,
    why_no_voter,
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
from node.wire.api import Api
from node.wire.api_versions import ApiVersionsResponse
from node.wire.describe_quorum import DESCRIBE_QUORUM
from node.wire.raft_voters import (
    ADD_RAFT_VOTER,
    REMOVE_RAFT_VOTER,
    AddVoterRequest,
    RemoveVoterRequest,
)

# From which version on voters are described by their directories, or changed at all (KIP-856).
_OF_CHANGES: Sequence[tuple[Api, int]] = (
    (DESCRIBE_QUORUM, 2),
    (ADD_RAFT_VOTER, 0),
    (REMOVE_RAFT_VOTER, 0),
)


@dataclass(frozen=True, slots=True)
class ListedNodes:
    """`listed` is what controller.quorum.voters says, and says of every node."""

    listed: Mapping[NodeId, tuple[Endpoint, ...]]

    def told(self, keys: Iterable[ReplicaKey]) -> tuple[ReplicaKey, ...]:
        return tuple(sorted(keys))

    def first_set(self, me: ReplicaKey) -> VoterSet:
        """Before the log names any: all that are listed, by id alone but for ourselves.

        Its majority is all of them. A majority of wiped disks would otherwise elect a leader that
        knows nothing of what is committed; with all of them one that does know is among those that
        are asked, and refuses, for its log is newer. Nothing is lost by that: until all have the
        records that name them, nothing may be written.
        """
        keys = [me if node == me.id else ReplicaKey(node) for node in self.listed]
        return VoterSet.of_rows(map(self._row, keys), majority=len(keys))

    def named(self, before: VoterSet | None, records: Iterable[ControlRecord]) -> VoterSet | None:
        voters = before
        for record in records:
            match record:
                case AddVoter(key=key):
                    self._check_listed(key)
                    voters = (voters or VoterSet.of(())).plus(self._row(key))
                case RemoveVoter(key=key):
                    voters = (voters or VoterSet.of(())).minus(key)
                case Voters() | KRaftVersion():
                    raise ForeignVoters(
                        "the log belongs to a quorum that was formatted with its voters (KIP-853),"
                        " and this disk to one whose voters controller.quorum.voters lists"
                        " (KIP-856)",
                        "leave controller.quorum.voters out, and format an empty disk with"
                        " --no-initial-controllers",
                    )
                case _:
                    pass
        return None if voters is before else voters

    def records_of(self, voters: VoterSet, kraft_version: int) -> tuple[ControlRecord, ...]:
        del kraft_version
        if any(key.known_directory is None for key in voters.keys):
            return ()
        return tuple(AddVoter(key=key) for key in voters.keys)

    def first_records(
        self, voters: VoterSet, kraft_version: int, met: Iterable[ReplicaKey]
    ) -> tuple[ControlRecord, ...]:
        newest = {key.id: key for key in met if key.known_directory is not None}
        known = [
            key if key.known_directory is not None else newest.get(key.id, key)
            for key in voters.keys
        ]
        return self.records_of(VoterSet.of_rows(map(self._row, known)), kraft_version)

    def lets_write(self, named_at: Offset | None, voter_ends: Sequence[Offset]) -> bool:
        return named_at is not None and min(voter_ends) > named_at

    def refuses(self, change: VoterChange, kraft_version: int, listener: str) -> Refused | None:
        del kraft_version, listener
        if change.voter.id not in self.listed:
            what = f"controller.quorum.voters does not list node {change.voter.id}"
            return ErrorCode.INVALID_REQUEST, what
        return None

    def forbids(self, change: VoterChange, voters: VoterSet) -> Refused | None:
        key = change.voter
        match change:
            case AddVoterRequest() if key in voters:
                return ErrorCode.DUPLICATE_VOTER, "it is a voter already"
            case RemoveVoterRequest() if key not in voters:
                return ErrorCode.VOTER_NOT_FOUND, "it is no voter"
            case RemoveVoterRequest() if key.id not in voters.minus(key).by_id:
                what = f"node {key.id} would have no voter left: add its other directory first"
                return ErrorCode.INVALID_REQUEST, what
            case _:
                return None

    def candidate_at(self, node: NodeId) -> tuple[Endpoint, ...] | None:
        return self.listed.get(node)

    def new_endpoints(self, request: AddVoterRequest) -> tuple[Endpoint, ...]:
        return self.listed[request.voter.id]

    def lacks(self, told: ApiVersionsResponse, kraft_version: int) -> Refused | None:
        del kraft_version
        if (what := why_no_voter(told)) is not None:
            return ErrorCode.UNSUPPORTED_VERSION, what
        missed = next(lacked(told, _OF_CHANGES), None)
        if missed is not None:
            return ErrorCode.UNSUPPORTED_VERSION, f"{missed}: upgrade it first"
        return None

    def change_record(
        self, change: VoterChange, voters: VoterSet, supported: KRaftVersions
    ) -> ControlRecord:
        del voters, supported
        match change:
            case AddVoterRequest():
                return AddVoter(key=change.voter)
            case RemoveVoterRequest():
                return RemoveVoter(key=change.voter)

    def tells_leaders(self, kraft_version: int) -> bool:
        del kraft_version
        return False

    def update_record(
        self, row: Voter, voters: VoterSet, kraft_version: int
    ) -> ControlRecord | None:
        del row, voters, kraft_version
        return None

    def _check_listed(self, key: ReplicaKey) -> None:
        if key.id not in self.listed:
            raise ForeignVoters(
                f"the log names node {key.id} as a voter, and controller.quorum.voters does not"
                f" list it ({', '.join(map(str, sorted(self.listed)))})",
                "list the same nodes in the file of every node",
            )

    def _row(self, key: ReplicaKey) -> Voter:
        return Voter(key=key, endpoints=self.listed[key.id])
