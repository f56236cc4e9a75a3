"""The page of many runs: whole, self-contained, and the same with scripts and without."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from checkers.history.sealed_run import read_run_info, write_run_info
from checkers.history.store import read_run
from checkers.suite import judge, write_verdict
from spark_reports.report_build import build
from tests.support.browser import colours, open_page, without_scripts
from tests.support.pages import assert_self_contained
from tests.support.sealed_runs import Shape, seal_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

HOSTILE = "<script>alert(1)</script>\"&'"
CHARTS = ("verdicts", "durability", "latency", "elections")


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.fixture(scope="module")
def page(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs, a hostile scenario among them, a lost write, a void one, and no run at all."""
    base = tmp_path_factory.mktemp("report")
    shape = Shape(duration_s=6, faults=((2, 5),))
    violations = {1: "lost-write", 2: "no-evidence"}
    directories = []
    for seed in range(4):
        name = f"run {seed}"
        sealed = seal_run(base / "runs" / name, replace(shape, seed=seed), violations.get(seed))
        directories.append(sealed)
    quiet = replace(shape, faults=(), scenario="baseline")
    directories.append(seal_run(base / "runs" / "quiet", quiet))
    hostile = seal_run(base / "runs" / "hostile", shape)
    write_run_info(hostile, replace(read_run_info(hostile), scenario=HOSTILE))
    for directory in (*directories, hostile):
        write_verdict(directory, judge(read_run(directory)))
        (directory / "report.html").write_text("a page")
    (base / "runs" / "no run").mkdir()
    told: list[str] = []
    out = base / "pages" / "all.html"
    built = build([*directories, hostile, base / "runs" / "no run"], out, progress=told.append)
    assert (built.contradictions, built.damaged, len(built.runs)) == ((), (), 6)
    assert spark.range(1).count() == 1, "the session of the caller was closed"
    assert told[0] == "looking at the runs"
    assert told[-1] == "drawing the page"
    return out


@pytest.mark.usefixtures("spark")
def test_each_red_run_is_named_before_the_second_loss_of_any(tmp_path: Path) -> None:
    """Beside a flipped byte in a table that no report reads, a stray file and a planted bug."""
    shape = Shape(duration_s=6, faults=((2, 5),))
    for seed in range(3):
        seal_run(
            tmp_path / "runs" / "old" / f"lost-{seed}", replace(shape, seed=seed), "lost-write"
        )
    planted = seal_run(tmp_path / "runs" / "planted", shape, "lost-write")
    write_run_info(planted, replace(read_run_info(planted), mutation="Q-ZOMBIE"))
    damaged = seal_run(tmp_path / "runs" / "damaged", shape)
    for directory in sorted((tmp_path / "runs" / "old").iterdir()):
        write_verdict(directory, judge(read_run(directory)))
    flip(damaged / "probes.parquet")
    stray = tmp_path / "soak.json"
    stray.write_text("{}")
    out = tmp_path / "page.html"
    built = build([tmp_path / "runs", stray], out)
    assert built.contradictions == ()
    assert built.damaged[0].startswith(f"{damaged}: probes.parquet: its ")
    text = out.read_text(encoding="utf-8")
    assert "1 run cannot be read, and may have lost anything. 3 of 3 runs were not" in text
    culprits = text.partition("What was lost, or is there")[2].partition("</table>")[0]
    named = re.findall(r"<td>(?:<a[^>]*>)?(lost-\d)", culprits)
    assert sorted(named[:3]) == ["lost-0", "lost-1", "lost-2"]
    assert "a file, and no run</td>" in text
    assert text.count("Q-ZOMBIE") == 1


@pytest.mark.usefixtures("spark")
def test_tables_that_contradict_a_verdict_are_told_aloud(tmp_path: Path) -> None:
    """A verdict that was written by somebody else, with all its checksums, about a lost write."""
    shape = Shape(duration_s=6, faults=((2, 5),))
    lost = seal_run(tmp_path / "lost", replace(shape, seed=7), "lost-write")
    sound = judge(read_run(seal_run(tmp_path / "sound", replace(shape, seed=7))))
    write_verdict(lost, replace(sound, run_id="lost"))
    out = tmp_path / "page.html"
    (words,) = build([lost], out).contradictions
    assert words == f"{lost}: its verdict counts 0 lost, and its tables 1"
    text = out.read_text(encoding="utf-8")
    assert "The tables of 1 run contradict the verdict." in text
    assert "its verdict counts 0 lost, and its tables 1</td>" in text
    assert '<header class="invalid">' in text


def test_the_page_is_small_and_loads_nothing(page: Path) -> None:
    assert page.stat().st_size < 3_000_000
    assert_self_contained(page.read_text(encoding="utf-8"))


def test_hostile_names_stay_names(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&amp;&#x27;" in text


def test_numbers_reach_the_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "1 of 6 runs were not as they should be. 1 of " in text
    assert re.search(r"1 of [\d,]+ acknowledged register writes were lost\.", text)
    assert re.search(r"lost</td><td>r-\d</td>", text)
    assert "no run</td>" in text


def test_every_run_and_every_loss_links_to_its_own_page(page: Path) -> None:
    links = re.findall(r'href="([^"]+)"', page.read_text(encoding="utf-8"))
    own = [link for link in links if link.endswith("report.html")]
    assert own.count("../runs/run%201/report.html") == 2
    assert len(set(own)) == 6


def test_each_chart_has_its_data_and_no_raw_operations(page: Path) -> None:
    found = re.search(r"const CHARTS = (\{.*\});\n", page.read_text(encoding="utf-8"))
    assert found is not None
    charts = json.loads(found[1])
    assert tuple(charts) == CHARTS
    values = {name: next(iter(chart["datasets"].values())) for name, chart in charts.items()}
    assert all(0 < len(rows) < 40 for rows in values.values())
    assert sum(row["runs"] for row in values["verdicts"]) == 6


@pytest.mark.browser
def test_charts_are_drawn_by_scripts(page: Path, tmp_path: Path) -> None:
    opened = open_page(page, tmp_path)
    assert opened.console == ()
    for name in CHARTS:
        assert re.search(rf'id="chart-{name}" class="chart[^"]*vega-embed', opened.dom), name
    assert colours(opened.picture, 250, 1_400) > 100


@pytest.mark.browser
def test_charts_are_there_when_scripts_are_blocked(page: Path, tmp_path: Path) -> None:
    opened = open_page(without_scripts(page), tmp_path)
    assert len(opened.console) == 2
    assert all("Executing inline script violates" in line for line in opened.console)
    for name in CHARTS:
        assert re.search(rf'id="chart-{name}" class="chart"><svg', opened.dom), name
    assert colours(opened.picture, 250, 1_400) > 100
