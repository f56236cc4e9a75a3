import pytest

from checkers.page import units


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (0, "0 s"),
        (12, "12.0 ns"),
        (12_340, "12.3 µs"),
        (340_000_000, "340 ms"),
        (1_250_000_000, "1.25 s"),
        (3_600_000_000_000, "3,600 s"),
    ],
)
def test_durations_have_three_digits_and_a_unit(ns: int, shown: str) -> None:
    assert units.duration(ns) == shown


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("operations_ok", 18602, ("operations ok", "18,602")),
        ("operations_per_s", 479.51, ("operations per second", "480")),
        ("longest_gap_ns", 1_402_000_000, ("longest gap", "1.40 s")),
        ("longest_gap_ms", 12, ("longest gap", "12.0 ms")),
        ("elapsed_s", 2.5, ("elapsed", "2.50 s")),
        ("sent_bytes", 1024, ("sent", "1,024 bytes")),
        ("traced", True, ("traced", "yes")),
        ("leader", None, ("leader", units.NOTHING)),
        ("version", "4.3.1", ("version", "4.3.1")),
    ],
)
def test_the_unit_of_a_statistic_moves_behind_its_value(
    name: str, value: int | float | bool | str | None, shown: tuple[str, str]
) -> None:
    assert units.named(name, value) == shown


def test_moments_are_exact_to_the_millisecond() -> None:
    assert units.moment(12_345_678_901) == "12.346 s"
    assert units.moment(None) == units.NOTHING


def test_decades_of_an_axis_are_round() -> None:
    assert [units.power_of_ten(power) for power in (0, 3, 5, 6, 9, 10)] == [
        "1 ns",
        "1 µs",
        "100 µs",
        "1 ms",
        "1 s",
        "10 s",
    ]
