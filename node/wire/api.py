"""What the codec knows of one API: which versions are served, and how its messages translate."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

from node.messages import ApiRange

Side = Literal["request", "response"]
SIDES: tuple[Side, ...] = ("request", "response")
# A kio message to ours; ours to a kio message of the version whose module is given.
FromKio = Callable[[Any], Any]
ToKio = Callable[[Any, ModuleType], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One API. `name` is Kafka's; `package` is where kio keeps it."""

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

    @property
    def range(self) -> ApiRange:
        return ApiRange(
            api_key=self.key, min_version=self.min_version, max_version=self.max_version
        )

    def serves(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version


@cache
def kio_module(package: str, version: int, side: Side) -> ModuleType:
    """kio's classes of one message in one version. The first call imports them."""
    return import_module(f"kio.schema.{package}.v{version}.{side}")


@cache
def kio_class(package: str, name: str, version: int, side: Side) -> Any:
    return getattr(kio_module(package, version, side), f"{name}{side.capitalize()}")
