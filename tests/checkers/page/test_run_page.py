"""The page of a run, for every way in which a run can end."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from checkers.history.sealed_run import Run
from checkers.page import render_page
from checkers.run.expectation import Expectation
from checkers.verdict import CheckResult, EventValue, Judgement, Verdict
from tests.checkers.page.samples import (
    INFO,
    SECOND,
    VALID,
    faults,
    judgement,
    node_events,
    run_of,
    stale_read,
    table,
    whole_run,
)
from tests.support.browser import colours, open_page
from tests.support.pages import assert_self_contained

Event = dict[str, EventValue]

HOSTILE = '<script>alert("1")</script>&\'\x00\u202e\ud800'
SHOWN = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#x27;\\u0000\\u202e\\ud800"


@pytest.fixture(scope="module")
def run() -> Run:
    return whole_run()


def result(verdict: Verdict) -> CheckResult:
    count = int(verdict is Verdict.INVALID)
    return replace(VALID, verdict=verdict, count=count, message=f"it was {verdict.word}")


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_has_its_page(run: Run, verdict: Verdict) -> None:
    page = render_page(run, judgement(VALID, result(verdict), sentence="This is the sentence."))
    assert_self_contained(page)
    assert f'<header class="{verdict.word}"><h1><span class="word">{verdict.word}</span>' in page
    assert '<p class="sentence">This is the sentence.</p>' in page
    assert f"it was {verdict.word}" in page
    assert INFO.command in page


def test_what_was_not_judged_comes_first_and_missing_evidence_before_all(run: Run) -> None:
    gone = replace(result(Verdict.UNKNOWN), check="evidence-complete", message="a disk is missing")
    void = replace(result(Verdict.VOID), check="faults-bit", message="nothing was hurt")
    page = render_page(run, judgement(VALID, void, gone))
    assert "2 of 3 checks decided nothing." in page
    places = [page.index(words) for words in ("Not judged", ">evidence-complete<", ">faults-bit<")]
    assert places == sorted(places)
    assert places[-1] < page.index("What happened")
    assert '<dt>evidence</dt><dd><span class="word unknown">a disk is missing</span></dd>' in page


def test_where_all_was_judged_nothing_is_said_of_what_was_not(run: Run) -> None:
    page = render_page(run, judgement(VALID, replace(VALID, check="evidence-complete")))
    assert "Not judged" not in page
    assert "<dt>evidence</dt><dd>complete</dd>" in page


def test_an_invalid_side_that_was_to_be_invalid_says_so(run: Run) -> None:
    asked = Expectation(verdict=Verdict.INVALID, check="log-durability", anomaly="lost-write")
    red = replace(result(Verdict.INVALID), check="log-durability", message="lost-write: 1")
    side = replace(run, info=replace(run.info, side="elr=off", expected=asked.as_json()))
    page = render_page(side, judgement(red))
    assert "<dt>expected</dt><dd>invalid by log-durability, lost-write</dd>" in page
    assert '<dt>as expected</dt><dd><span class="word valid">yes</span></dd>' in page
    kept = render_page(side, judgement(VALID))
    assert "valid, expected invalid by log-durability, lost-write</span></dd>" in kept


def test_a_kind_of_fault_that_never_struck_is_named(run: Run) -> None:
    toothless = [{**row, "bit": False} for row in run.tables["faults"].to_pylist()]
    hurt = replace(run, tables={**run.tables, "faults": table("faults", toothless)})
    assert "These kinds of fault never struck: kill, partition" in render_page(
        hurt, judgement(VALID)
    )


def test_a_reader_finds_who_what_and_where(run: Run) -> None:
    page = render_page(run, judgement(VALID))
    for name, value in (("scenario", INFO.scenario), ("seed", "7"), ("target", INFO.target)):
        assert f"<dt>{name}</dt><dd>{value}</dd>" in page
    for words in ("27,310 bytes were taken in", "exit code", "longest without success"):
        assert words in page
    assert "No power was cut" in page


def test_a_violation_is_shown_event_by_event_and_drawn(run: Run) -> None:
    red = stale_read(run)
    page = render_page(run, judgement(VALID, red))
    assert page.index("Witness: linearizable") < page.index("What happened")
    for event in red.witness:
        assert f'<td class="wide">{event["what"]}</td>' in page
    assert page.count("<td>partition 1</td>") == sum(
        9.99 * SECOND <= int(str(event["t_ns"])) <= 18.04 * SECOND for event in red.witness
    )
    assert page.count('class="ok seen"') + page.count('class="fail seen"') >= 6
    assert 'class="mark"' in page


def test_a_witness_without_times_is_a_table_without_a_drawing(run: Run) -> None:
    red = replace(
        stale_read(run), witness=({"what": "node 2 leads epoch 3"}, {"what": "so does 1"})
    )
    page = render_page(run, judgement(red))
    assert "so does 1" in page
    assert page.count("<svg") == 1


def test_events_far_apart_are_drawn_apart(run: Run) -> None:
    near = stale_read(run)
    later: Event = {
        "what": "read again",
        "t_ns": 38 * SECOND,
        "t1_ns": 38 * SECOND + 1,
        "key": "r-3",
    }
    page = render_page(run, judgement(replace(near, witness=(*near.witness, later))))
    assert page.count("<title>The moments around the witness</title>") == 2


def test_every_other_witness_is_a_table(run: Run) -> None:
    other = replace(result(Verdict.INVALID), check="Q2", witness=({"what": "node 9 leads too"},))
    page = render_page(run, judgement(stale_read(run), other))
    assert page.index("Other witnesses") < page.index("node 9 leads too")


def test_an_operation_in_a_witness_is_one_line(run: Run) -> None:
    event: Event = {"what": "lost", "t_ns": 5, "t1_ns": 2_000_005, "f": "write", "value": 4}
    red = replace(result(Verdict.INVALID), witness=({**event, "outcome": "ok", "op_id": 9},))
    assert "<td>write 4, ok, took 2.00 ms, op id 9</td>" in render_page(run, judgement(red))


def test_the_word_of_the_verdict_is_said_once(run: Run) -> None:
    page = render_page(run, judgement(VALID, sentence="VALID: all is well"))
    assert '<p class="sentence">all is well</p>' in page


def test_the_worst_witness_is_the_one_that_is_shown(run: Run) -> None:
    doubt = replace(result(Verdict.UNKNOWN), check="doubt", witness=({"what": "a doubt"},))
    assert "Witness: linearizable" in render_page(run, judgement(doubt, stale_read(run)))
    assert "Witness: doubt" in render_page(run, judgement(doubt))


def test_a_run_that_left_nothing_has_a_page() -> None:
    nothing = run_of(replace(INFO, finished=False, duration_ns=0, command=""))
    judged = Judgement(run_id="r", verdict=Verdict.UNKNOWN, sentence="Nothing.", results=())
    page = render_page(nothing, judged)
    assert_self_contained(page)
    for words in ("broke off", "No operation was recorded", "No check was made", "no traces"):
        assert words in page


def test_a_run_that_broke_off_in_a_fault_has_a_page() -> None:
    cut = faults().slice(0, 1).to_pylist()
    cut[0] |= {"t_heal": None, "t_healed": None, "bit": None, "evidence": None}
    info = replace(INFO, finished=False, duration_ns=0)
    run = run_of(info, faults=table("faults", cut), node_events=node_events())
    truncated = replace(run, truncated=("events-1.jsonl.zst: 312 bytes of its last frame",))
    page = render_page(truncated, judgement(result(Verdict.UNKNOWN)))
    assert_self_contained(page)
    for words in ("never asked", "312 bytes of its last frame", "left no evidence", "never"):
        assert words in page


def test_hostile_strings_from_everywhere_stay_text(run: Run) -> None:
    def poisoned(name: str, *columns: str) -> object:
        rows = run.tables[name].slice(0, 50).to_pylist()
        # Arrow holds UTF-8: a lone surrogate can only come by way of JSON.
        return table(name, [row | dict.fromkeys(columns, HOSTILE[:-1]) for row in rows])

    info = replace(INFO, scenario=HOSTILE, command=HOSTILE, parameters={HOSTILE: HOSTILE})
    hurt = run_of(
        replace(info, target=HOSTILE, started_utc=HOSTILE, run_id=HOSTILE),
        ops=poisoned("ops", "key", "f", "outcome", "error"),
        faults=poisoned("faults", "kind", "evidence", "facts"),
        node_events=poisoned("node_events", "state"),
        disks=poisoned("disks", "problem"),
    )
    first = hurt.tables["ops"]["t0"][0].as_py()
    event = {"what": HOSTILE, "t_ns": first, "key": HOSTILE[:-1], HOSTILE: HOSTILE}
    bad = CheckResult(
        check=HOSTILE,
        verdict=Verdict.INVALID,
        message=HOSTILE,
        count=1,
        algorithm=HOSTILE,
        facts={HOSTILE: HOSTILE},
        witness=(event,),
    )
    judged = replace(judgement(bad, sentence=HOSTILE), statistics={HOSTILE: HOSTILE})
    page = render_page(replace(hurt, truncated=(HOSTILE,)), judged)
    page.encode()
    assert_self_contained(page)
    assert "<script" not in page
    assert page.count(SHOWN) >= 12
    assert page.count(SHOWN.removesuffix("\\ud800")) >= 25


def test_a_long_run_gives_a_small_page() -> None:
    page = render_page(whole_run(100_000), judgement(VALID))
    assert len(page.encode()) < 200_000


def test_a_restless_cluster_gives_a_small_page() -> None:
    states = ("leader", "follower", "candidate")
    rows = [
        {"node": 1 + n % 3, "seq": n, "t": n * 400_000, "event": "q.state"}
        | {"state": states[n % 7 % 3], "epoch": n}
        for n in range(100_000)
    ]
    page = render_page(run_of(node_events=table("node_events", rows)), judgement(VALID))
    assert len(page.encode()) < 1_000_000


@pytest.mark.browser
@pytest.mark.xdist_group("spark")
def test_a_browser_draws_it_and_complains_of_nothing(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(render_page(run, judgement(VALID, stale_read(run))), encoding="utf-8")
    opened = open_page(page, tmp_path)
    assert opened.console == ()
    assert len(re.findall("<svg", opened.dom)) == 2
    assert colours(opened.picture, 0, 300) > 20
    assert colours(opened.picture, 900, 2_000) > 60


@pytest.mark.browser
@pytest.mark.xdist_group("spark")
def test_the_browser_tells_of_a_page_that_loads_something(tmp_path: Path) -> None:
    """The test of the tests: a load against the page's policy is seen on the console."""
    page = tmp_path / "bad.html"
    policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'
    page.write_text(f"<!doctype html><head>{policy}</head><img src='http://127.0.0.1:9/x.png'>")
    assert "violates" in " ".join(open_page(page, tmp_path, height=200).console)
