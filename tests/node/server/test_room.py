"""Room for large requests, and lines of which there are few."""

from hypothesis import given
from hypothesis import strategies as st

from node.server.framing import LEAST_BYTES, PATIENCE_NS, Room
from node.server.output import QUIET_NS, NoticeKind, Notices


def test_room_is_given_in_the_order_in_which_it_was_asked_for() -> None:
    room = Room[str](100)
    assert room.ask("a", 60, 0)
    assert not room.ask("large", 100, 0)
    assert not room.ask("small", 1, 0)  # there would be room for it; it does not pass the other
    assert room.give_back("a", 0) == ["large"]
    assert room.give_back("large", 0) == ["small"]
    assert room.give_back("small", 0) == []
    assert room.held_bytes == 0


def test_who_waits_no_more_lets_others_pass() -> None:
    room = Room[str](100)
    assert room.ask("a", 60, 0)
    assert not room.ask("large", 100, 0)
    assert not room.ask("small", 40, 0)
    assert room.give_back("large", 0) == ["small"]
    assert room.held_bytes == 100


def test_only_who_keeps_others_waiting_and_sends_next_to_nothing_is_idle() -> None:
    room = Room[str](2 * LEAST_BYTES)
    assert room.ask("lazy", LEAST_BYTES, 0)
    assert room.ask("busy", LEAST_BYTES, 0)
    assert room.idle(iter([("lazy", 0), ("busy", 0)]), 5 * PATIENCE_NS) == []
    assert not room.ask("waits", 1, 0)
    arrived = [("lazy", LEAST_BYTES - 1), ("busy", LEAST_BYTES), ("small", 0)]
    assert room.idle(iter(arrived), PATIENCE_NS - 1) == []
    assert room.idle(iter(arrived), PATIENCE_NS) == ["lazy"]
    assert room.idle(iter(arrived), 2 * PATIENCE_NS - 1) == []  # from that look on anew
    assert room.idle(iter(arrived), 2 * PATIENCE_NS) == ["lazy", "busy"]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 10))))
def test_no_more_is_given_than_there_is_and_all_get_some(steps: list[tuple[int, int]]) -> None:
    room, has, waits = Room[int](10), dict[int, int](), dict[int, int]()
    for who, size in steps:
        if who in has or who in waits:
            granted = room.give_back(who, 0)
            has.pop(who, None)
            waits.pop(who, None)
            has |= {each: waits.pop(each) for each in granted}
        elif room.ask(who, size, 0):
            has[who] = size
        else:
            waits[who] = size
        assert room.held_bytes == sum(has.values()) <= 10
        assert not waits or room.held_bytes + next(iter(waits.values())) > 10


def test_of_many_lines_of_a_kind_there_is_one_in_ten_seconds() -> None:
    told, now_ns = list[str](), 0
    notices = Notices(told.append, lambda: now_ns)
    for number in range(5):
        notices.add(NoticeKind.GONE, f"gone {number}")
    notices.add(NoticeKind.CUT, "cut")
    notices.look()
    assert told == ["gone 0", "cut"]
    now_ns = QUIET_NS
    notices.look()
    assert told[2:] == ["gone 4 (and 3 like it before)"]
    notices.add(NoticeKind.CUT, "cut again")  # nothing of it was counted, so it is told at once
    notices.add(NoticeKind.GONE, "gone 5")
    assert told[3:] == ["cut again"]
    now_ns = 2 * QUIET_NS
    notices.look()
    assert told[4:] == ["gone 5"]
