"""An application of the user's: what it prints is judged, its death and silence are told."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from chaos.errors import UsageError
from chaos.recorder import MachineClock
from chaos.run import own_app
from chaos.run.own_app import DIRECTORY, HISTORY, HISTORY_CHECK, LIVES_CHECK, OwnApp, own_app_rows
from chaos.run.plan_files import plan_as_json, plan_from
from chaos.run.planning import Choices, plan_of
from checkers.verdict import CheckResult, Verdict

COMMAND = "sh app.sh"


def line(kind: str, f: str, *told: Any) -> str:
    text = json.dumps({"type": kind, "process": 0, "f": f, "value": [[f, *told]]})
    return f"echo '{text}'\n"


def sent(value: int, offset: int) -> str:
    asked, told = line("invoke", "send", "app", value), line("ok", "send", "app", [offset, value])
    return asked + told


def polled(*records: tuple[int, int]) -> str:
    return line("invoke", "poll") + line("ok", "poll", {"app": records})


AGAIN = "while :; do sleep 0.02; " + polled().replace("\n", "; ") + "done\n"
WELL = polled((0, 7), (1, 8), (2, 9))


def run(directory: Path, main: str, final: str) -> dict[str, CheckResult]:
    """Its rows after a run of this script, in whose middle all is healed."""
    script = directory / "app.sh"
    script.write_text(f'if [ "$KRAFT_CHAOS_PHASE" = main ]; then\n{main}else\n{final}fi\n')

    async def go() -> None:
        app = OwnApp(
            f"exec sh {script}",
            {"KRAFT_CHAOS_SEED": "5"},
            directory / DIRECTORY,
            MachineClock(),
            lambda _: None,
        )
        try:
            await app.start()
            told = directory / DIRECTORY / HISTORY
            while main == ONCE and (not told.exists() or told.read_bytes().count(b"\n") < 4):
                await asyncio.sleep(0.01)
            await app.answers()
            await app.look_back()
        finally:
            await app.close()

    asyncio.run(go())
    return {row.check: row for row in own_app_rows(directory, {"app": COMMAND})}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_app, "ANSWERS_WITHIN_S", 1.0)
    monkeypatch.setattr(own_app, "READS_WITHIN_S", 1.0)
    monkeypatch.setattr(own_app, "ENDS_WITHIN_S", 0.2)


def test_what_it_acknowledged_and_read_is_valid(tmp_path: Path) -> None:
    once = line("invoke", "send", "app", 9) + line("info", "send", "app", 9)
    rows = run(tmp_path, sent(7, 0) + sent(8, 1) + once + AGAIN, polled((0, 7), (1, 8)))
    assert rows[HISTORY_CHECK].verdict is Verdict.VALID, rows[HISTORY_CHECK].message
    assert rows[LIVES_CHECK].verdict is Verdict.VALID, rows[LIVES_CHECK].message
    last = json.loads((tmp_path / DIRECTORY / HISTORY).read_text().splitlines()[-1])
    assert last["process"] == "final 0", "an operation that was under way at SIGTERM is another's"
    assert last["time"] > 0


ONCE = sent(7, 0) + sent(8, 1) + "while :; do sleep 1; done\n"
ON = sent(7, 0) + sent(8, 1) + AGAIN  # it succeeds in something for ever


@pytest.mark.parametrize(
    ("main", "final", "verdict", "words"),
    [
        (ONCE, polled((1, 8)), Verdict.INVALID, "lost-write"),
        (ON, polled((0, 7)) + "exit 4\n", Verdict.UNKNOWN, "8 was acknowledged at offset 1 of app"),
        (ON, polled((0, 7)), Verdict.INVALID, "8 was acknowledged at offset 1 of app"),
        (ONCE, polled((0, 7), (1, 6)), Verdict.INVALID, "inconsistent-offsets"),
        ("echo no JSON\n", WELL, Verdict.UNKNOWN, "app/history.jsonl, line 1"),
        ("head -c 1500000 /dev/zero\nsleep 9\n", WELL, Verdict.UNKNOWN, "history.jsonl, line 1"),
    ],
)
def test_what_is_wrong_in_its_history_is_told(
    tmp_path: Path, main: str, final: str, verdict: Verdict, words: str
) -> None:
    row = run(tmp_path, main, final)[HISTORY_CHECK]
    assert row.verdict is verdict, row.message
    assert words in row.message


@pytest.mark.parametrize(
    ("main", "final", "words"),
    [
        (sent(7, 0) + "exit 3\n", WELL, "ended by itself in its main phase: exit code 3"),
        (ONCE, WELL, "succeeded in nothing for 1 s after all was healed"),
        ("sleep 30\n", "exit 0\n", "told of no operation that succeeded"),
        (ON, "exit 4\n", "ended by itself in its final phase: exit code 4"),
        (ON, "sleep 30\n", "its final phase did not end within 1 s"),
        ("trap '' TERM\n" + ON, "trap '' TERM\nsleep 30 &\nwait\n", "did not end"),
    ],
)
def test_its_death_and_its_silence_are_told(
    tmp_path: Path, main: str, final: str, words: str
) -> None:
    row = run(tmp_path, main, final)[LIVES_CHECK]
    assert row.verdict is Verdict.UNKNOWN
    assert words in row.message, row.message


def test_it_is_recorded_and_refused_where_it_reaches_no_broker() -> None:
    choices = Choices(scenario="power-off-brokers", seed=3, runtime="docker", app=COMMAND)
    plan = plan_of(choices)
    assert plan_from(plan_as_json(plan)) == plan
    for wrong, words in (
        (Choices(scenario="power-off-brokers", runtime="sim", app=COMMAND), "simulated cluster"),
        (Choices(scenario="power-off", runtime="docker", app=COMMAND), "no clients of brokers"),
    ):
        with pytest.raises(UsageError, match=words):
            plan_of(wrong)


def test_a_run_that_broke_off_before_it_ended_is_not_valid(tmp_path: Path) -> None:
    verdicts = {row.verdict for row in own_app_rows(tmp_path, {"app": COMMAND})}
    assert verdicts == {Verdict.UNKNOWN}
    assert own_app_rows(tmp_path, {}) == []


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b"\xff", b'{"lives": [{}]}'])
def test_a_damaged_account_of_its_lives_is_unknown(tmp_path: Path, text: bytes) -> None:
    (tmp_path / DIRECTORY).mkdir()
    (tmp_path / DIRECTORY / own_app.LIVES).write_bytes(text)
    rows = {row.check: row for row in own_app_rows(tmp_path, {"app": COMMAND})}
    assert {row.verdict for row in rows.values()} == {Verdict.UNKNOWN}
    assert "is not as it was written" in rows[LIVES_CHECK].message
