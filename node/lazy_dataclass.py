"""`dataclass` of the standard library: methods compiled on first call, values frozen only by mypy.

A node has some 350 dataclasses, mostly messages that it may never see. To compile all their methods
takes 0.25 s of CPU time, beside 0.7 s for the rest of a node's import. Bars that need this
(docs/results/bench.md): three nodes answer within 3 s, and a node within 1 s of power coming back.

Frozen classes are hashed by their fields, and mypy checks that no code assigns to one. The standard
library also checks it at run time, whenever a field is set, in `__init__` too, by a call for each
field. A step creates a dozen values. The bar that needs this is the simulator's pace, which falls
by 7 % with brokers where frozen values are guarded at run time.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")
_Method = Callable[..., object]
_COMPILED = ("__init__", "__repr__", "__eq__")


def _dataclass(
    *, slots: bool = False, frozen: bool = False, kw_only: bool = False, order: bool = False
) -> Callable[[type[T]], type[T]]:
    """Same arguments. Classes without slots, ordered, or derived are compiled at once."""

    def make(written: type[T]) -> type[T]:
        is_hashed = frozen and vars(written).get("__hash__") is None
        if not slots or order or any(map(dataclasses.is_dataclass, written.__bases__)):
            return dataclasses.dataclass(
                slots=slots, unsafe_hash=is_hashed, kw_only=kw_only, order=order
            )(written)
        written.__doc__ = written.__doc__ or written.__name__  # else it is made from a signature
        # Copied, since fields without a default are removed from the class.
        namespace: dict[str, Any] = {"__qualname__": written.__qualname__} | {
            name: value
            for name, value in vars(written).items()
            if name not in ("__dict__", "__weakref__")
        }
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(
            written
        )

        def compiled() -> Mapping[str, Any]:
            again: Callable[..., type[T]] = type(written)
            whole = again(written.__name__, written.__bases__, dict(namespace))
            return vars(dataclasses.dataclass(unsafe_hash=is_hashed, kw_only=kw_only)(whole))

        return _finished(made, namespace, compiled, is_hashed=is_hashed, kw_only=kw_only)

    return make


def _finished(
    made: type[T],
    namespace: dict[str, Any],
    compiled: Callable[[], Mapping[str, Any]],
    *,
    is_hashed: bool,
    kw_only: bool,
) -> type[T]:
    """The class with all attributes that the standard library would have set."""
    late = [name for name in _COMPILED if name not in namespace]
    if is_hashed:
        late.append("__hash__")
    elif namespace.get("__hash__") is None:
        _give(made, __hash__=None)
    _give(made, __dataclass_params__=_parameters(is_hashed=is_hashed, kw_only=kw_only))

    @cache
    def methods() -> Mapping[str, Any]:
        """By name. They replace their stubs, unless another value has replaced the stub already."""
        found = compiled()
        unused = [name for name, stub in stubs.items() if vars(made)[name] is stub]
        _give(made, **{name: found[name] for name in unused})
        return found

    stubs = {name: _stub(name, methods) for name in late}
    _give(made, **stubs)
    return made


def _give(made: type[object], **attributes: object) -> None:
    for name, value in attributes.items():
        setattr(made, name, value)


def _stub(name: str, methods: Callable[[], Mapping[str, Any]]) -> _Method:
    """For the first caller, and for callers that kept a reference to the stub."""

    def method(self: object, *arguments: object, **named: object) -> object:
        result: object = methods()[name](self, *arguments, **named)
        return result

    return method


@cache
def _parameters(*, is_hashed: bool, kw_only: bool) -> object:
    """Read by other code: by `dataclasses` itself for a base class."""

    class Like:
        pass

    made = dataclasses.dataclass(unsafe_hash=is_hashed, kw_only=kw_only)(Like)
    return vars(made)["__dataclass_params__"]


if TYPE_CHECKING:  # type checkers know this one
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass
