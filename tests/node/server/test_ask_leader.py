"""The tools wait for a leader as long as somebody answers and knows of none (KIP-595)."""

from dataclasses import dataclass, field

import pytest

from node.server.tool_client import Address, NoLeaderFoundError, Patience, send_to_leader

ONE, TWO, INNER = ("node-1", 9101), ("node-2", 9102), ("inner", 9103)
LEADER = "I lead"


@dataclass
class HandTime:
    """Time that passes only in pauses."""

    now_s: float = 100.0
    pauses: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(round(seconds, 3))
        self.now_s += seconds

    def patience(self, within_s: float) -> Patience:
        return Patience(within_s=within_s, now_s=lambda: self.now_s, sleep=self.sleep)


@dataclass
class Controllers:
    """What each answers; nobody leads before `led_at_s`, and then the one at INNER does."""

    time: HandTime
    led_at_s: float = float("inf")
    dead: tuple[Address, ...] = ()
    asked: list[Address] = field(default_factory=list)

    def __call__(self, address: Address) -> str | list[Address]:
        self.asked.append(address)
        if address in self.dead:
            raise ConnectionRefusedError("refused")
        if self.time.now_s < self.led_at_s:
            return []
        return LEADER if address == INNER else [INNER]


def test_they_ask_again_until_somebody_leads_and_pause_longer_each_time() -> None:
    time = HandTime()
    controllers = Controllers(time, led_at_s=102.0)
    assert send_to_leader([ONE, TWO], controllers, time.patience(15.0)) == LEADER
    assert time.pauses == [0.1, 0.2, 0.4, 0.8, 1.0]
    assert controllers.asked == [ONE, TWO] * 5 + [ONE, TWO, INNER]


def test_they_give_up_when_the_time_is_over_and_say_what_they_heard() -> None:
    time = HandTime()
    with pytest.raises(NoLeaderFoundError) as raised:
        send_to_leader([ONE, TWO], Controllers(time, dead=(TWO,)), time.patience(3.0))
    assert sum(time.pauses) == pytest.approx(3.0)
    assert str(raised.value) == (
        "for 3 s, and the last time: node-1:9101: not the leader; node-2:9102: refused"
    )
    assert raised.value.unled


def test_where_nobody_answers_there_is_nothing_to_wait_for() -> None:
    time = HandTime()
    with pytest.raises(NoLeaderFoundError) as raised:
        send_to_leader([ONE, TWO], Controllers(time, dead=(ONE, TWO)), time.patience(15.0))
    assert time.pauses == []
    assert not raised.value.unled


def test_what_a_leader_may_have_done_is_not_asked_for_again() -> None:
    asked: list[Address] = []

    def lost(address: Address) -> str | list[Address]:
        asked.append(address)
        raise NoLeaderFoundError("the answer is lost")

    with pytest.raises(NoLeaderFoundError, match="the answer is lost"):
        send_to_leader([ONE, TWO], lost, HandTime().patience(15.0))
    assert asked == [ONE]
