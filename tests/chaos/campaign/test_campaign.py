"""The command: rows, the summary, exit codes; a crash is a row, and failing runs are kept."""

import json
import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.campaign import conduct as command
from chaos.campaign.conduct import ROWS, CampaignArguments, RowAsJson, campaign_by
from chaos.campaign.job import Job, SeedRow, row_from
from chaos.cli import main
from chaos.commands.campaign_command import seeds
from chaos.run.planning import Choices
from checkers.history.sealed_run import read_run_info
from checkers.verdict import Verdict


def choices(scenario: str = "partition-leader", **changes: object) -> Choices:
    fields: dict[str, object] = {
        "nodes": 3,
        "duration_s": 9.0,
        "concurrency": 3,
        "rate": 30.0,
        "runtime": "sim",
    }
    all_of_them = {**fields, **changes}
    return Choices(scenario=scenario, **all_of_them)  # type: ignore[arg-type]  # a test's mistake


def job(tmp_path: Path, **changes: object) -> Job:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return Job(
        choices=choices("partition-leader", **changes), out=tmp_path / "out", scratch=scratch
    )


@pytest.mark.parametrize(
    ("text", "expected"), [("7", range(7, 8)), ("0..20", range(21)), ("5..5", range(5, 6))]
)
def test_seeds_are_from_one_to_another(text: str, expected: range) -> None:
    assert seeds(text) == expected


@pytest.mark.parametrize("text", ["", "9..3", "-1..3", "a..b", "0..99999999999", "1...3"])
def test_what_is_no_range_of_seeds_is_wrong_usage(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["campaign", f"--seeds={text}"])
    assert left.value.code == 254
    assert "--seeds" in capsys.readouterr().err


def test_a_valid_run_leaves_a_row_and_nothing_else(tmp_path: Path) -> None:
    row = job(tmp_path).row(4)
    assert (row.verdict, row.seed, row.faults, row.directory) == (Verdict.VALID, 4, 1, "")
    assert row.operations > 100
    assert row.virtual_s > 9
    assert sum(row.struck.values()) == 1
    assert "--seed 4" in row.command
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_failing_run_is_kept_with_its_page_and_its_line(tmp_path: Path) -> None:
    row = job(tmp_path, mutation="Q-ZOMBIE", duration_s=12.0).row(3)
    assert row.verdict is Verdict.INVALID
    assert row.fingerprint is not None
    assert (row.fingerprint.check, row.fingerprint.role) == ("Q22-cut-off-leader-resigns", "leader")
    kept = Path(row.directory)
    assert list((tmp_path / "out").iterdir()) == [kept]
    assert list((tmp_path / "scratch").iterdir()) == []
    assert read_run_info(kept).mutation == "Q-ZOMBIE"
    assert (kept / "report.html").is_file()
    assert row.command in (kept / "repro.sh").read_text()


def test_a_crash_of_the_harness_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise KeyError("a wheel came off")

    monkeypatch.setattr("chaos.campaign.job.launch", crash)
    row = job(tmp_path).row(4)
    assert row.verdict is Verdict.ERROR
    assert row.fingerprint is not None
    assert (row.fingerprint.check, row.fingerprint.anomaly) == ("harness", "KeyError")
    assert "a wheel came off" in row.sentence
    assert "--seed 4" in row.command
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_scenario_that_is_none_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path)]
    assert main(["campaign", "--seeds", "1", "--scenario", "tickle", *out]) == 254
    assert "unknown scenario 'tickle'" in capsys.readouterr().err


def test_a_cluster_is_as_large_as_somebody_asks_and_its_line_says_so(tmp_path: Path) -> None:
    seven = job(tmp_path, nodes=7)
    assert seven.plan(4).nodes == 7
    assert "--nodes 7" in seven.command(4)
    swarm = Job(choices=choices("swarm", nodes=2), out=tmp_path, scratch=tmp_path)
    assert swarm.plan(4).nodes == 2
    assert "--nodes 2" in swarm.command(4)


def asked(out: Path, scenario: str = "baseline") -> CampaignArguments:
    return CampaignArguments(
        seeds=range(3, 5),
        scenario=scenario,
        minutes=None,
        jobs=1,
        mutation="",
        out=out,
        as_json=True,
    )


def test_rows_go_to_the_file_and_the_summary_wherever_they_were_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = campaign_by(asked(tmp_path), lambda function, each: map(function, each))
    assert code == 0
    assert [path.name for path in tmp_path.iterdir()] == [ROWS]
    summary = json.loads(capsys.readouterr().out)
    assert (summary["verdict"], summary["runs"], summary["asked"]) == ("valid", 2, 2)
    lines = (tmp_path / ROWS).read_text().splitlines()
    rows = [row_from(json.loads(line)) for line in lines]
    assert [row.seed for row in rows] == [3, 4]
    assert summary["operations"] == sum(row.operations for row in rows)


def test_a_campaign_without_a_run_is_void(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert campaign_by(asked(tmp_path, "partition-leader"), lambda _function, _seeds: []) == 3
    summary = json.loads(capsys.readouterr().out)
    assert summary["lacking"] == "only 0 of 0 runs came to a verdict on the nodes"
    assert len(summary["empty"]) == 33


@pytest.mark.parametrize(("looked_at", "code"), [(0, 255), (1, 0)])
def test_the_exit_code_of_a_campaign_with_an_idle_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], looked_at: int, code: int
) -> None:
    """A thousand seeds of a swarm, as long as each of them says, in which a rule had nothing to
    judge, or something once."""
    row = SeedRow(seed=1, verdict=Verdict.VALID, operations=9, faults=3)

    def rows(_: object, seeds: range) -> Iterator[str]:
        for seed in seeds:
            found = Counter({"durability": 1, "Q4": looked_at if seed == 500 else 0})
            yield json.dumps(replace(row, seed=seed, looked_at=found).as_json())

    arguments = replace(asked(tmp_path, "swarm"), seeds=range(1000))
    assert campaign_by(arguments, rows) == code
    summary = json.loads(capsys.readouterr().out)
    assert summary["idle"] == ([] if looked_at else ["Q4"])
    assert summary["looked_at"] == {"Q4": looked_at, "durability": 1000}


def test_an_interrupted_campaign_says_what_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "each_of", interrupted)
    assert main(["campaign", "--seeds", "1..9", "--out", str(tmp_path)]) == 255
    out, err = capsys.readouterr()
    assert out.startswith("VOID: 0 of 9 seeds: none ran")
    assert "interrupted" in err


def test_what_is_sent_to_other_machines_can_be_sent(tmp_path: Path) -> None:
    function = RowAsJson(job(tmp_path))
    assert pickle.loads(pickle.dumps(function)) == function
