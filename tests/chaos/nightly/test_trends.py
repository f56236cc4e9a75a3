"""A latency that doubles, and a scenario that becomes red or void more often, are told on the next
morning and on those after it; chance is not."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from chaos.nightly.forms import as_markdown, as_message, as_text
from spark_reports.ledger import LedgerRow, Night
from spark_reports.morning import render_morning
from spark_reports.nights import compare_nights, more_often, slower_than
from tests.chaos.nightly.rows import green, night, red, void

NIGHTS, SUBJECTS, SERIES, RATES = 15, 20, 60, 20


def nights_of(random: Random, factor: Callable[[int], float], measure: str) -> list[Night]:
    """Subjects of different speed that stray by a third; a machine has good and bad nights."""
    speeds = [random.lognormvariate(3, 1) for _ in range(SUBJECTS)]
    found = []
    for number in range(NIGHTS):
        machine = random.lognormvariate(0, 0.1) * factor(number)
        rows = [
            green(
                f"{number}-{subject}",
                scenario=f"s{subject}",
                statistics={measure: speed * machine * random.lognormvariate(0, 0.33)},
                commit=f"{number:02}{'c' * 38}",
            )
            for subject, speed in enumerate(speeds)
        ]
        found.append(night(f"2026-11-{number + 1:02}", *rows))
    return found


def test_a_doubling_is_told_on_the_next_morning() -> None:
    seen = 0
    for seed in range(SERIES):
        nights = nights_of(Random(seed), lambda n: 2.0 if n == NIGHTS - 1 else 1.0, MEASURE)
        told = slower_than(nights[-1], nights[:-1])
        seen += [(each.measure, each.subjects) for each in told] == [(MEASURE, SUBJECTS)]
    assert seen >= SERIES - SERIES // 20


@pytest.mark.parametrize("mornings", [2, 3, 5])
def test_it_is_told_on_the_mornings_after_too_with_the_first_night(mornings: int) -> None:
    first, seen = NIGHTS - mornings, 0
    for seed in range(SERIES):
        nights = nights_of(Random(seed), lambda n: 2.0 if n >= first else 1.0, MEASURE)
        told = slower_than(nights[-1], nights[:-1])
        commits = f"commits {first - 1:02}cccccccc..{first:02}cccccccc"
        seen += [(each.since, each.commits) for each in told] == [(nights[first].date, commits)]
    assert seen >= SERIES - SERIES // 20


def test_a_time_that_is_as_it_was_before_is_not_told_any_more() -> None:
    for seed in range(SERIES):
        nights = nights_of(Random(seed), lambda n: 2.0 if 8 <= n < 13 else 1.0, MEASURE)
        assert slower_than(nights[-1], nights[:-1]) == []


def test_chance_is_told_in_one_series_of_nights_in_twenty_at_most() -> None:
    """Each morning of a series is read: nine of them have a basis."""
    cried = 0
    for seed in range(SERIES):
        nights = nights_of(Random(f"quiet {seed}"), lambda _: 1.0, MEASURE)
        cried += any(slower_than(nights[at], nights[:at]) for at in range(1, NIGHTS))
    assert cried <= SERIES // 20


def test_what_has_no_basis_or_is_red_is_not_told() -> None:
    nights = nights_of(Random(1), lambda n: 5.0 if n >= 3 else 1.0, MEASURE)
    assert slower_than(nights[3], nights[:3]) == []
    assert slower_than(nights[0], []) == []
    slow = night(
        "2026-12-01",
        *(red(f"r{n}", scenario=f"s{n}", statistics={MEASURE: 1e6}) for n in range(SUBJECTS)),
    )
    assert slower_than(slow, nights) == []


MEASURE = "latency_p99_ms"


def rates_of(random: Random, share: Callable[[int, int], float], kind: str = "red") -> list[Night]:
    """Ten scenarios of ten runs each a night; `share` of a night's number and a scenario's."""

    def row(number: int, scenario: int, run: int) -> LedgerRow:
        key, name = f"{number}-{scenario}-{run}", f"s{scenario}"
        if random.random() >= share(number, scenario):
            return green(key, scenario=name)
        return red(key, scenario=name) if kind == "red" else void(key, scenario=name)

    return [
        night(f"2026-11-{n + 1:02}", *(row(n, s, run) for s in range(10) for run in range(10)))
        for n in range(NIGHTS)
    ]


def worse_in_the_end(usual: float, now: float) -> Callable[[int, int], float]:
    return lambda number, scenario: now if (number, scenario) == (NIGHTS - 1, 7) else usual


@pytest.mark.parametrize("kind", ["red", "void"])
def test_what_fails_more_often_is_told(kind: str) -> None:
    """From 1 in 50 to 4 in 5; and from never to 7 in 10."""
    for usual, now in ((0.02, 0.8), (0.0, 0.7)):
        seen = 0
        for seed in range(RATES):
            nights = rates_of(Random(seed), worse_in_the_end(usual, now), kind)
            told = more_often(nights[-1], nights[:-1])
            seen += [(each.subject.split(",")[0], each.what) for each in told] == [("s7", kind)]
        assert seen >= RATES - RATES // 10, (usual, now)


def test_chance_is_not_called_more_often() -> None:
    cried = 0
    for seed in range(RATES):
        nights = rates_of(Random(f"quiet {seed}"), lambda _n, s: 0.2 if s < 3 else 0.02)
        cried += bool(more_often(nights[-1], nights[:-1]))
    assert cried <= RATES // 20


@pytest.mark.parametrize("part", ["repeat", "triage", "red before", "made small"])
def test_runs_that_were_chosen_because_of_a_red_one_are_no_rate(part: str) -> None:
    before = [night("2026-11-01", *(green(f"g{n}") for n in range(50)))]
    repeats = [red(f"r{n}", part=part) for n in range(20)]
    assert more_often(night("2026-11-02", green("g"), *repeats), before) == []
    drawn = [red(f"r{n}", part="exploration") for n in range(20)]
    (told,) = more_often(night("2026-11-02", green("g"), *drawn), before)
    assert told.words.startswith("power-off, node: 20 of 21 ")


def test_what_no_night_before_tried_has_no_rate() -> None:
    assert more_often(night("2026-11-02", *(red(f"r{n}") for n in range(20))), []) == []
    before = [night("2026-11-01", *(green(f"g{n}", scenario="other") for n in range(50)))]
    assert more_often(night("2026-11-02", *(red(f"r{n}") for n in range(20))), before) == []


def test_the_morning_tells_it(tmp_path: Path) -> None:
    nights = nights_of(Random(3), lambda n: 3.0 if n == NIGHTS - 1 else 1.0, MEASURE)
    found = compare_nights(nights[-1], nights[:-1])
    (slower,) = found.slower
    assert slower.words.startswith("node (sim): the 99th percentile of latency is ")
    page = render_morning(found, nights[:-1], tmp_path / "morning.html", tmp_path)
    for told in (as_text(found), as_markdown(found), page):
        assert slower.words in told
    assert as_message(found, tmp_path / "morning.html")["slower"] == [slower.words]
