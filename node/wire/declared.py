"""Declared messages: every field of ours names the field of kio's message that carries it.

kio has a class for each message in each version. A message of ours is one dataclass for all of
them. Its annotations say where each field is in kio's classes, and the reader and the writer of a
version follow from that, from our types and from kio's:

    group: Annotated[str, "group_id"]                   another name
    members: tuple[Member, ...]                         the same name; `Member` is declared itself
    voter: Annotated[ReplicaKey, Parts(id="voter_id")]  several fields, which we keep together
    partitions: Annotated[tuple[Item, ...], Rows("topics", "partitions", by=...)]
    anything: Annotated[str, Functions(read, write)]    where the shapes really differ

A field that a version lacks is left out, and read as our field's default, or as `absent`. What only
kio has is written with kio's default, else as zero, empty or null, unless the API says otherwise.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from operator import attrgetter
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, get_args, get_origin
from uuid import UUID

from node.codec.fields import MarkedField, marked_fields
from node.errors import ErrorCode
from node.ids import METADATA_TOPIC, METADATA_TOPIC_ID, ZERO_UUID

Read = Callable[..., Any]
KioFields = Mapping[str, MarkedField]

_ERRORS = {code.value: code for code in ErrorCode}
ITSELF = "."  # an element that is no struct
_AT_TOP = "/"  # before a name: not in the partition
# What names the topic of the quorum.
OF_QUORUM: dict[str, Any] = dict.fromkeys(("topic_name", "topic", "name"), METADATA_TOPIC)
OF_QUORUM |= {"topic_id": METADATA_TOPIC_ID}
# The index of a struct is read as a field of it.
ENTRY = MarkedField(
    name="entry",
    kafka_type="int32",
    value_class=int,
    array=False,
    nullable=False,
    nullable_element=False,
    tag=None,
    default=0,
    since=0,
)


class Kio:
    """The first of these names that a version knows, looked up in the innermost struct first.

    A name may go through a struct (`current_leader.leader_id`). `absent`: what is read if a version
    lacks the field, if not our default. `null`: what is written for None where kio has no null.
    """

    def __init__(self, *names: str, absent: Any = MISSING, null: Any = MISSING) -> None:
        self.names, self.absent, self.null = names, absent, null


class Parts:
    """A value of ours that holds several fields of the same struct, by the names of its own."""

    def __init__(self, **names: str | Kio) -> None:
        self.names = {name: mark_of(mark) for name, mark in names.items()}


class Rows:
    """Elements of a nested array, kept flat. `path`: the arrays, outermost first. `by`: for each
    array but the last the paths in our element that tell its structs apart when they are written;
    empty: each element has its own. `entries`: elements have the index in the outermost array.
    `unless`: of these messages, in these versions, they are not written.
    """

    def __init__(
        self,
        *path: str,
        by: Sequence[tuple[str, ...]] = (),
        entries: bool = False,
        unless: Callable[[Any, int], bool] | None = None,
    ) -> None:
        self.path, self.entries, self.unless = path, entries, unless
        self.keys = [attrgetter(*names) for names in by]


class OneBefore:
    """An array; in the versions before it the message itself has the fields of the one element."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.names = (name,)


class Functions:
    """Functions. `read`, if anything is read, takes kio's struct (of the quorum: the whole message,
    and its partition or None; of rows: each level). `write` takes ours and the version, `value` the
    value alone; they return values of kio's fields.
    """

    def __init__(
        self,
        read: Read | None = None,
        write: Callable[[Any, int], dict[str, Any]] | None = None,
        value: Callable[[Any], dict[str, Any]] | None = None,
    ) -> None:
        self.read, self.write, self.value = read, write, value


FieldMark = Kio | Parts | Rows | OneBefore | Functions
# Names that nearly every response has.
Error = Annotated[ErrorCode, "error_code"]
Message = Annotated[str | None, "error_message"]


def mark_of(mark: FieldMark | str) -> FieldMark:
    return Kio(mark) if isinstance(mark, str) else mark


def our_error(number: int) -> ErrorCode:
    """Codes that our controllers never send become one and the same error."""
    return _ERRORS.get(number, ErrorCode.UNKNOWN_SERVER_ERROR)


def some_uuid(value: UUID | None) -> UUID:
    """kio reads the zero uuid as None."""
    return ZERO_UUID if value is None else value


def each(array: str, name: str) -> Functions:
    """An array of structs that have one field, and of which ours has the values."""

    def read(*entities: Any) -> Any:
        found = getattr(entities[-1], array)
        return None if found is None else tuple([getattr(struct, name) for struct in found])

    def write(values: Any) -> Any:
        if values is None:
            return {array: None}
        return {array: tuple([SimpleNamespace(**{name: value}) for value in values])}

    return Functions(read, value=write)


def since(version: int) -> Functions:
    """What a request says by its version alone: whether it is this one or a later."""
    return Functions(lambda entity: entity.__version__ >= version)


class Tagged(SimpleNamespace):
    """A struct that is left out if it is the default."""

    def __ne__(self, default: object) -> bool:
        return any(getattr(default, name) != value for name, value in vars(self).items())


class Ours:
    """A field of a message of ours."""

    def __init__(self, name: str, kind: Any, mark: Any = None) -> None:
        if get_origin(kind) is Annotated:
            kind, *marks = get_args(kind)
            mark = mark or mark_of(marks[0])
        self.name, self.kind = name, kind
        self.mark: FieldMark = mark or Kio(name)

    @property
    def null(self) -> Any:
        return self.mark.null if isinstance(self.mark, Kio) else MISSING

    @property
    def inner(self) -> Any:
        """The type without None."""
        if not isinstance(self.kind, UnionType):
            return self.kind
        (inner,) = (arm for arm in get_args(self.kind) if arm is not NoneType)
        return inner

    @property
    def may_be_none(self) -> bool:
        return isinstance(self.kind, UnionType)

    @property
    def element(self) -> Any:
        """The type of an array's elements; None of what is no array."""
        return get_args(self.inner)[0] if get_origin(self.inner) is tuple else None


@cache
def ours_of(message_class: Any) -> tuple[Ours, ...]:
    """The fields of a message of ours."""
    return tuple(Ours(each.name, each.type) for each in fields(message_class))


def parts_of(ours: Ours, mark: Parts) -> Iterator[Ours]:
    """The fields of what is kept together, of which those without a name are not carried."""
    for part in ours_of(ours.inner):
        yield Ours(part.name, part.kind, mark.names.get(part.name, part.mark))


@cache
def kio_fields(kio_class: Any) -> dict[str, MarkedField]:
    """By name; those of a struct also by their path."""
    found = {}
    for field in marked_fields(kio_class):
        found[field.name] = field
        if field.struct is not None and not field.array:
            inner = kio_fields(field.struct).items()
            found |= {f"{field.name}.{name}": each for name, each in inner}
    return found


def find(mark: FieldMark, levels: Sequence[KioFields]) -> tuple[int, str] | None:
    """The innermost level that has the field, and its name there."""
    if not isinstance(mark, Kio | OneBefore):
        return None
    for level in reversed(range(len(levels))):
        for name in mark.names:
            if name.startswith(_AT_TOP):
                if level == 0 and name[1:] in levels[0]:
                    return 0, name[1:]
            elif name in levels[level]:
                return level, name
    return None


def row_classes(kio_class: Any, path: Sequence[str]) -> list[Any]:
    """The structs along a path; the last element may be no struct."""
    classes = []
    for step in path:
        kio_class = kio_fields(kio_class)[step].struct
        if kio_class is not None:
            classes.append(kio_class)
    return classes


def quorum_classes(kio_class: Any) -> tuple[str, Any, Any]:
    """Of a message of the quorum: the name of its topics, and the classes of a topic and of its
    partition.
    """
    name = "topics" if "topics" in kio_fields(kio_class) else "responses"
    topic, partition = row_classes(kio_class, (name, "partitions"))
    return name, topic, partition
