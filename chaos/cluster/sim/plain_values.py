"""kio's messages, made without the guard of a frozen dataclass while a simulated run lasts.

With it each field of a new one is set by a call (`node.lazy_dataclass`). They are another's
classes, so wherever else the node runs they are left as they are.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field, fields, is_dataclass, make_dataclass
from functools import cache
from types import ModuleType
from typing import Any

from node.wire import apis
from node.wire.api import SIDES, kio_module

_GUARD = ("__setattr__", "__delattr__")  # what a frozen dataclass has, and others have not
_REPLACED = ("__init__", *_GUARD)


@contextmanager
def plain_values() -> Iterator[None]:
    """Until the block ends; within another such block nothing is left to do."""
    frozen = {each: [(name, vars(each)[name]) for name in _REPLACED] for each in _guarded()}
    for each in frozen:
        _put(each, [("__init__", _plain_init(each))])
        for name in _GUARD:
            delattr(each, name)
    try:
        yield
    finally:
        for each, own in frozen.items():
            _put(each, own)


def _guarded() -> list[type]:
    """In the versions that nodes speak."""
    spoken = [kio_module(api.package, api.max_version, side) for api in apis.APIS for side in SIDES]
    found = [each for module in spoken for each in _values_of(module)]
    return [each for each in found if all(name in vars(each) for name in _GUARD)]


@cache
def _values_of(module: ModuleType) -> list[type]:
    own = (each for each in vars(module).values() if isinstance(each, type))
    return [each for each in own if each.__module__ == module.__name__ and is_dataclass(each)]


@cache
def _plain_init(cls: Any) -> Callable[..., None]:
    """The one that a dataclass of these fields has if it is not frozen."""
    assert not hasattr(cls, "__post_init__"), f"{cls} does more than to set its fields"
    alike: list[Any] = [(each.name, each.type, field(**_options(each))) for each in fields(cls)]
    made: Callable[..., None] = vars(make_dataclass(cls.__name__, alike))["__init__"]
    return made


def _options(each: Any) -> dict[str, Any]:
    return {name: getattr(each, name) for name in ("default", "default_factory", "init", "kw_only")}


def _put(cls: type, members: list[tuple[str, Any]]) -> None:
    for name, member in members:
        setattr(cls, name, member)
