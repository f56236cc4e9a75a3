"""One command of a story: a name, words, and fields by name, each of which must be of use."""

from dataclasses import dataclass
from uuid import UUID

from node.errors import ErrorCode
from node.ids import NO_NODE, Epoch, LogPosition, NodeId, Offset, ReplicaKey
from tests.support.rig import MS, key

NOBODY = "none"


class StoryError(Exception):
    """A command that means nothing, or cannot be done now; says which and why."""


def node_name(node: int) -> str:
    return NOBODY if node == NO_NODE else f"n{node}"


def parse_node(text: str) -> NodeId:
    if text == NOBODY:
        return NO_NODE
    if not text.startswith("n") or not text[1:].isdecimal():
        raise StoryError(f"{text!r} is not a node: n1, n2, ... or none")
    return NodeId(int(text[1:]))


def replica_name(replica: ReplicaKey) -> str:
    """`n2` on the disk that it was born with, `n2:spare` on another one."""
    if replica == key(replica.id):
        return node_name(replica.id)
    raw = replica.directory.int.to_bytes(16, "big").lstrip(b"\0")
    return f"{node_name(replica.id)}:{raw.decode()}"


def parse_replica(text: str) -> ReplicaKey:
    node, colon, directory = text.partition(":")
    if not colon:
        return key(parse_node(node))
    return ReplicaKey(parse_node(node), UUID(int=int.from_bytes(directory.encode(), "big")))


def position_name(end: LogPosition) -> str:
    return f"{end.offset}@{end.epoch}"


def parse_position(text: str) -> LogPosition:
    """`3@2`: up to offset 3, the last record of epoch 2."""
    offset, _, epoch = text.partition("@")
    return LogPosition(Epoch(_integer(epoch)), Offset(_integer(offset)))


def parse_epochs(text: str) -> list[int]:
    """The epochs of a log's records: `1,1,4`, or `1x2,4`; `none` for no record."""
    epochs: list[int] = []
    for part in [] if text == NOBODY else text.split(","):
        epoch, _, times = part.partition("x")
        epochs += [_integer(epoch)] * (_integer(times) if times else 1)
    return epochs


def parse_error(word: str) -> ErrorCode | None:
    return ErrorCode[word] if word in ErrorCode.__members__ else None


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise StoryError(f"{text!r} is not a number") from None


@dataclass(slots=True)
class Command:
    """What is taken is gone; `finish` refuses what nobody took."""

    name: str
    words: list[str]
    fields: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> "Command":
        name, *parts = text.split()
        fields = dict(part.split("=", 1) for part in parts if "=" in part)
        return cls(name, [part for part in parts if "=" not in part], fields)

    def take_word(self) -> str | None:
        return self.words.pop(0) if self.words else None

    def take_words(self) -> list[str]:
        words, self.words = self.words, []
        return words

    def take_flag(self, word: str) -> bool:
        if word not in self.words:
            return False
        self.words.remove(word)
        return True

    def take_error(self) -> ErrorCode:
        """A word that names an error code; NONE if there is none."""
        for word in self.words:
            error = parse_error(word)
            if error is not None:
                self.words.remove(word)
                return error
        return ErrorCode.NONE

    def the_word(self, what: str) -> str:
        word = self.take_word()
        if word is None:
            raise StoryError(f"{self.name} needs {what}")
        return word

    def text(self, name: str, default: str | None = None) -> str:
        found = self.fields.pop(name, default)
        if found is None:
            raise StoryError(f"{self.name} needs {name}=")
        return found

    def number(self, name: str, default: int | None = None) -> int:
        return _integer(self.text(name, None if default is None else str(default)))

    def node(self, name: str, default: NodeId | None = None) -> NodeId:
        return parse_node(self.text(name, None if default is None else node_name(default)))

    def replica(self, name: str) -> ReplicaKey:
        return parse_replica(self.text(name))

    def position(self, name: str, default: str | None = None) -> LogPosition:
        return parse_position(self.text(name, default))

    def duration_ns(self) -> int:
        word = self.the_word("a time, such as 1500ms")
        if not word.endswith("ms"):
            raise StoryError(f"{word!r} is not a time such as 1500ms")
        return _integer(word.removesuffix("ms")) * MS

    def finish(self) -> None:
        left = [*self.words, *(f"{name}=" for name in self.fields)]
        if left:
            raise StoryError(f"{self.name} has no use for {' '.join(left)}")
