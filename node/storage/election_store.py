"""quorum-state: the newest epoch, its leader and our vote in it, across restarts.

One line of JSON, as Kafka writes it. Version 1 is written; version 0, which a node of a
kraft.version 0 quorum leaves behind, is read: it knows no directory of the voted node.
"""

import json

from node.effects import ElectionState
from node.ids import NO_NODE, ZERO_UUID, Epoch, NodeId, ReplicaKey, parse_uuid, uuid_text
from node.lazy_dataclass import dataclass
from node.storage.disk import QUORUM_STATE, CorruptFile, Disk
from node.storage.segment import parse_segment_name

_MAX_INT32 = 2**31 - 1
_LARGEST = 1 << 16  # bytes; a state of version 0 names all voters
_WHY_NOT_GUESSED = (
    "  it holds this node's vote, which must not be cast twice, so it is not guessed\n"
    "  try: put it back from a copy of this disk, or format an empty disk"
)


@dataclass(frozen=True, slots=True)
class ElectionStore:
    """The file of one node's election state."""

    disk: Disk
    path: str = QUORUM_STATE

    def load(self) -> ElectionState:
        """The last saved state; epoch 0 without leader and vote if none ever was.

        What it returns is durable: a process killed amid `save` may have left the new state with
        its name in the page cache only. Raises CorruptFile on content that neither `save` nor Kafka
        writes, and if the file is missing beside a log with records, as an epoch is saved before
        any record: a vote that is forgotten may be cast twice.
        """
        if not self.disk.exists(self.path):
            self._refuse_if_lost()
            return ElectionState()
        data = self.disk.read_all(self.path)
        try:
            state = parse_election_state(data)
        except ValueError as error:
            raise CorruptFile(f"{self.path} is damaged: {error}\n{_WHY_NOT_GUESSED}") from error
        self.disk.replace(self.path, data)
        return state

    def save(self, state: ElectionState) -> None:
        """Replace the file; durable when it returns."""
        self.disk.replace(self.path, encode_election_state(state))

    def _refuse_if_lost(self) -> None:
        directory = self.path.rpartition("/")[0]
        for name in self.disk.names(directory):
            base = parse_segment_name(name)
            if base is not None and (base or self._size(f"{directory}/{name}")):
                raise CorruptFile(
                    f"{self.path} is missing, but {directory}/{name} holds records\n"
                    f"{_WHY_NOT_GUESSED}"
                )

    def _size(self, path: str) -> int:
        file = self.disk.open(path)
        try:
            return file.size()
        finally:
            file.close()


def encode_election_state(state: ElectionState) -> bytes:
    """Version 1, fields in Kafka's order, no spaces, no line end."""
    voted = state.voted or ReplicaKey(NO_NODE)
    fields = {
        "leaderId": state.leader,
        "leaderEpoch": state.epoch,
        "votedId": voted.id,
        "votedDirectoryId": uuid_text(voted.directory),
        "data_version": 1,
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def parse_election_state(data: bytes) -> ElectionState:
    """The inverse of `encode_election_state`; reads version 0 too. Raises ValueError."""
    if not data:
        raise ValueError("it is empty")
    if len(data) > _LARGEST:
        raise ValueError(f"it has {len(data):,} bytes, and a state at most {_LARGEST:,}")
    try:
        fields = json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(fields, dict):
        raise ValueError("not a JSON object")
    version = _integer(fields, "data_version", 0)
    if version > 1:
        raise ValueError(f"data_version is {version}, and this node reads 0 and 1")
    voted = _integer(fields, "votedId", -1)
    directory = fields.get("votedDirectoryId") if version == 1 else uuid_text(ZERO_UUID)
    if not isinstance(directory, str):
        raise ValueError("votedDirectoryId is not a text")
    key = ReplicaKey(NodeId(voted), parse_uuid(directory))
    if key.id == NO_NODE and key.directory != ZERO_UUID:
        raise ValueError("a voted directory without a voted node")
    return ElectionState(
        epoch=Epoch(_integer(fields, "leaderEpoch", 0)),
        leader=NodeId(_integer(fields, "leaderId", -1)),
        voted=None if key.id == NO_NODE else key,
    )


def _integer(fields: dict[str, object], name: str, least: int) -> int:
    value = fields.get(name)
    if type(value) is not int or not least <= value <= _MAX_INT32:
        raise ValueError(f"{name} is {value!r}, not a number from {least} to {_MAX_INT32}")
    return value
