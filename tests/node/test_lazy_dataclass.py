"""Dataclasses whose methods are compiled late, against those of the standard library: what is
frozen is like one that is hashed and not guarded."""

import ast
import copy
import dataclasses
import pickle
import re
from collections.abc import Callable
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import mypy.api
import pytest

from node.lazy_dataclass import dataclass

T = TypeVar("T")
FROZEN = {"slots": True, "frozen": True, "kw_only": True}
OPTIONS: list[dict[str, bool]] = [
    FROZEN,
    {"slots": True, "frozen": True},
    {"slots": True, "kw_only": True},
    {"slots": True},
    {"slots": True, "frozen": True, "order": True},
    {"frozen": True},
]
ROOT = Path(__file__).parents[2]


def both(options: dict[str, bool]) -> tuple[type[Any], type[Any]]:
    """The same class, late and at once."""

    def written() -> type[Any]:
        class Written(Generic[T]):
            """With defaults of both kinds, a check of its own, and a method."""

            at: int
            names: list[str] = field(default_factory=list)
            hidden: int = field(default=3, repr=False, compare=False)

            def __post_init__(self) -> None:
                if self.at < 0:
                    raise ValueError(self.at)

            def twice(self) -> int:
                return 2 * self.at

        return Written

    make: Any = dataclass
    hashed = {"unsafe_hash": True, "frozen": False} if options.get("frozen") else {}
    return make(**options)(written()), dataclasses.dataclass(**{**options, **hashed})(written())


def outcome(of: Callable[[], object]) -> object:
    """What comes of it, as text: the classes differ, and their names do not."""
    try:
        return repr(of())
    except (TypeError, ValueError, AttributeError) as error:
        return type(error), str(error)


STANDARD: Any = dataclasses.dataclass
USES: dict[str, Callable[[Any], object]] = {
    "init": lambda made: made(at=1),
    "default": lambda made: made(at=1).names,
    "refused": lambda made: made(at=-1),
    "missing": lambda made: made(),
    "unknown": lambda made: made(at=1, other=2),
    "positional": lambda made: made(1, ["a"]),
    "equal": lambda made: made(at=1) == made(at=1, hidden=9),
    "unequal": lambda made: made(at=1) != made(at=2),
    "hash": lambda made: hash(made(at=1, names=("a",))) == hash(made(at=1, names=("a",))),
    "repr": lambda made: repr(made(at=1)),
    "replaced": lambda made: replace(made(at=1), at=2),
    "refused by replacing": lambda made: replace(made(at=1), at=-2),
    "fields": lambda made: [each.name for each in fields(made)],
    "as tuple": lambda made: dataclasses.astuple(made(at=1)),
    "set": lambda made: setattr(made(at=1), "at", 2),
    "deleted": lambda made: delattr(made(at=1), "at"),
    "copied": lambda made: copy.deepcopy(made(at=1, names=["a"])),
    "method": lambda made: made(at=4).twice(),
    "matched": lambda made: made.__match_args__,
    "ordered": lambda made: made(at=1) < made(at=2),
    "slots": lambda made: (vars(made).get("__slots__"), hasattr(made(at=1), "__dict__")),
    "parameters": lambda made: repr(made.__dataclass_params__),
    "document": lambda made: made.__doc__,
}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("use", USES)
def test_whatever_is_done_first_it_is_as_the_standard_librarys(
    options: dict[str, bool], use: str
) -> None:
    late, at_once = both(options)
    expected = outcome(lambda: USES[use](at_once))
    assert outcome(lambda: USES[use](late)) == expected
    assert outcome(lambda: USES[use](late)) == expected, "once its methods are compiled"


@dataclass(slots=True, frozen=True, kw_only=True)
class Base:
    at: int


@dataclass(slots=True, frozen=True, kw_only=True)
class Derived(Base):
    name: str = "n"


@dataclass(slots=True, frozen=True)
class Own:
    at: int

    def __repr__(self) -> str:
        return "own"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    def __hash__(self) -> int:
        return 7


def test_what_is_derived_has_both_fields_and_is_no_equal_of_its_base() -> None:
    assert repr(Derived(at=1)) == "Derived(at=1, name='n')"
    assert Derived(at=1) == Derived(at=1) != Base(at=1)


def test_what_a_class_says_itself_is_kept() -> None:
    assert (repr(Own(1)), Own(1) == Own(2), hash(Own(1))) == ("own", True, 7)


def test_what_is_frozen_can_be_pickled() -> None:
    before = Derived(at=1, name="m")
    assert pickle.loads(pickle.dumps(before)) == before


FROZEN_IS_SET = """
from node.ids import ReplicaKey
from node.effects import ElectionState

def change(state: ElectionState, key: ReplicaKey) -> None:
    state.epoch = state.epoch
    key.id = key.id
"""


def test_mypy_guards_what_is_frozen(tmp_path: Path) -> None:
    """Nothing else does."""
    written = tmp_path / "written.py"
    written.write_text(FROZEN_IS_SET, encoding="utf-8")
    options = ["--strict", "--cache-dir", str(ROOT / ".mypy_cache"), "--no-error-summary"]
    found, _, code = mypy.api.run([*options, str(written)])
    assert code == 1
    assert found.count("is read-only") == 2, found


def test_what_was_taken_or_wrapped_before_it_was_compiled_goes_on() -> None:
    late, _ = both(FROZEN)
    taken, heard = late.__init__, []

    def wrapped(self: object, **named: object) -> None:
        heard.append(named)
        taken(self, **named)

    late.__init__ = wrapped
    first, second = late(at=1), late(at=1)
    assert first == second
    assert heard == [{"at": 1}, {"at": 1}]
    taken(first, at=3)
    assert first.at == 3


def test_methods_are_compiled_when_the_first_is_called_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[str] = []

    def make(**options: bool) -> Any:
        compiled.extend(["all"] if options.get("init", True) else [])
        return STANDARD(**options)

    monkeypatch.setattr(dataclasses, "dataclass", make)
    made: Any = dataclass
    late = made(slots=True)(type("Late", (), {"__annotations__": {"at": int}}))
    compiled.clear()  # of what is only prepared
    assert [each.name for each in fields(late)] == ["at"]
    assert compiled == []
    taken = late.__init__
    taken(late(1), 2)
    assert repr(late(1)) == "Late(at=1)"
    assert compiled == ["all"]


def test_no_class_of_the_node_is_compiled_where_it_is_imported() -> None:
    sources = ((path, path.read_text(encoding="utf-8")) for path in (ROOT / "node").rglob("*.py"))
    at_once = [
        str(path.relative_to(ROOT))
        for path, source in sources
        if re.search(r"from dataclasses import (\(|.*\bdataclass\b)", source)  # parsing takes long
        for each in ast.walk(ast.parse(source))
        if isinstance(each, ast.ImportFrom) and each.module == "dataclasses"
        if "dataclass" in {name.name for name in each.names}
    ]
    assert at_once == ["node/lazy_dataclass.py"], "the others import it from there"
