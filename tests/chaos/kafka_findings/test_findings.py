"""Findings as `kraft-chaos finding` prints them: whole, by themselves, and of the run at hand."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.labs.findings import FINDINGS, Finding
from chaos.run.judging import judge_directory
from chaos.scenarios import SCENARIOS
from checkers.history.sealed_run import write_run_info
from checkers.history.store import write_tables
from checkers.verdict import CheckResult, Judgement, Verdict
from checkers.verdict_file import write_verdict
from tests.support.kafka_runs import ALL, change, partition, started, topic
from tests.support.sealed_runs import seal_run

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "results" / "findings.md").read_text()


def test_every_numbered_section_of_the_page_is_a_finding() -> None:
    numbered = [int(number) for number in re.findall(r"^## (\d+)\. ", PAGE, re.MULTILINE)]
    assert [each.section for each in FINDINGS.values()] == numbered


def test_the_front_page_counts_them() -> None:
    readme = (ROOT / "README.md").read_text()
    assert f"\n{len(FINDINGS)} behaviours of Apache Kafka" in readme


@pytest.mark.parametrize("finding", FINDINGS.values(), ids=lambda each: each.name)
def test_a_finding_is_of_scenarios_with_sides_and_tells_its_own_section(finding: Finding) -> None:
    assert all(SCENARIOS[name].sides for name in finding.scenarios)
    assert f"## {finding.section}. {finding.title}\n" in PAGE
    assert finding.prose() in PAGE.replace(f"{finding.section}. {finding.title}", finding.title)
    assert "\n## " not in finding.prose()


@pytest.mark.parametrize("finding", FINDINGS.values(), ids=lambda each: each.name)
def test_a_script_is_a_shell_s_and_uses_nothing_of_ours(finding: Finding, tmp_path: Path) -> None:
    script = tmp_path / "show.sh"
    script.write_text(finding.script())
    parsed = subprocess.run(["sh", "-n", script], capture_output=True, text=True, check=False)
    assert (parsed.returncode, parsed.stderr) == (0, "")
    assert not re.search(r"kraft.chaos|kraft-node|docker|toxiproxy", finding.script())
    refused = subprocess.run(["sh", script], env={}, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "the directory of Apache Kafka" in refused.stderr


def test_what_a_script_printed_is_of_that_script() -> None:
    """Each line that it says with words of its own stands in the record, in order."""
    for finding in FINDINGS.values():
        said = re.findall(r'^say "(\d\. [^"$]*)"$', finding.script(), re.MULTILINE)
        printed = finding.printed().splitlines()
        assert [line for line in printed if line in said] == said, finding.name


def test_names_and_titles_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["finding"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(FINDINGS)
    assert all(each.title in line for line, each in zip(lines, FINDINGS.values(), strict=True))


def test_the_script_alone_is_what_a_shell_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["finding", "clean-stop-power-off", "--script"]) == 0
    assert capsys.readouterr().out == FINDINGS["clean-stop-power-off"].script()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["no-such"], "known: observer-power-off"),
        (["--script"], "--script needs the name of a finding"),
        (["unwaited-topics", "there", "--script"], "--script takes no run"),
    ],
)
def test_what_cannot_be_told_is_refused(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["finding", *words]) == 254
    assert why in capsys.readouterr().err


def test_a_run_that_is_none_or_of_another_scenario_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["finding", "clean-stop-power-off", str(tmp_path / "nothing")]) == 254
    assert "is no run" in capsys.readouterr().err
    other = seal_run(tmp_path / "other")
    judge_directory(other, page=False)
    assert main(["finding", "clean-stop-power-off", str(other)]) == 254
    assert "is shown by runs of clean-stop-power-off" in capsys.readouterr().err


def test_of_a_run_lines_of_logs_and_records_and_bytes_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    accused_run(tmp_path)
    (tmp_path / "logs").mkdir()
    deleted = "INFO Deleting segment LogSegment(baseOffset=0)\n"
    (tmp_path / "logs" / "node-1.log").write_text("INFO started\n" + 7 * deleted)
    (tmp_path / "logs" / "node-2.log").write_text("INFO started\n")
    index = tmp_path / "disks" / "node-1" / "append-0-1" / "00000000000000000000.timeindex"
    index.parent.mkdir(parents=True)
    index.write_bytes(bytes(12))
    assert main(["finding", "clean-stop-power-off", str(tmp_path)]) == 0
    shown = capsys.readouterr().out.split(f"{tmp_path}: ")[1].splitlines()
    assert shown[0] == "five of them are gone"
    assert shown.count(f"  node-1: {deleted.strip()}") == 5
    assert "  node-1: and 2 more such lines" in shown
    assert not any("started" in line for line in shown)
    assert [line.split(": ")[1] for line in shown if line.startswith("  append-0-1, offset")] == [
        "leader 1 in epoch 0, ISR [1, 2, 3], ELR [], last known [], created",
        "leader 2 in epoch 1, ISR [2], ELR [], last known []",
    ]
    assert f"  node-1/append-0-1/{index.name}: 12 bytes, {bytes(12).hex(' ')}" in "\n".join(shown)


@pytest.mark.parametrize(
    "damage",
    [
        lambda at: (at / "verdict.json").unlink(),
        lambda at: (at / "verdict.json").write_text("{"),
        lambda at: (at / "log_records.parquet").unlink(),
        lambda at: (at / "log_records.parquet").write_bytes(b"PAR1"),
        lambda at: (at / "_manifest.json").write_text("{}"),
    ],
)
def test_of_a_damaged_run_the_next_command_is_said(
    tmp_path: Path, damage: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    accused_run(tmp_path)
    damage(tmp_path)
    assert main(["finding", "clean-stop-power-off", str(tmp_path)]) == 255
    said = capsys.readouterr().err
    assert str(tmp_path) in said
    assert said.count("  try: ") == 1
    assert "--traceback" not in said


def test_what_a_node_left_in_its_log_does_nothing_to_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    accused_run(tmp_path)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "node-1.log").write_bytes(b"\x1b[31m\xff Deleting segment\x07\n")
    os.mkfifo(tmp_path / "logs" / "node-2.log")
    assert main(["finding", "clean-stop-power-off", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "[31m" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)


def accused_run(directory: Path) -> None:
    """Sealed, and judged by hand: the witness names partition append-0-1."""
    cluster = started().commit(topic("append-0"), partition("append-0-1", ALL, 1))
    cluster.commit(change("append-0-1", isr=[2], leader=2))
    run = cluster.run(scenario="clean-stop-power-off")
    write_run_info(directory, run.info)
    write_tables(directory, run.tables, {"truncated": [], "rows": run.rows})
    row = CheckResult(
        check="log-durability",
        verdict=Verdict.INVALID,
        message="gone",
        count=5,
        witness=[{"what": "a fault", "key": None}, {"what": "sent", "key": "append-0-1"}],
    )
    sentence = "five of them are gone"
    judged = Judgement(
        run_id=run.info.run_id, verdict=Verdict.INVALID, sentence=sentence, results=(row,)
    )
    write_verdict(directory, judged)
