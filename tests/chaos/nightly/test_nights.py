"""What a night says beside those before it, and the page and forms that show it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import JUnitXml

from chaos.commands.nightly_command import notify
from chaos.nightly.forms import annotations, as_markdown, as_message, as_text, write_junit
from checkers.verdict import Verdict
from spark_reports.ledger import SCHEMA, LedgerRow, Night, read_nights, row_from, write_part
from spark_reports.morning import render_morning
from spark_reports.nights import Comparison, RedStanding, compare_nights
from tests.chaos.nightly.rows import CANARY, green, night, red
from tests.support.pages import assert_self_contained

FIRST, SECOND, THIRD = "2026-11-26", "2026-11-27", "2026-11-28"


def of(found: Comparison) -> list[tuple[str, RedStanding, str]]:
    return [(group.fingerprint, group.standing, group.since) for group in found.groups]


def test_a_failure_is_new_then_still_red_then_mended_then_back() -> None:
    other = green("g", scenario="disk-loss")
    nights = [
        night(FIRST, red("a"), other),
        night(SECOND, red("b"), other),
        night(THIRD, green("c"), other),
        night("2026-11-29", red("d"), other),
    ]
    found = [compare_nights(each, nights[:place]) for place, each in enumerate(nights)]
    assert [of(each) for each in found] == [
        [("Q1: it broke", RedStanding.NEW, FIRST)],
        [("Q1: it broke", RedStanding.STILL, FIRST)],
        [],
        [("Q1: it broke", RedStanding.BACK, FIRST)],
    ]
    assert [each.mended for each in found] == [
        (),
        (),
        ((("power-off", "Q1: it broke"), SECOND),),
        (),
    ]
    assert [each.verdict for each in found] == [
        Verdict.INVALID,
        Verdict.INVALID,
        Verdict.VALID,
        Verdict.INVALID,
    ]


def test_what_was_not_tried_is_not_mended_but_not_covered() -> None:
    tried = night(SECOND, green("b", scenario="disk-loss"))
    found = compare_nights(tried, [night(FIRST, red("a"), green("g", scenario="disk-loss"))])
    assert found.mended == ()
    assert found.uncovered == ("power-off, node",)
    again = night(THIRD, red("c"))
    found = compare_nights(again, [night(FIRST, red("a")), tried])
    assert of(found) == [("Q1: it broke", RedStanding.STILL, FIRST)]


def test_the_same_failure_elsewhere_is_a_group_of_its_own_and_is_counted_apart() -> None:
    rows = [red("a"), red("b", seed=2), green("c", seed=3), red("d", scenario="disk-loss")]
    found = compare_nights(night(FIRST, *rows), [])
    assert [(group.scenario, group.rate) for group in found.groups] == [
        ("disk-loss", "1 of 1 (21-100 %)"),
        ("power-off", "2 of 3 (21-94 %)"),
    ]


def test_one_plan_that_is_red_only_sometimes_is_flaky() -> None:
    rows = [red("a"), green("b", attempt=1), green("c", attempt=2), green("d", seed=2)]
    ((row, share),) = compare_nights(night(FIRST, *rows), []).flaky
    assert (row.seed, share) == (1, "1 of 3 (6-79 %)")


@pytest.mark.parametrize(
    ("rows", "doubt"),
    [
        ((green("a"),), "no canary was run"),
        ((CANARY,), "nothing was run"),
        *(
            (
                (replace(CANARY, counts_as=missed), green("a")),
                "Q-ZOMBIE was planted, and no check named for it accused",
            )
            for missed in Verdict
            if missed is not Verdict.VALID
        ),
        (
            (CANARY, green("a"), green("b", counts_as=Verdict.VOID)),
            "1 of 2 (9-91 %) runs are void",
        ),
        (
            (CANARY, green("a"), green("b", counts_as=Verdict.UNKNOWN)),
            "1 of 2 (9-91 %) runs are undecided",
        ),
        (
            (CANARY, green("a", counts_as=Verdict.UNKNOWN)),
            "1 of 1 (21-100 %) runs are undecided",
        ),
    ],
)
def test_a_night_that_proves_little_is_not_trusted(rows: tuple[LedgerRow, ...], doubt: str) -> None:
    found = compare_nights(Night(date=FIRST, rows=rows), [])
    assert found.doubts == [doubt]
    assert (found.verdict, found.groups) == (Verdict.ERROR, ())


def test_rows_come_back_as_they_were_written_and_each_counts_once(tmp_path: Path) -> None:
    full = red(
        "a",
        statistics={"p99": 1.5},
        struck={"kill|leader|led": 2},
        witness=({"t_ns": 5, "what": "it broke"}, {"t_ns": None, "what": "so"}),
        checks=({"check": "Q1", "verdict": "invalid", "looked_at": 9, "count": 1},),
    )
    for name in ("1", "2", "1"):
        write_part(tmp_path, FIRST, name, [replace(full, night=FIRST)])
    write_part(tmp_path, SECOND, "1", [])
    nights = read_nights(tmp_path)
    assert [(each.date, len(each.rows), each.problems) for each in nights] == [
        (FIRST, 1, ()),
        (SECOND, 0, ()),
    ]
    (row,) = nights[0].rows
    assert row_from(row.as_json()) == row
    assert replace(row, witness=(), checks=()) == replace(full, night=FIRST, witness=(), checks=())
    assert [dict(each) for each in row.witness] == [dict(each) for each in full.witness]
    assert {field.name for field in SCHEMA} >= set(row.as_json()) - {"night"}
    assert read_nights(tmp_path, newest=1) == nights[1:]


def test_a_damaged_part_is_a_doubt_and_hides_no_other(tmp_path: Path) -> None:
    for name in ("1", "2"):
        write_part(tmp_path, FIRST, name, [green(name, night=FIRST), replace(CANARY, night=FIRST)])
    damaged = tmp_path / f"night={FIRST}" / "part-1.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    (tmp_path / f"night={FIRST}" / ".part-3.parquet.7").write_bytes(b"being written")
    (found,) = read_nights(tmp_path)
    assert [row.key for row in found.rows] == ["2", "canary"]
    (doubt,) = compare_nights(found, []).doubts
    assert doubt.startswith(f"{damaged}: cannot be read: ")


GOOD = compare_nights(night(SECOND, green("a")), [night(FIRST, green("b"))])
BAD = compare_nights(
    night(
        SECOND,
        red("a", "<b>lost | gone", command="kraft-chaos run x --seed 1"),
        red("b"),
        green("e", counts_as=Verdict.VOID, sentence="VOID"),
        green("f", counts_as=Verdict.ERROR, fingerprint="harness: x", sentence="ERROR: x"),
    ),
    [night(FIRST, red("c"), red("d", "E1: old"))],
)


def test_the_text_names_what_is_new_first_with_its_command() -> None:
    told = as_text(BAD).splitlines()
    assert told[0].startswith("night 2026-11-27  INVALID: 2 new reds, 1 known, 1 mended, of 5 runs")
    assert told[2] == "  new: power-off: <b>lost | gone"
    assert told[3].endswith("since 2026-11-27; kraft-chaos run x --seed 1")
    assert "the night can be trusted" in as_text(GOOD)


def test_markdown_has_a_row_a_group_and_github_an_annotation_each_new_one() -> None:
    table = [line for line in as_markdown(BAD).splitlines() if line.startswith("|")]
    assert len(table) == 5
    assert "<b>lost \\| gone" in table[2]
    told = list(annotations(BAD))
    assert [line.partition("::power")[0] for line in told] == ["::error title=new red"] * 2


def test_the_page_answers_and_names_at_most_five_things(tmp_path: Path) -> None:
    page = render_morning(BAD, [], tmp_path / "morning.html", tmp_path)
    assert_self_contained(page)
    assert '<header class="invalid">' in page
    assert "Do not ship: 2 promises broken, 1 of them new. The night cannot be trusted" in page
    assert "<b>lost" not in page
    many = night(THIRD, *(red(str(n), f"Q{n}: x", seed=n) for n in range(40)))
    crowded = render_morning(compare_nights(many, []), [], tmp_path / "page.html", tmp_path)
    assert crowded.count("<li>") == 5
    assert "Nothing that was tried speaks against shipping. The night can be trusted" in (
        render_morning(GOOD, [], tmp_path / "morning.html", tmp_path)
    )


def test_an_empty_night_is_a_page_too(tmp_path: Path) -> None:
    empty = compare_nights(Night(date=FIRST, rows=()), [])
    page = render_morning(empty, [], tmp_path / "morning.html", tmp_path)
    assert '<header class="error">' in page
    assert "Nothing says that it is safe to ship" in page


def test_a_canary_that_could_not_be_run_was_not_found(tmp_path: Path) -> None:
    refused = replace(CANARY, counts_as=Verdict.UNKNOWN, sentence="UNKNOWN: refused: no engine")
    found = compare_nights(Night(date=FIRST, rows=(refused, green("a"))), [])
    page = render_morning(found, [], tmp_path / "morning.html", tmp_path)
    assert ">not found<" in page
    assert ">found<" not in page
    assert "not found: Q-ZOMBIE in kill-leader" in page


def test_junit_tells_new_known_and_void_apart(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    write_junit(BAD, path)
    read = JUnitXml.fromfile(str(path))
    told = {
        (type(result).__name__, result.type)
        for suite in read
        for case in suite
        for result in case.result
    }
    assert told == {
        ("Failure", "new red"),
        ("Failure", "known red"),
        ("Skipped", "void"),
        ("Error", "error"),
    }
    assert sum(1 for suite in read for _ in suite) == 5
    assert [each.name for each in tmp_path.iterdir()] == ["junit.xml"]


def test_what_was_tried_further_is_told_and_the_smallest_run_is_not_one_more_try() -> None:
    found = compare_nights(
        night(
            FIRST,
            red("a", target="kafka", runtime="docker", seed=7),
            green("b", runtime="docker", seed=7, part="triage"),
            green("c", seed=7, part="triage"),
            red("d", part="made small", command="kraft-chaos replay night/d"),
            red("e", scenario="swarm"),
        ),
        [],
    )
    group = next(each for each in found.groups if each.scenario == "power-off")
    assert (len(group.rows), group.tried, group.elsewhere) == (1, 1, ("swarm",))
    assert group.small is not None
    assert not found.flaky
    told = as_text(found, {"power-off": "clean-stop"})
    assert "tried on kafka (docker): 1 of 1 (21-100 %) red; node (docker): 0 of 1" in told
    assert "made small: kraft-chaos replay night/d" in told
    assert "the same in swarm" in told
    assert "known: kraft-chaos finding clean-stop" in told
    assert "in no finding of this scenario" in as_text(found)


def test_a_teams_program_gets_the_night_as_json_and_its_failure_is_a_word(tmp_path: Path) -> None:
    into = tmp_path / "told ü.json"
    message = json.dumps(as_message(BAD, tmp_path / "morning.html"))
    assert notify(f"cat > '{into}'", message) == ""
    told = json.loads(into.read_text())
    assert (told["verdict"], told["trusted"], told["runs"]) == ("invalid", False, 5)
    assert [each["standing"] for each in told["reds"]] == ["new", "new", "still red"]
    assert told["reds"][0]["command"] == "kraft-chaos run x --seed 1"
    assert notify("exit 3", message * 1000) == "the command ended with 3"
    assert notify("no-such-program-here", message) == "the command ended with 127"
    assert notify("sleep 60 & wait", message, within_s=0.2) == (
        "the command had not ended after 0.2 s"
    )
