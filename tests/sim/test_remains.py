"""`may_have_left` says yes to what `power_cut` may leave, and to nothing else.

On small programs every choice of the cut is taken, so the whole set is known. What is not in it is
looked for near by: one file of one outcome among the others of another one, pages exchanged, sizes
cut, a byte changed.
"""

from collections.abc import Iterator
from copy import deepcopy
from random import Random

import pytest

from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.disk.filesystem import FileSystem
from chaos.cluster.sim.disk.journal import PAGE
from tests.sim.every_choice import outcomes
from tests.sim.programs import Program, State, perform
from tests.sim.remains import may_have_left

DIRTY = 4  # pages at most: each doubles the number of outcomes

Frozen = tuple[tuple[str, bytes | None], ...]  # a state that can be a member of a set


def state_of(filesystem: FileSystem) -> State:
    files = filesystem.files()
    return {path: files.get(path) for path in filesystem.metadata.tree()}


def ran(seed: int, operations: int) -> FileSystem:
    filesystem = FileSystem()
    filesystem.mkdir("p")
    program = Program("p", Random(f"remains:{seed}"))
    for _ in range(operations):
        perform(filesystem, program.draw())
    return filesystem


def left_by(filesystem: FileSystem, mode: PowerCutMode) -> set[Frozen]:
    def cut(rng: Random) -> Frozen:
        victim = deepcopy(filesystem)
        victim.power_cut(mode, rng)
        return tuple(state_of(victim).items())

    return set(outcomes(cut))


def neighbours(states: list[Frozen], rng: Random) -> Iterator[State]:
    for state in states:
        other = dict(rng.choice(states))
        for path, content in state:
            if content is None:
                yield {at: it for at, it in state if at != path}
                continue
            for changed in (other.get(path, b""), *changes(content, other.get(path), rng)):
                yield {**dict(state), path: changed}


def changes(content: bytes, other: bytes | None, rng: Random) -> Iterator[bytes]:
    yield content[: rng.randint(0, len(content))]
    yield content + b"\0"
    page = rng.randint(0, len(content) // PAGE) * PAGE
    between = slice(page, page + PAGE)
    yield content[:page] + bytes(len(content[between])) + content[page + PAGE :]
    if other and len(other) > page:
        yield content[:page] + other[between] + content[page + PAGE :]
    if content:
        yield content[:-1] + b"\xff"


@pytest.mark.parametrize("mode", list(PowerCutMode))
def test_it_knows_the_very_set(mode: PowerCutMode) -> None:
    possible = impossible = 0
    programs = (ran(seed, 4 + seed % 6) for seed in range(60))
    small = [it for it in programs if sum(len(f.dirty) for f in it.cached.values()) <= DIRTY]
    for seed, filesystem in enumerate(small):
        left = left_by(filesystem, mode)
        for member in left:
            assert may_have_left(filesystem, mode, dict(member)) is None
        for state in neighbours(sorted(left, key=str)[:40], Random(seed)):
            reason = may_have_left(filesystem, mode, state)
            assert (reason is None) == (tuple(sorted(state.items())) in left), (seed, state)
            possible += reason is None
            impossible += reason is not None
    assert impossible > 200
    assert possible > 100 or mode is not PowerCutMode.TORN


def test_it_says_what_is_wrong() -> None:
    filesystem = FileSystem()
    descriptor = filesystem.open("a", create=True)
    filesystem.write(descriptor, 0, b"x" * 5000)
    filesystem.fsync(descriptor)

    def reason(state: State) -> str:
        return may_have_left(filesystem, PowerCutMode.TORN, state) or ""

    assert reason({"a": b"x" * 5000}) == ""
    assert reason({}) == "the names are [], not ['a']"
    assert reason({"a": None}).startswith("the names are ['a'], not ['a']")
    assert reason({"a": b"x" * 4999}) == "a: the size is 4999, not one of [5000]"
    torn = b"x" * PAGE + b"y" * 904
    assert reason({"a": torn}) == "a: page 1 of 5000 bytes is neither lost nor written"
