"""A latency that doubles from one night to the next is told on the next morning; chance is not."""

from collections.abc import Callable
from pathlib import Path
from random import Random

from chaos.nightly.forms import as_markdown, as_message, as_text
from spark_reports.ledger import Night
from spark_reports.morning import render_morning
from spark_reports.nights import compare_nights
from spark_reports.slower import slower_than
from tests.chaos.nightly.rows import green, night, red

NIGHTS, SUBJECTS, SERIES = 15, 20, 60


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


def test_the_morning_tells_it(tmp_path: Path) -> None:
    nights = nights_of(Random(3), lambda n: 3.0 if n == NIGHTS - 1 else 1.0, MEASURE)
    found = compare_nights(nights[-1], nights[:-1])
    (slower,) = found.slower
    assert slower.words.startswith("node (sim): the 99th percentile of latency is ")
    page = render_morning(found, nights[:-1], tmp_path / "morning.html", tmp_path)
    for told in (as_text(found), as_markdown(found), page):
        assert slower.words in told
    assert as_message(found, tmp_path / "morning.html")["slower"] == [slower.words]
