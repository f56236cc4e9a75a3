"""The description of one API: which versions are served, and how its messages translate."""

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any, Literal

from node import limits
from node.lazy_dataclass import dataclass

Side = Literal["request", "response"]
SIDES: tuple[Side, ...] = ("request", "response")
# A kio message to ours; ours to a kio message of the version that the makers belong to.
FromKio = Callable[[Any], Any]
ToKio = Callable[[Any, SimpleNamespace], Any]
# The bytes of our message in a version; None if only kio's classes can make them.
Pack = Callable[[Any, int], bytes | None]
# Our message from a frame, from a position to its end, in a version; None if kio's classes have to
# read it.
Unpack = Callable[[bytes, int, int], Any]
_Known = Callable[[], dict[str, set[str]]]


def _pack_none(_message: Any, _version: int) -> None:
    pass


def _unpack_none(_frame: bytes, _at: int, _version: int) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRange:
    """The served versions of an API, as in ApiVersions."""

    api_key: int
    min_version: int
    max_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One API. `name` is Kafka's; `package` is kio's package of it. `pack_request` and
    `pack_response` write the most frequent messages, in a sixth of the time and the same bytes;
    `unpack_request` and `unpack_response` read just those, in less than half of the time.
    `may_be_followed`: some known clients send more bytes than a request has, which Kafka ignores.
    `most`: the limit on the elements of a request; `most_told`: on those of an answer
    (`node.limits`).
    """

    key: int
    name: str
    package: str
    min_version: int
    max_version: int
    request: type
    read_request: FromKio
    write_request: ToKio
    read_response: FromKio
    write_response: ToKio
    pack_request: Pack = _pack_none
    pack_response: Pack = _pack_none
    packed_flexible: int = 0  # the first version whose packed answers are flexible (KIP-482)
    unpack_request: Unpack = _unpack_none
    unpack_response: Unpack = _unpack_none
    may_be_followed: bool = False
    most: int = limits.MAX_ELEMENTS  # elements of a request
    most_told: int = limits.MAX_ELEMENTS  # and of its answer

    @property
    def range(self) -> ApiRange:
        return ApiRange(
            api_key=self.key, min_version=self.min_version, max_version=self.max_version
        )

    def serves(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version

    def makers(self, version: int, side: Side) -> SimpleNamespace:
        """See `kio_makers`."""
        return kio_makers(self.package, side, version, self.min_version, self.max_version)


@cache
def kio_module(package: str, version: int, side: Side) -> ModuleType:
    """kio's classes of one message in one version. The first call imports them."""
    return import_module(f"kio.schema.{package}.v{version}.{side}")


@cache
def kio_class(package: str, name: str, version: int, side: Side) -> Any:
    return getattr(kio_module(package, version, side), f"{name}{side.capitalize()}")


@cache
def kio_makers(package: str, side: Side, version: int, first: int, last: int) -> SimpleNamespace:
    """The makers of kio's messages of one version, by the names of their classes.

    A translation names the fields of all served versions, `first` to `last`. A maker leaves out
    those that its version lacks, and makes None of a class that its version lacks. A name that no
    served version knows is a mistake: TypeError for a field, AttributeError for a class. The other
    versions are imported when the first name is left out: usually never.
    """
    return _Makers(
        version, _classes(package, version, side), partial(_known, package, side, first, last)
    )


class _Makers(SimpleNamespace):
    def __init__(self, version: int, here: dict[str, Any], known: _Known) -> None:
        makers = {name: _maker(found, name, known) for name, found in here.items()}
        super().__init__(version=version, known=known, **makers)

    def __getattr__(self, name: str) -> Any:
        """The maker, which returns None, of a class that this version lacks."""
        if name not in self.known():
            raise AttributeError(f"no served version has a class {name}")
        return _maker(_nothing, name, self.known)


def _maker(found: Any, name: str, known: _Known) -> Any:
    here = _names(found)

    def make(**values: Any) -> Any:
        if not values.keys() <= here:
            for lacking in (values.keys() - here) & known()[name]:
                del values[lacking]
        return _constructor(found)(**values)

    return make


@cache
def _constructor(found: Any) -> Any:
    """Makes an instance as the class does, without the guard of a frozen dataclass, which takes a
    call for each field (`node.lazy_dataclass`).
    """
    if not is_dataclass(found):
        return found
    assert not hasattr(found, "__post_init__"), f"{found} does more than to set its fields"
    names: dict[str, Any] = {"new": object.__new__, "found": found}
    parameters, lines = [], []
    for field in fields(found):
        names[f"default_{field.name}"] = field.default
        names[f"set_{field.name}"] = getattr(found, field.name).__set__
        has_default = field.default is not MISSING
        parameters.append(f"{field.name}=default_{field.name}" if has_default else field.name)
        lines.append(f"    set_{field.name}(made, {field.name})")
    first = f"def make({', '.join(['*', *parameters])}):" if parameters else "def make():"
    exec("\n".join([first, "    made = new(found)", *lines, "    return made"]), names)
    return names["make"]


@cache
def _known(package: str, side: Side, first: int, last: int) -> dict[str, set[str]]:
    """The names of all fields of any of these versions, by the names of their classes."""
    known: dict[str, set[str]] = {}
    for each in range(first, last + 1):
        for name, found in _classes(package, each, side).items():
            known.setdefault(name, set()).update(_names(found))
    return known


def _classes(package: str, version: int, side: Side) -> dict[str, Any]:
    module = kio_module(package, version, side)
    return {
        name: found
        for name, found in vars(module).items()
        if is_dataclass(found) and found.__module__ == module.__name__
    }


def _names(kio_class: Any) -> set[str]:
    return {field.name for field in fields(kio_class)} if is_dataclass(kio_class) else set()


def _nothing() -> None:
    """Stands for a struct that a version lacks: the field that holds it is left out too."""
