"""The commands as a user meets them: output, exit codes, errors, signals."""

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.releases import made_of
from chaos.run.runtimes import RUNTIMES
from chaos.scenarios import SCENARIOS
from checkers.history.sealed_run import RunInfo, write_run_info
from tests.support.fake_harness import FakeRuntime
from tests.support.interrupting import interrupt_twice

COMMANDS = ["doctor", "setup", "list", "run", "up", "down", "inject", "heal", "check", "report"]
FAST = ["--duration", "1", "--concurrency", "4", "--rate", "300", "--seed", "5"]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    runtime = FakeRuntime()
    monkeypatch.setitem(RUNTIMES, "docker", runtime)
    return runtime


def run_harness(
    tmp_path: Path, *words: str, options: tuple[str, ...] = ()
) -> "subprocess.Popen[str]":
    """`kraft-chaos` on fakes in a process of its own, SIGINT as a script's child would have it."""
    command = [sys.executable, "-m", "tests.support.fake_harness", *options, "--", *words]
    return subprocess.Popen(
        [*command, "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )


def wait_for_events(tmp_path: Path) -> Path:
    """Until a run under way has written its first frame of operations."""
    deadline = time.monotonic() + 120  # a process begins, on a machine that others use too
    while time.monotonic() < deadline:
        for path in tmp_path.glob("*/events-ops.jsonl.zst"):
            if path.stat().st_size:
                return path.parent
        time.sleep(0.05)  # between two looks
    raise AssertionError("no run began")


def test_a_full_disk_is_said_and_nothing_stays_behind(
    fake: FakeRuntime,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The disk fills up between the two times at which run.json is written."""
    written: list[Path] = []

    def write_until_full(directory: Path, info: RunInfo) -> None:
        if written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(directory)
        write_run_info(directory, info)

    monkeypatch.setattr("chaos.run.runner.write_run_info", write_until_full)
    assert main(["run", "baseline", *FAST, "--out", str(tmp_path)]) == 255
    said = capsys.readouterr().err
    assert "error: No space left on device\n" in said
    assert "--out DIR" in said
    assert fake.made[0].destroyed


def test_a_run_prints_its_verdict_and_exits_with_it(
    fake: FakeRuntime, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["run", "baseline", *FAST, "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert code in (0, 2)
    assert "are linearizable" in out
    assert f"page: {tmp_path}" in out
    (directory,) = [path for path in tmp_path.iterdir() if not path.is_symlink()]
    assert directory.name.endswith("-baseline-5")
    assert (tmp_path / "latest").resolve() == directory.resolve()
    assert fake.made[0].destroyed


def test_json_goes_to_stdout_and_nothing_else_does(
    fake: FakeRuntime, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["run", "baseline", *FAST, "--json", "--out", str(tmp_path)])
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["verdict"] in ("valid", "unknown")
    assert Path(verdict["directory"]).is_dir()
    assert {"linearizable", "final-reads"} <= {row["check"] for row in verdict["results"]}
    assert fake.made


def test_void_is_3(fake: FakeRuntime, tmp_path: Path) -> None:
    fake.bites = False
    assert main(["run", "kill-leader", *FAST, "--out", str(tmp_path)]) == 3


def test_check_judges_again_and_exits_with_the_worst(
    fake: FakeRuntime, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = main(["run", "baseline", *FAST, "--out", str(tmp_path)])
    fake.bites = False
    main(["run", "kill-leader", *FAST, "--out", str(tmp_path)])
    capsys.readouterr()
    assert main(["check", str(tmp_path)]) == 3
    assert capsys.readouterr().out.count("page: ") == 2
    baseline = next(tmp_path.glob("*baseline*"))
    assert main(["check", str(baseline)]) == first
    assert main(["check", str(tmp_path / "latest")]) == 3


def test_a_damaged_table_is_unknown_until_it_is_made_anew_on_purpose(
    fake: FakeRuntime, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.bites = False
    assert main(["run", "kill-leader", *FAST, "--out", str(tmp_path)]) == 3
    run = (tmp_path / "latest").resolve()
    table = run / "ops.parquet"
    table.write_bytes(table.read_bytes()[:-1])
    capsys.readouterr()
    for _ in range(2):
        assert main(["check", str(run)]) == 2
        said = capsys.readouterr().out
        assert said.startswith(f"UNKNOWN: {table}: ")
        assert f"try: kraft-chaos check --reseal {run}" in said
        assert not (run / "report.html").exists(), "it told of another verdict"
    assert main(["check", "--reseal", str(run)]) == 3
    assert main(["check", str(run)]) == 3
    assert (run / "report.html").exists()


def test_what_has_no_events_cannot_be_sealed_anew(
    fake: FakeRuntime, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.bites = False
    main(["run", "kill-leader", *FAST, "--out", str(tmp_path)])
    run = (tmp_path / "latest").resolve()
    for events in run.glob("events-*"):
        events.unlink()
    before = sorted(path.name for path in run.glob("*.parquet"))
    assert main(["check", "--reseal", str(run)]) == 254
    assert "cannot be sealed: it has no events-*.jsonl.zst" in capsys.readouterr().err
    assert sorted(path.name for path in run.glob("*.parquet")) == before
    history = tmp_path / "history.edn"
    history.write_text("{:type :invoke, :f :read, :process 0, :value nil}")
    assert main(["check", "--reseal", str(history)]) == 254
    assert "--reseal applies to runs" in capsys.readouterr().err


def test_a_run_that_cannot_be_read_does_not_hide_the_others(
    fake: FakeRuntime, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.bites = False
    main(["run", "kill-leader", *FAST, "--out", str(tmp_path)])
    (tmp_path / "0-damaged").mkdir()
    (tmp_path / "0-damaged" / "run.json").write_text('{"run_id": ')
    capsys.readouterr()
    assert main(["check", str(tmp_path)]) == 254
    said = capsys.readouterr()
    assert said.out.startswith("VOID")
    assert "0-damaged" in said.err


def test_check_of_no_run_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "nowhere"), str(tmp_path)]) == 254
    nowhere, no_run = capsys.readouterr().err.splitlines()
    assert "nowhere: expected a run or a file, found nothing of that name" in nowhere
    assert "expected a run (run.json), Jepsen's (history.edn), log directories of nodes" in no_run


def test_a_broken_cluster_is_255(
    fake: FakeRuntime, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.break_at = "create"
    assert main(["run", "baseline", *FAST, "--out", str(tmp_path)]) == 255
    assert "create broke, as planned" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["frobnicate"],
        ["run"],
        ["run", "no-such-scenario"],
        ["run", "baseline", "--nodes", "8"],
        ["run", "baseline", "--nodes", "4", "--runtime", "docker"],
        ["campaign", "--seeds", "1", "--nodes", "0"],
        ["run", "baseline", "--seed", "minus one"],
        ["run", "baseline", "--seed", "-1"],
        ["run", "baseline", "--duration", "0"],
        ["run", "baseline", "--seed", str(2**63)],
        ["run", "baseline", "--duration", "nan"],
        ["run", "baseline", "--concurrency", "1"],
        ["run", "baseline", "--rate", "inf"],
        ["run", "baseline", "--runtime", "moon"],
        ["up", "--runtime", "sim"],
        ["run", "baseline", "--target", "zookeeper"],
        ["run", "baseline", "--target", "kafka", "--runtime", "sim"],
        ["run", "baseline", "--target", "kafka", "--nodes", "6"],
        ["run", "baseline", "--target", "kafka", "--set", "colour=red"],
        ["run", "baseline", "--set", "elr=off"],
        ["run", "baseline", "--runtime", "sim", "--keep-on-failure"],
        ["run", "baseline", "--runtime", "sim", "--stop-at-first"],
        ["up", "--nodes", "4"],
        ["up", "--target", "kafka:3"],
        ["up", "--set", "elr"],
        ["setup", "--target", "zookeeper"],
        ["inject", "meteor"],
        ["up", "Not A Name"],
        ["check"],
    ],
)
def test_wrong_usage_is_254(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(words)
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    assert code == 254
    error = capsys.readouterr().err
    assert "try: " in error
    assert "value: " not in error, "the name of a function of ours is no help"


def test_who_asks_for_help_waits_for_no_library_of_clients_engines_and_compilers() -> None:
    slow = "{'confluent_kafka', 'docker', 'kafka', 'numba', 'node', 'pyspark', 'scipy'}"
    code = f"import sys; import chaos.cli; chaos.cli.parser(); print({slow} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["--help"])
    assert leaving.value.code == 0
    out = capsys.readouterr().out
    assert "kraft-chaos run partition-leader" in out
    assert "exit codes" in out


def test_list_knows_the_scenarios(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    short = capsys.readouterr().out
    names = [line.split()[0] for line in short.splitlines() if line and line[0] != " "]
    assert names[: len(SCENARIOS)] == list(SCENARIOS)
    assert "30 s by default; needs to cut links between nodes" in short
    takes = " ".join(short.split())
    of_three = "of brokers; takes 1 to 7 voters, 3 brokers, replication=3, min_isr=2"
    assert f"{of_three}; compare elr=off, elr=on" in takes  # last-replica-standing
    assert "of brokers (--target kafka); takes 1 to 7 voters, 3 brokers" in takes
    assert "; takes 2 to 7 voters, quorum=dynamic" in takes  # remove-leader
    assert "of brokers (--target kafka)" in takes  # what only Apache Kafka's brokers have
    main(["list", "-v"])
    assert "lose power at one moment" not in short
    assert "canary on the disk" in " ".join(capsys.readouterr().out.split())
    main(["list", "--json"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == list(SCENARIOS)
    assert rows["power-off"]["settings"] == {"cut": ["lose-all", "lose-data", "torn"]}
    assert rows["remove-leader"]["takes"]["voters"] == [2, 3, 4, 5, 6, 7]
    assert rows["clean-stop-then-lead"]["settings"] == {"stopped_disk": ["unsynced", "synced"]}
    assert rows["fenced-last-leader"]["sides"] == ["kafka 4.0.2", "kafka 4.1.0"]
    assert rows["swarm"]["settings"] == {}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_teaches_itself(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as leaving:
        main([command, "--help"])
    assert leaving.value.code == 0
    out = capsys.readouterr().out
    about, _, examples = out.partition("examples:")
    assert f"kraft-chaos {command}" in examples
    assert len(about.split("\n\n")[1]) > 100, "what it does, in whole sentences"
    assert not [line for line in out.splitlines() if line.endswith("-")], "split at a hyphen"


def test_help_of_a_run_describes_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "power-off", "--help"])
    assert "fsync before visible" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    process = run_harness(tmp_path, "run", "baseline", "--duration", "60", "--seed", "5")
    directory = wait_for_events(tmp_path)
    out, err = interrupt_twice(process, number)
    assert process.returncode == 255, err
    assert f"interrupted by {number.name}" in out
    assert "0 clusters left behind" in err
    # The second signal may have come so late that it ended the judging: it can be done again.
    assert main(["check", str(directory)]) == 255
    assert (directory / "_manifest.json").exists()
    assert (directory / "report.html").exists()


@pytest.mark.parametrize(
    ("number", "runtime", "verdict"),
    [
        (signal.SIGINT, "docker", 2),  # fakes leave no disks to be judged
        (signal.SIGTERM, "sim", 0),
        (signal.SIGHUP, "sim", 0),
    ],
)
def test_a_signal_ends_the_judging_at_once_and_keeps_the_record(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    number: signal.Signals,
    runtime: str,
    verdict: int,
) -> None:
    words = ["run", "baseline", "--runtime", runtime, *FAST]
    with run_harness(tmp_path, *words, options=("--endless-judge",)) as process:
        assert process.stderr is not None
        assert any("the checks begin" in line for line in process.stderr), "no run was judged"
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()  # else its checks never end
    directory = next(tmp_path.glob("*-baseline-5"))
    said = f"interrupted by {number.name} while the run was judged; the record is kept"
    assert out.startswith(f"ERROR: {said}; try: kraft-chaos check {directory}\n")
    assert process.returncode == 255, err
    assert "0 clusters left behind" in err
    assert not (directory / "verdict.json").exists()
    assert main(["check", str(directory)]) == verdict
    judged = capsys.readouterr().out
    assert "are linearizable" in judged
    assert "interrupted" not in judged


def test_a_run_that_is_killed_is_checked_afterwards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = run_harness(tmp_path, "run", "baseline", "--duration", "60", "--seed", "5")
    directory = wait_for_events(tmp_path)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=120)
    assert main(["check", str(directory)]) == 255
    out = capsys.readouterr().out
    assert "the harness died" in out
    assert "are linearizable" in out


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["rnu", "baseline"], "try: run"),
        (["run", "baseline", "--duraton", "3"], "try: --duration"),
        (["run", "baseline", "--duraton=3"], "try: --duration"),
        (["run", "kill-leader", "--mutation", "Q-ZOMBI"], "try: Q-ZOMBIE"),
        (["inject", "partition-leeder"], "like it: partition-leader"),
        (["run", "partition-leeder"], "like it: partition-leader"),
        (["run", "qqqqqq"], "known: baseline"),
        (["list", "--qqqqqq"], "try: kraft-chaos list --help"),
    ],
)
def test_for_a_misspelt_word_the_nearest_one_is_named(
    line: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(line)
    except SystemExit as left:
        code = int(str(left.code))
    assert code == 254
    assert told in capsys.readouterr().err


def test_versions_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert dict(lines) == made_of(this_machine=True)


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["se"], {"setup", "selftest", "serve"}),
        (["run", "partition-l"], {"partition-leader"}),
        (["run", "x", "--runtime", ""], {"docker", "sim"}),
        (["inject", "kill-l"], {"kill-leader"}),
        (["list", "--j"], {"--json"}),
        (["check", "/et"], {"/etc"}),
    ],
)
def test_a_shell_completes_words(
    words: list[str], completed: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "bash"]) == 0
    line = f"COMP_WORDS=({shlex.join(['kraft-chaos', *words])})\nCOMP_CWORD={len(words)}\n"
    script = capsys.readouterr().out + line + '_kraft_chaos; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    assert set(done.stdout.split()) == completed


FACTS = {"runtime", "target", "scenario", "seed", "commit"}


@pytest.mark.usefixtures("fake")
def test_every_document_names_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "baseline", *FAST, "--json", "--out", str(tmp_path)])
    ran = json.loads(capsys.readouterr().out)
    assert (ran["runtime"], ran["scenario"], ran["seed"]) == ("docker", "baseline", 5)
    main(["check", "--json", str(tmp_path / "latest")])
    again = json.loads(capsys.readouterr().out)
    assert {name: again[name] for name in FACTS} == {name: ran[name] for name in FACTS}
    main(["check", "--json", str(tmp_path / "latest"), str(tmp_path / "none")])
    both = json.loads(capsys.readouterr().out)
    assert [each.get("seed") for each in both] == [5, None]


@pytest.mark.parametrize("words", [["finding"], ["finding", "elr-wiped"], ["doctor"]])
def test_documents_of_no_run(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*words, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found.keys() > FACTS
    assert found["seed"] is None
