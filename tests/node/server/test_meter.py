"""Latencies and rates, from what nodes tell while they run in virtual time."""

import math
from collections.abc import Callable

import pytest

from node.effects import Trace, TraceValue
from node.ids import MS, NodeId, Now
from node.server.metrics import SAMPLE_NS, Meter, Window
from tests.support.quorum import SECOND, WALL_START_NS, Quorum
from tests.support.quorum_members import TraceLine

START = Now(100 * SAMPLE_NS, 5 * SECOND)


def heard(*told: tuple[int, str, dict[str, TraceValue]]) -> Meter:
    """A meter that was told so much, each at so many ms."""
    meter = Meter(START)
    for at_ms, event, fields in told:
        now = Now(START.mono_ns + at_ms * MS, START.wall_ns + at_ms * MS)
        meter.on_trace(Trace(event=event, fields=fields), now)
    return meter


def state(name: str) -> dict[str, TraceValue]:
    return {"state": name}


def append(base: int, last: int, role: str = "leader") -> dict[str, TraceValue]:
    return {"base": base, "last": last, "role": role}


def at_ms(meter: Meter, ms: int) -> dict[str, float]:
    return meter.measured(START.mono_ns + ms * MS)


def test_an_election_lasts_over_its_rounds() -> None:
    meter = heard(
        (10, "q.state", state("prospective")),
        (30, "q.state", state("candidate")),
        (60, "q.state", state("prospective")),
        (70, "q.state", state("candidate")),
        (90, "q.state", state("leader")),
        (200, "q.state", state("unattached")),
        (300, "q.state", state("prospective")),
        (340, "q.state", state("unattached")),
        (400, "q.state", state("follower")),
        (500, "q.state", state("follower")),
    )
    assert at_ms(meter, 600)["election-latency-max"] == 100
    assert at_ms(meter, 600)["election-latency-avg"] == 90


def test_a_commit_is_a_batch_that_the_high_watermark_passed() -> None:
    meter = heard(
        (0, "q.append", append(0, 0)),
        (10, "q.append", append(1, 5)),
        (20, "q.hwm", {"hwm": 5}),  # 0 to 4
        (40, "q.hwm", {"hwm": 6}),
    )
    assert at_ms(meter, 50)["commit-latency-avg"] == 25
    assert at_ms(meter, 50)["commit-latency-max"] == 30


def test_what_a_leader_left_behind_is_nobodys_commit() -> None:
    meter = heard(
        (0, "q.append", append(0, 0)),
        (10, "q.state", state("resigned")),
        (20, "q.hwm", {"hwm": 9}),
    )
    assert math.isnan(at_ms(meter, 50)["commit-latency-avg"])


def test_rates_are_of_records_by_role() -> None:
    meter = heard((0, "q.append", append(0, 9)), (500, "q.append", append(10, 39, "follower")))
    told = at_ms(meter, 2000)
    assert told["append-records-rate"] == pytest.approx(5)
    assert told["fetch-records-rate"] == pytest.approx(15)


def test_the_time_that_turns_do_not_take_is_idle() -> None:
    meter = Meter(START)
    assert math.isnan(meter.measured(START.mono_ns)["poll-idle-ratio-avg"])
    meter.on_turn(START.mono_ns + 10 * MS, START.mono_ns + 40 * MS)
    assert at_ms(meter, 100)["poll-idle-ratio-avg"] == pytest.approx(0.7)
    meter.on_turn(START.mono_ns + 100 * MS, START.mono_ns + 200 * MS)
    assert at_ms(meter, 200)["poll-idle-ratio-avg"] == pytest.approx(0.35)


def test_the_process_began_once() -> None:
    assert at_ms(Meter(START), 100)["boot-timestamp"] == 5000


@pytest.mark.parametrize(
    ("after_samples", "average", "most"), [(0.5, 2, 3), (1.5, 2, 3), (2, math.nan, math.nan)]
)
def test_a_window_forgets(after_samples: float, average: float, most: float) -> None:
    window = Window(0)
    window.record(1, 1)
    window.record(3, 2)
    now_ns = int(after_samples * SAMPLE_NS)
    assert window.average(now_ns) == pytest.approx(average, nan_ok=True)
    assert window.maximum(now_ns) == pytest.approx(most, nan_ok=True)


def test_a_window_holds_two_samples_however_long_it_is_used() -> None:
    window = Window(0)
    for number in range(10):
        window.record(number, number * SAMPLE_NS)
    assert window.average(9 * SAMPLE_NS) == 8.5
    assert window.per_ns(10 * SAMPLE_NS) == 9 / SAMPLE_NS
    assert window.per_ns(12 * SAMPLE_NS) == 0


def metered() -> tuple[dict[NodeId, Meter], Callable[[Quorum, TraceLine], None]]:
    meters: dict[NodeId, Meter] = {}

    def watch(_quorum: Quorum, line: TraceLine) -> None:
        now = Now(line.at_ns, WALL_START_NS + line.at_ns)
        meter = meters.setdefault(line.node, Meter(now))
        meter.on_trace(Trace(event=line.event, fields=line.fields), now)  # type: ignore[arg-type]

    return meters, watch


@pytest.mark.parametrize("seed", range(3))
def test_a_quorum_is_measured_as_its_account_says(seed: int) -> None:
    meters, watch = metered()
    quorum = Quorum(seed=seed, watchers=(watch,))
    quorum.start()
    assert quorum.run_until(lambda: bool(quorum.active()), 20 * SECOND)
    quorum.run_for(5 * SECOND)
    (leader,) = quorum.leaders()
    lines = [line for line in quorum.lines if line.node == leader]
    stood = [line.at_ns for line in lines if line.fields.get("state") == "prospective"]
    led = [line.at_ns for line in lines if line.fields.get("state") == "leader"][-1]
    told = {node: meter.measured(quorum.now_ns) for node, meter in meters.items()}
    longest = told[leader]["election-latency-max"]
    assert (led - stood[-1]) / MS <= longest <= (led - stood[0]) / MS
    assert 0 < told[leader]["commit-latency-avg"] <= told[leader]["commit-latency-max"] < 200
    written = sum(
        int(str(line.fields["last"])) - int(str(line.fields["base"])) + 1
        for line in lines
        if line.event == "q.append"
    )
    seconds = (quorum.now_ns - SECOND) / SECOND
    assert told[leader]["append-records-rate"] == pytest.approx(written / seconds)
    for node in set(told) - {leader}:
        assert told[node]["fetch-records-rate"] == pytest.approx(written / seconds, rel=0.5)
        assert math.isnan(told[node]["commit-latency-avg"])
