"""`kraft-chaos check FILE`: what is printed, and the exit codes."""

import json
import os
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.commands import check_command
from chaos.run import foreign_files
from chaos.run.runtimes import RUNTIMES
from checkers.foreign import CasFailures, ForeignHistory, Isolation, Judged, NilReads, judge
from checkers.history.calls import Model
from tests.support.fake_harness import FakeRuntime
from tests.support.foreign import ALL, JEPSEN

INVOKE = "{:type :invoke, :f :%s, :process %d, :value %s}\n"
OK = "{:type :ok, :f :%s, :process %d, :value %s}\n"

STALE = (
    INVOKE % ("write", 0, "1")
    + OK % ("write", 0, "1")
    + INVOKE % ("write", 0, "2")
    + OK % ("write", 0, "2")
    + INVOKE % ("read", 1, "nil")
    + OK % ("read", 1, "1")
)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "history.edn"
    path.write_text(JEPSEN)
    return path


@pytest.fixture
def stale(tmp_path: Path) -> Path:
    path = tmp_path / "stale.edn"
    path.write_text(STALE)
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.edn"
    path.write_text(STALE[:-10])
    return path


def test_says_what_it_took_the_file_for(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(good)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{good}: VALID: ")
    assert "  format      Jepsen EDN\n" in out
    assert "  model       cas-register: its operations are cas, read, write\n" in out
    assert "  nil reads   tell: nothing, it fits any value\n" in out
    assert "  failed cas  tells: nothing\n" in out
    assert "  operations  6 on 1 key, judged in " in out


def test_what_an_isolation_allows_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another's record stands between those of a transaction."""
    path = tmp_path / "kafka.edn"
    path.write_text(
        INVOKE % ("txn", 0, "[[:send :x 1] [:send :x 2]]")
        + INVOKE % ("send", 1, "[[:send :x 3]]")
        + OK % ("txn", 0, "[[:send :x [0 1]] [:send :x [2 2]]]")
        + OK % ("send", 1, "[[:send :x [1 3]]]")
        + INVOKE % ("poll", 2, "[[:poll]]")
        + OK % ("poll", 2, "[[:poll {:x [[0 1] [1 3] [2 2]]}]]")
    )
    assert main(["check", str(path)]) == 0
    out = capsys.readouterr().out
    assert "  isolation   kafka: sends of transactions interleave" in out
    assert "  not held against it: 1 G0\n" in out
    assert main(["check", "--isolation", "pl-2", str(path)]) == 1
    assert "T2 sent 3 to :x behind 1, which T1 sent" in capsys.readouterr().out


def test_shows_a_witness_by_the_lines_of_the_file(
    stale: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(stale)]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"{stale}: INVALID: ")
    assert "  witness, by lines of the file:\n" in out
    assert "\n    3..4  0        write 2" in out
    assert "\n    5..6  1        read 1" in out


def test_json_is_an_object_a_file(
    good: Path, stale: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--json", str(good), str(stale)]) == 1
    first, second = json.loads(capsys.readouterr().out)
    assert (first["file"], first["verdict"], first["witness"]) == (str(good), "valid", [])
    assert (first["model"], first["operations"], first["keys"]) == ("cas-register", 6, 1)
    assert first["algorithm"]
    assert first["seconds"] >= 0
    assert first["witness_seconds"] == 0 < second["witness_seconds"]
    assert second["verdict"] == "invalid"
    assert {"line": 5, "completed_line": 6, "process": 1}.items() <= second["witness"][-1].items()


def test_what_cannot_be_read_is_said_and_the_rest_judged(
    stale: Path, broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing"
    assert main(["check", str(broken), str(stale), str(missing), str(tmp_path)]) == 254
    captured = capsys.readouterr()
    assert captured.out.startswith(f"{stale}: INVALID: ")
    assert captured.err.splitlines() == [
        f"error: {broken}, line 6: expected '}}' for this '{{', found the end of the file "
        "(truncated?)",
        f"error: {missing}: expected a run or a file, found nothing of that name",
        f"error: {tmp_path}: expected a run (run.json), Jepsen's (history.edn), log directories of "
        "nodes, or a file, found another directory",
    ]


def test_a_file_on_which_the_judge_fails_does_not_end_the_others(
    good: Path,
    stale: Path,
    broken: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What fails there is made up; that it is judged last says that the others had their turn."""

    def fails_on_good(history: ForeignHistory) -> Judged:
        if history.path == good:
            raise OverflowError("too large")
        return judge(history)

    monkeypatch.setattr(foreign_files, "judge", fails_on_good)
    assert main(["check", str(good), str(stale)]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith(f"{stale}: INVALID: ")
    assert captured.err.splitlines() == [
        f"error: {good}: OverflowError: too large",
        f"  try: kraft-chaos --traceback check {good}",
    ]
    assert main(["check", str(good), str(good.parent / "." / "history.edn")]) == 255
    assert main(["check", str(good), str(broken)]) == 254


def test_json_has_no_verdict_for_what_cannot_be_read(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--json", str(broken)]) == 254
    content = json.loads(capsys.readouterr().out)
    assert set(content) == {"file", "error"}


def test_policies_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nil_after_write = tmp_path / "nil.edn"
    nil_after_write.write_text(
        INVOKE % ("write", 0, "1")
        + OK % ("write", 0, "1")
        + INVOKE % ("read", 0, "nil")
        + OK % ("read", 0, "nil")
    )
    assert main(["check", str(nil_after_write)]) == 0
    assert main(["check", "--nil-reads", "value", str(nil_after_write)]) == 1
    zero = tmp_path / "zero.edn"
    zero.write_text(INVOKE % ("read", 0, "nil") + OK % ("read", 0, "0"))
    assert main(["check", str(zero)]) == 1
    assert "0 was never written; if it was there before all writes: --initial '0'" in (
        capsys.readouterr().out
    )
    assert main(["check", "--initial", "0", str(zero)]) == 0
    refused = tmp_path / "refused.edn"
    refused.write_text(
        INVOKE % ("write", 0, "1")
        + OK % ("write", 0, "1")
        + INVOKE % ("cas", 0, "[1 2]")
        + OK.replace(":ok", ":fail") % ("cas", 0, "[1 2]")
    )
    assert main(["check", str(refused)]) == 0
    assert main(["check", "--cas-failures", "observed", str(refused)]) == 1
    capsys.readouterr()


def test_a_value_whose_write_failed_may_have_been_there_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "failed.edn"
    path.write_text(
        INVOKE % ("write", 0, "3")
        + "{:type :fail, :f :write, :process 0, :value 3}\n"
        + INVOKE % ("read", 1, "nil")
        + OK % ("read", 1, "3")
    )
    assert main(["check", str(path)]) == 1
    out = capsys.readouterr().out
    assert "no write of 3 succeeded; if it was there before all writes: --initial '3'" in out
    assert main(["check", "--initial", "3", str(path)]) == 0


def test_a_model_is_taken_as_told(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--model", "cas-register", str(good)]) == 0
    assert "cas-register: as told" in capsys.readouterr().out
    assert main(["check", "--model", "kv", str(good)]) == 254
    assert "expected an operation of a kv" in capsys.readouterr().err


def test_nothing_succeeded_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "failed.edn"
    path.write_text(INVOKE % ("write", 0, "1"))
    assert main(["check", str(path)]) == 2
    assert "no operation succeeded" in capsys.readouterr().out


def test_a_runs_own_events_are_a_history_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(RUNTIMES, "docker", FakeRuntime())
    fast = ["--duration", "1", "--concurrency", "4", "--rate", "300", "--seed", "5"]
    of_run = main(["run", "baseline", *fast, "--out", str(tmp_path)])
    run = next(tmp_path.glob("*baseline*"))
    capsys.readouterr()
    assert main(["check", str(run / "events-ops.jsonl.zst")]) == 0
    assert "  format      kraft-chaos events\n" in capsys.readouterr().out
    assert main(["check", str(run), str(run / "events-ops.jsonl.zst")]) == of_run
    assert main(["check", "--model", "register", str(run)]) == 254
    assert "do not apply to runs" in capsys.readouterr().err


def test_a_strange_initial_value_is_wrong_usage(
    good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--initial", "{", str(good)]) == 254
    assert "error: --initial {: " in capsys.readouterr().err


def test_what_strangers_wrote_cannot_move_the_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "escape.jsonl"
    write = (
        '{"type": "%s", "process": 0, "f": "write", "key": "\\u001b[2J", "value": "\\u001b[31m"}\n'
    )
    read = write.replace("write", "read").replace("31m", "32m")
    path.write_text("".join(line % kind for line in (write, read) for kind in ("invoke", "ok")))
    assert main(["check", str(path)]) == 1
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ALL)
def test_every_format_is_judged(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(ALL[name])
    code = main(["check", "--json", str(path)])
    assert (json.loads(capsys.readouterr().out)["verdict"], code) == ("valid", 0)


def test_the_words_of_the_command_line_are_those_of_the_checkers() -> None:
    assert tuple(model.value for model in Model) == check_command.MODELS
    assert tuple(policy.value for policy in CasFailures) == check_command.CAS_FAILURES
    assert tuple(policy.value for policy in NilReads) == check_command.NIL_READS
    assert tuple(level.value for level in Isolation) == check_command.ISOLATIONS


def test_a_name_that_cannot_be_does_not_hide_the_next_file(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(tmp_path / ("x" * 300)), str(good)]) == 254
    out, err = capsys.readouterr()
    assert f"{good}: VALID" in out
    assert "File name too long" in err
    assert "space" not in err


def test_a_pipe_is_refused_before_it_is_read(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert main(["check", str(tmp_path / "fifo"), str(good)]) == 254
    out, err = capsys.readouterr()
    assert f"{good}: VALID" in out
    assert "fifo: expected a run or a file, found a pipe" in err


def test_a_name_stays_on_its_line(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "odd\nerror: another.edn"
    assert main(["check", str(odd)]) == 254
    assert "odd\\nerror: another.edn'" in capsys.readouterr().err
    odd.write_bytes(good.read_bytes())
    assert main(["check", str(odd)]) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.endswith("keys are linearizable") or "VALID" in first
    odd.write_text("{")
    assert main(["check", str(odd)]) == 254
    assert len(capsys.readouterr().err.splitlines()) == 1
