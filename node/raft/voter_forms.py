"""The two ways of a quorum to know its voters. `WholeSets` and `ListedNodes` are all
that differs between them.

A disk is formatted for one of them (`node.storage.format`).

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
    who may vote       any node, by one disk               listed nodes, each by one disk or more
    a replaced disk    is removed, then the new one added  is added, then the old one removed
    a voter is at      what the set says of it             what the list says of its node
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from node.endpoint import Endpoint, why_not_taken
from node.errors import ErrorCode
from node.ids import NodeId, Offset, ReplicaKey
from node.raft.voter_set import VoterSet
from node.records.control import (
    ControlRecord,
    Voter,
)
from node.wire.api import Api
from node.wire.api_versions import ApiVersionsResponse
from node.wire.fetch import FETCH
from node.wire.fetch_snapshot import FETCH_SNAPSHOT
from node.wire.quorum_epoch import BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH
from node.wire.raft_voters import (
    AddVoterRequest,
    RemoveVoterRequest,
)
from node.wire.vote import VOTE

FEATURE = "kraft.version"
STATIC, DYNAMIC = 0, 1  # its levels: voters by configuration, or by records with directory ids

VoterChange = AddVoterRequest | RemoveVoterRequest
Refused = tuple[ErrorCode, str]
KRaftVersions = tuple[int, int]  # the lowest and the highest that a voter supports


class ForeignVoters(ValueError):
    """What a log says of the voters is not for this node: why, and what to do."""

    def __init__(self, what: str, next_step: str) -> None:
        super().__init__(f"{what}\n  try: {next_step}")
        self.what = what
        self.next_step = next_step


class VoterForm(Protocol):
    def told(self, keys: Iterable[ReplicaKey]) -> tuple[ReplicaKey, ...]:
        """How a LeaderChange tells of these, in order."""

    def named(self, before: VoterSet | None, records: Iterable[ControlRecord]) -> VoterSet | None:
        """Who votes by the records of a batch, or of a snapshot; `before`: by those before, if any.
        None: they say nothing of it. Raises ForeignVoters."""

    def records_of(self, voters: VoterSet, kraft_version: int) -> tuple[ControlRecord, ...]:
        """What names all of these."""

    def first_records(
        self, voters: VoterSet, kraft_version: int, met: Iterable[ReplicaKey]
    ) -> tuple[ControlRecord, ...]:
        """What the first leader writes of its voters, where no record names them; `met`: who
        fetched from it, the latest last. None, while there is nothing that it could write."""

    def lets_write(self, named_at: Offset | None, voter_ends: Sequence[Offset]) -> bool:
        """May a leader whose log holds nothing but control records write more than those that name
        its voters? Given where the last of them stands, and the durable log ends of the voters."""

    def refuses(self, change: VoterChange, kraft_version: int, listener: str) -> Refused | None:
        """What nobody could ever be granted, whoever votes."""

    def forbids(self, change: VoterChange, voters: VoterSet) -> Refused | None:
        """What cannot be while these vote."""

    def candidate_at(self, node: NodeId) -> tuple[Endpoint, ...] | None:
        """Where a node is that could vote: empty where only that node says it. None: it cannot, by
        whatever disk."""

    def new_endpoints(self, request: AddVoterRequest) -> tuple[Endpoint, ...]:
        """Where who is to be added is reached."""

    def lacks(self, told: ApiVersionsResponse, kraft_version: int) -> Refused | None:
        """What keeps one from being a voter that serves and supports this."""

    def change_record(
        self, change: VoterChange, voters: VoterSet, supported: KRaftVersions
    ) -> ControlRecord:
        """What is written of it; `supported`: by whom is added."""

    def tells_leaders(self, kraft_version: int) -> bool:
        """Does every voter tell each leader of itself, who keeps it in mind and writes nothing?"""

    def update_record(
        self, row: Voter, voters: VoterSet, kraft_version: int
    ) -> ControlRecord | None:
        """What is written where a voter says that it listens elsewhere now. None: the configuration
        says where it does."""


# What voters ask of one another, and from which version on they tell each other by directories.
_ASKED_OF_VOTERS: Sequence[tuple[Api, int]] = (
    (VOTE, 1),
    (BEGIN_QUORUM_EPOCH, 1),
    (END_QUORUM_EPOCH, 1),
    (FETCH, 17),
    (FETCH_SNAPSHOT, 1),
)


def why_no_voter(told: ApiVersionsResponse) -> str | None:
    """What the others would ask in vain of who serves this; a broker lacks most of it."""
    return next(
        (f"{it}: it is no controller, or an old one" for it in lacked(told, _ASKED_OF_VOTERS)), None
    )


def lacked(told: ApiVersionsResponse, needed: Iterable[tuple[Api, int]]) -> Iterator[str]:
    """What is not served of these, each in that version or a newer one."""
    newest = {api.api_key: api.max_version for api in told.apis}
    for api, version in needed:
        if newest.get(api.key, -1) < version:
            yield f"it does not serve {api.name} in version {version}"


def why_unreachable(endpoints: Sequence[Endpoint], listener: str) -> str | None:
    """What keeps the other voters from reaching one that listens there; None: nothing known."""
    if all(at.name != listener for at in endpoints):
        return f"it has no address on listener {listener}"
    return why_not_taken(endpoints)
