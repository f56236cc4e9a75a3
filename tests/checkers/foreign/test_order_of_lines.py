"""Files whose lines are in another order than their own indices and times say: refused, by line."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from checkers.foreign import Declared, UnreadableHistoryError, judge, read_history
from checkers.foreign.entries import HistoryLine, pair
from checkers.foreign.foreign_values import MalformedError
from checkers.history.events import EventType
from checkers.verdict import Verdict

Event = tuple[str, int, str, object, int]  # type, process, f, value, and its time or index

FIRST: list[Event] = [("invoke", 0, "write", 1, 0), ("ok", 0, "write", 1, 1)]
READ: list[Event] = [("invoke", 1, "read", None, 40), ("ok", 1, "read", 1, 50)]
SECOND: list[Event] = [("invoke", 0, "write", 2, 20), ("ok", 0, "write", 2, 30)]


def as_edn(events: list[Event], field: str) -> str:
    return "".join(
        f"{{:type :{kind}, :process {process}, :f :{f}, "
        f":value {'nil' if value is None else value}, :{field} {at}}}\n"
        for kind, process, f, value, at in events
    )


def as_json(events: list[Event], field: str) -> str:
    return "".join(
        json.dumps({"type": kind, "process": process, "f": f, "value": value, field: at}) + "\n"
        for kind, process, f, value, at in events
    )


@pytest.mark.parametrize("text_of", [as_edn, as_json])
@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("index", "line 5: expected an index above that of line 4, 50, found index 20"),
        (
            "time",
            "line 6: expected a time from 40 on: this operation is invoked on line 5, after one of "
            "line 3 is completed, found time 30 (sort the lines; if they are sorted, leave times "
            "out)",
        ),
    ],
)
def test_a_stale_read_is_not_hidden_by_sorting(
    tmp_path: Path, text_of: Callable[[list[Event], str], str], field: str, said: str
) -> None:
    """In the order of its times the read is stale; in that of its lines it is not."""
    path = tmp_path / "history"
    path.write_text(text_of([*FIRST, *READ, *SECOND], field))
    with pytest.raises(UnreadableHistoryError) as caught:
        read_history(path, Declared())
    assert str(caught.value) == f"{path}, {said}"
    path.write_text(text_of([*FIRST, *SECOND, *READ], field))
    assert judge(read_history(path, Declared())).verdict is Verdict.INVALID


def line(
    number: int,
    kind: EventType,
    process: int,
    time: int | Decimal | None,
    index: int | None = None,
) -> HistoryLine:
    where = HistoryLine(line=number, type=kind, process=process, f="read", key=None, value=None)
    return replace(where, time=time, index=index)


@pytest.mark.parametrize("at", [None, 40, 41])
def test_what_ends_no_earlier_than_the_other_began_may_have_overlapped(at: int | None) -> None:
    lines = [
        line(1, EventType.INVOKE, 1, 40),
        line(2, EventType.OK, 1, 50),
        line(3, EventType.INVOKE, 0, 20),
        line(4, EventType.OK, 0, at),
    ]
    assert len(pair(lines)) == 2


def test_what_ran_together_says_nothing_of_an_order() -> None:
    lines = [
        line(1, EventType.INVOKE, 1, 40),
        line(2, EventType.INVOKE, 0, 20),
        line(3, EventType.OK, 1, 50),
        line(4, EventType.OK, 0, 30),
    ]
    assert len(pair(lines)) == 2


@pytest.mark.parametrize(("indices", "refused"), [((0, 3), ()), ((3, 3), (2,)), ((3, None), ())])
def test_an_index_rises_where_there_is_one(
    indices: tuple[int | None, ...], refused: tuple[int, ...]
) -> None:
    lines = [line(n, EventType.INVOKE, n, None, index) for n, index in enumerate(indices, 1)]
    if not refused:
        assert len(pair(lines)) == len(lines)
        return
    with pytest.raises(MalformedError) as caught:
        pair(lines)
    assert caught.value.line == refused[0]


def test_an_unindexed_operation_of_jepsen_has_minus_one(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(as_edn([(*each[:4], -1) for each in FIRST], "index"))
    assert judge(read_history(path, Declared())).verdict is Verdict.VALID


def recorded(rng: random.Random) -> list[HistoryLine]:
    """Threads that read one clock, wait for any time, and then write their lines: each event by
    itself, in the order of its own thread."""
    now = Decimal(0)
    lines: list[HistoryLine] = []
    waiting: dict[int, tuple[EventType, Decimal] | None] = dict.fromkeys(range(6))
    opened: set[int] = set()
    for _ in range(200):
        now += rng.randint(0, 3)
        process = rng.randrange(6)
        taken = waiting[process]
        if taken is None:
            kind = EventType.OK if process in opened else EventType.INVOKE
            waiting[process] = (kind, now)
            continue
        kind, time = taken
        (opened.add if kind is EventType.INVOKE else opened.discard)(process)
        waiting[process] = None
        lines.append(line(len(lines) + 1, kind, process, time))
    return lines


def test_no_recorder_that_takes_the_time_before_it_writes_is_refused() -> None:
    went_back = 0
    for seed in range(200):
        lines = recorded(random.Random(seed))
        times = [each.time for each in lines if each.time is not None]
        went_back += times != sorted(times)
        assert pair(lines)
    assert went_back > 150  # else nothing was tried


def test_two_files_in_one_are_refused() -> None:
    found = 0
    for seed in range(50):
        one, other = recorded(random.Random(seed)), recorded(random.Random(seed + 1000))
        shifted = [
            replace(each, line=each.line + len(one), process=int(each.process) + 10)
            for each in other
        ]
        with pytest.raises(MalformedError):
            pair([*one, *shifted])
        found += 1
    assert found == 50
