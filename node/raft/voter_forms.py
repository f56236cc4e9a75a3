"""The two forms of voter changes: `WholeSets` (KIP-853) and `ListedNodes` (KIP-856).

A disk is formatted for one of them (`node.storage.format`). They differ in nothing else:

                       KIP-853, as shipped                 KIP-856
    -----------------  ----------------------------------  -------------------------------------
    a new quorum       its voters are on every disk, with  controller.quorum.voters lists ids and
                       directory ids and endpoints         endpoints; the first leader learns the
                                                           directory ids from their Fetches
    first elected by   a majority                          all: a disk that was wiped knows no
                                                           more of its quorum than a new one
    first written      with the first LeaderChange         once all are known, in one batch;
                                                           anything else once all have that
    in the log         Voters, the whole set               AddVoter and RemoveVoter, one voter
    may vote           any node, by one disk               listed nodes, each by one disk or more
    a replaced disk    is removed, then the new one added  is added, then the old one removed
    a voter's address  in the voter set                    in the configured list
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from node.errors import ErrorCode
from node.ids import Endpoint, NodeId, Offset, ReplicaKey, why_not_taken
from node.lazy_dataclass import dataclass
from node.raft.voter_set import VoterSet
from node.records.control import AddVoter, ControlRecord, KRaftVersion, RemoveVoter, Voter, Voters
from node.wire.api import Api
from node.wire.api_versions import ApiVersionsResponse
from node.wire.fetch import FETCH, FETCH_SNAPSHOT
from node.wire.raft_voters import (
    ADD_RAFT_VOTER,
    DESCRIBE_QUORUM,
    REMOVE_RAFT_VOTER,
    AddVoterRequest,
    RemoveVoterRequest,
)
from node.wire.vote import BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, VOTE

FEATURE = "kraft.version"
STATIC, DYNAMIC = 0, 1  # its levels: voters by configuration, or by records with directory ids

VoterChange = AddVoterRequest | RemoveVoterRequest
Refused = tuple[ErrorCode, str]
KRaftVersions = tuple[int, int]  # the lowest and the highest that a voter supports


class ForeignVoters(ValueError):
    """The log names voters in a way this node cannot use: why, and what to do."""

    def __init__(self, what: str, next_step: str) -> None:
        super().__init__(f"{what}\n  try: {next_step}")
        self.what = what
        self.next_step = next_step


class VoterForm(Protocol):
    def told(self, keys: Iterable[ReplicaKey]) -> tuple[ReplicaKey, ...]:
        """How a LeaderChange names these, in order."""

    def named(self, before: VoterSet | None, records: Iterable[ControlRecord]) -> VoterSet | None:
        """The voters after the records of a batch, or of a snapshot; `before`: the voters before
        them, if any. None: the records do not name voters. Raises ForeignVoters."""

    def records_of(self, voters: VoterSet, kraft_version: int) -> tuple[ControlRecord, ...]:
        """The records that name all of these."""

    def first_records(
        self, voters: VoterSet, kraft_version: int, met: Iterable[ReplicaKey]
    ) -> tuple[ControlRecord, ...]:
        """The records by which the first leader names its voters, where no record does; `met`: the
        replicas that fetched from it, the latest last. None while it cannot write any."""

    def lets_write(self, named_at: Offset | None, voter_ends: Sequence[Offset]) -> bool:
        """May a leader with only control records in its log write more than those that name its
        voters? `named_at` is the offset of the last of them, `voter_ends` the durable log ends of
        the voters."""

    def refuses(self, change: VoterChange, kraft_version: int, listener: str) -> Refused | None:
        """The refusal of a change that no voter set could grant."""

    def forbids(self, change: VoterChange, voters: VoterSet) -> Refused | None:
        """The refusal of a change that is not possible with these voters."""

    def candidate_at(self, node: NodeId) -> tuple[Endpoint, ...] | None:
        """The address of a node that could become a voter: empty where only that node knows it.
        None: it cannot become one, with any disk."""

    def new_endpoints(self, request: AddVoterRequest) -> tuple[Endpoint, ...]:
        """The addresses of the replica to be added."""

    def lacks(self, told: ApiVersionsResponse, kraft_version: int) -> Refused | None:
        """Why a replica with these APIs and kraft.versions cannot be a voter."""

    def change_record(
        self, change: VoterChange, voters: VoterSet, supported: KRaftVersions
    ) -> ControlRecord:
        """The record of the change; `supported`: kraft.versions of the added replica."""

    def tells_leaders(self, kraft_version: int) -> bool:
        """Does every voter send each leader its address, which the leader keeps in memory only?"""

    def update_record(
        self, row: Voter, voters: VoterSet, kraft_version: int
    ) -> ControlRecord | None:
        """The record for a voter's new address. None: the configuration has addresses."""


# The APIs that voters send one another, each with the first version that has directory ids.
_ASKED_OF_VOTERS: Sequence[tuple[Api, int]] = (
    (VOTE, 1),
    (BEGIN_QUORUM_EPOCH, 1),
    (END_QUORUM_EPOCH, 1),
    (FETCH, 17),
    (FETCH_SNAPSHOT, 1),
)


def why_no_voter(told: ApiVersionsResponse) -> str | None:
    """The voter APIs that are missing here; a broker lacks most of them."""
    return next(
        (f"{it}: it is no controller, or an old one" for it in lacked(told, _ASKED_OF_VOTERS)), None
    )


def lacked(told: ApiVersionsResponse, needed: Iterable[tuple[Api, int]]) -> Iterator[str]:
    """Those of `needed` that are not served, each in that version or a newer one."""
    newest = {api.api_key: api.max_version for api in told.apis}
    for api, version in needed:
        if newest.get(api.key, -1) < version:
            yield f"it does not serve {api.name} in version {version}"


def why_unreachable(endpoints: Sequence[Endpoint], listener: str) -> str | None:
    """Why the other voters cannot reach a replica with these endpoints; None: no known reason."""
    if all(at.name != listener for at in endpoints):
        return f"it has no address on listener {listener}"
    return why_not_taken(endpoints)


# KIP-856: the configuration lists the nodes that may vote.


# The first versions that describe voters by directory ids, or change them at all (KIP-856).
_OF_CHANGES: Sequence[tuple[Api, int]] = (
    (DESCRIBE_QUORUM, 2),
    (ADD_RAFT_VOTER, 0),
    (REMOVE_RAFT_VOTER, 0),
)


@dataclass(frozen=True, slots=True)
class ListedNodes:
    """`listed` is controller.quorum.voters, the same on every node."""

    listed: Mapping[NodeId, tuple[Endpoint, ...]]

    def told(self, keys: Iterable[ReplicaKey]) -> tuple[ReplicaKey, ...]:
        return tuple(sorted(keys))

    def first_set(self, me: ReplicaKey) -> VoterSet:
        """Before the log names voters: all listed nodes, by id alone except for ourselves.

        Its majority is all of them. A majority of wiped disks would otherwise elect a leader that
        lacks committed records; with all of them, a voter that has those records is among them and
        refuses its vote, for its log is newer. Nothing is lost by that: nothing may be written
        until all have the records that name them.
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
                        " and this disk to one with its voters in controller.quorum.voters"
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


# KIP-853, as shipped: the log holds the whole set of voters.


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
                        "the log belongs to a quorum with its voters in controller.quorum.voters"
                        " (KIP-856), and this disk was formatted for one without such a list"
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
