"""An application of the user's beside the load of a run: `run --app CMD`.

It is started once clients' writes are acknowledged, with addresses and seed in its environment, and
prints what it does as lines of JSON, in the form that `kraft-chaos check` reads. When all is healed
and it has succeeded in something since, it is ended by SIGTERM; then it is started once more in the
phase `final`, to read what there is and end by itself. What it printed is judged as any history of
others; its death and its silence are told beside that.
"""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from chaos.recorder import Clock
from checkers.foreign import Declared, Log, UnreadableHistoryError, judge, read_history
from checkers.history.events import EventType
from checkers.history.sealed_run import checked, with_checksum
from checkers.verdict import CheckResult, Verdict
from workloads.operation_history import FINAL, MAIN

DIRECTORY = "app"  # in the run's
HISTORY, LIVES, STDERR = "history.jsonl", "lives.json", "stderr.log"
TOPIC = "app"  # of one partition, made for it
HISTORY_CHECK, LIVES_CHECK = "own-app-history", "own-app-lives"
ANSWERS_WITHIN_S = 30.0  # after all is healed
ENDS_WITHIN_S = 5.0  # after SIGTERM
READS_WITHIN_S = 60.0  # in its final phase
_LONGEST_LINE = 1 << 20
_POLL_S = 0.05


@dataclass(slots=True, kw_only=True)
class AppProcess:
    """One process of it. `asked`: the harness ended it."""

    phase: str
    t_ns: int
    until_ns: int = 0
    exit_code: int | None = None
    asked: bool = False
    lines: int = 0


@dataclass(slots=True)
class OwnApp:
    """Carries out one command, in both phases. Used once."""

    command: str
    environment: Mapping[str, str]
    directory: Path  # of its files
    clock: Clock
    tell: Callable[[str], None]
    _lives: list[AppProcess] = field(default_factory=list)
    _process: asyncio.subprocess.Process | None = None
    _reading: "asyncio.Task[None] | None" = None
    _crashes: dict[str, int] = field(default_factory=dict)  # by process
    _succeeded: int = 0
    _last_ns: int = 0
    _silence_ns: int = 0
    _answered_ns: int | None = (
        None  # after all was healed: how long it took to succeed in something
    )

    async def start(self) -> None:
        """Start its main phase."""
        self.directory.mkdir()
        await self._start(MAIN)

    async def answers(self) -> None:
        """Wait until it has succeeded in something, now that all is healed; a limited time."""
        began_ns, before = self.clock.now_ns(), self._succeeded
        while self._runs and self.clock.now_ns() - began_ns < ANSWERS_WITHIN_S * 1e9:
            if self._succeeded > before:
                self._answered_ns = self.clock.now_ns() - began_ns
                return
            await asyncio.sleep(_POLL_S)

    async def look_back(self) -> None:
        """End its main phase, and let the final one end by itself; write what became of both."""
        await self._end(ENDS_WITHIN_S)
        await self._start(FINAL)
        assert self._process is not None
        try:
            async with asyncio.timeout(READS_WITHIN_S):
                await self._process.wait()
        except TimeoutError:
            self.tell(f"the application's final phase did not end within {READS_WITHIN_S:g} s")
        await self.close()

    async def close(self) -> None:
        """End whatever runs, and write down its lives. Once more changes nothing."""
        if self._process is None:
            return
        await self._end(ENDS_WITHIN_S)
        told = {
            "command": self.command,
            "lives": [{name: getattr(life, name) for name in _LIFE} for life in self._lives],
            "succeeded": self._succeeded,
            "silence_ns": self._silence_ns,
            "answered_ns": self._answered_ns,
        }
        (self.directory / LIVES).write_text(with_checksum(told), encoding="utf-8")

    @property
    def _runs(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def _start(self, phase: str) -> None:
        self._last_ns = self.clock.now_ns()
        self._lives.append(AppProcess(phase=phase, t_ns=self._last_ns))
        with (self.directory / STDERR).open("ab") as complaints:
            self._process = await asyncio.create_subprocess_exec(
                "sh",
                "-c",
                self.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=complaints,
                env={**os.environ, **self.environment, "KRAFT_CHAOS_PHASE": phase},
                start_new_session=True,  # it is ended with all that it started
                limit=_LONGEST_LINE,
            )
        self._reading = asyncio.create_task(self._read(self._process, self._lives[-1]))

    async def _read(self, process: asyncio.subprocess.Process, life: AppProcess) -> None:
        """Until it closes its output: keep each line, with the time of the run."""
        assert process.stdout is not None
        with (self.directory / HISTORY).open("ab") as history:
            try:
                while line := await process.stdout.readline():
                    life.lines += 1
                    history.write(self._kept(line, life.phase))
                    history.flush()  # so that each look at a run under way finds whole lines
            except ValueError:  # the rest of it could not be told from lines
                history.write(b"a line of more than 1 MiB, and the application was ended\n")
                self._signal(process, signal.SIGKILL)
        life.exit_code = await process.wait()
        life.until_ns = self.clock.now_ns()
        if not life.asked and (life.phase == MAIN or life.exit_code):
            self.tell(f"the application ended by itself in its {life.phase} phase: {_code(life)}")

    def _kept(self, line: bytes, phase: str) -> bytes:
        """The same line with its time. What may have left an operation open is another process from
        then on: after an `info`, and in the final phase. What is no operation stays as it is, and
        the judge names its line."""
        try:
            told = json.loads(line)
        except ValueError:
            return line
        if not isinstance(told, dict) or not {"type", "process"} <= told.keys():
            return line
        now_ns = self.clock.now_ns()
        if told["type"] == EventType.OK:
            self._succeeded += 1
            self._silence_ns = max(self._silence_ns, now_ns - self._last_ns)
            self._last_ns = now_ns
        named = f"{FINAL} {told['process']}" if phase == FINAL else told["process"]
        crashes = self._crashes.get(str(named), 0)
        process = f"{named}, after {crashes} info" if crashes else named
        if told["type"] == EventType.INFO:
            self._crashes[str(named)] = crashes + 1
        return json.dumps({**told, "process": process, "time": now_ns}).encode() + b"\n"

    async def _end(self, within_s: float) -> None:
        process, life = self._process, self._lives[-1]
        assert process is not None
        assert self._reading is not None
        if process.returncode is None:
            life.asked = True
            self._signal(process, signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    await process.wait()
        self._signal(process, signal.SIGKILL)  # also what it left behind, which holds its output
        await self._reading

    @staticmethod
    def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)


_LIFE = ("phase", "t_ns", "until_ns", "exit_code", "asked", "lines")


def _code(life: AppProcess) -> str:
    seconds = (life.until_ns - life.t_ns) / 1e9
    return f"exit code {life.exit_code} after {seconds:.1f} s; see {DIRECTORY}/{STDERR}"


# What is judged of it.


def own_app_rows(directory: Path, plan: Mapping[str, Any]) -> list[CheckResult]:
    """A row for what it printed, and one for how it lived; none in a run without it."""
    if not plan.get("app"):
        return []
    try:
        told = _told(directory / DIRECTORY / LIVES)
        lives = [AppProcess(**life) for life in told.get("lives", ())]
    except (ValueError, TypeError) as error:  # damaged: nothing of it is believed
        damaged = _unknown(LIVES_CHECK, f"{DIRECTORY}/{LIVES} is not as it was written: {error}")
        return [_of_history(directory / DIRECTORY / HISTORY, read_all=False), damaged]
    read_all = any(life.phase == FINAL and life.exit_code == 0 for life in lives)
    history = _of_history(directory / DIRECTORY / HISTORY, read_all=read_all)
    return [history, _of_lives(lives, told)]


def _told(path: Path) -> Mapping[str, Any]:
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    return checked(path, text, json.loads(text))


def _of_history(path: Path, *, read_all: bool) -> CheckResult:
    """`read_all`: its final phase ended well. Else what was never polled may be there."""
    if not path.exists():
        return _unknown(HISTORY_CHECK, f"the application left no {DIRECTORY}/{HISTORY}")
    try:
        history = read_history(path, Declared())
    except UnreadableHistoryError as error:
        what = str(error).replace(str(path), f"{DIRECTORY}/{HISTORY}").partition("\n")[0]
        return _unknown(HISTORY_CHECK, f"what the application printed is no history: {what}")
    if isinstance(history.calls, Log) and not read_all:
        history = replace(history, calls=replace(history.calls, may_lose=True))
    judged = judge(history)
    return CheckResult(
        check=HISTORY_CHECK,
        verdict=judged.verdict,
        message=f"the application: {judged.message}",
        looked_at=judged.operations,
        count=int(judged.verdict is Verdict.INVALID),
        witness=tuple(
            {
                "what": shown.part or shown.what,
                "operation": shown.what,
                "process": str(shown.process),
                "key": shown.key,
                "line": shown.line,
            }
            for shown in judged.witness
        ),
        algorithm=judged.algorithm,
    )


def _of_lives(lives: Sequence[AppProcess], told: Mapping[str, Any]) -> CheckResult:
    if not lives:
        return _unknown(LIVES_CHECK, "the run broke off before the application had ended")
    if troubles := [*_troubles(lives, told)]:
        return _unknown(LIVES_CHECK, "; ".join(troubles))
    main = lives[0]
    return CheckResult(
        check=LIVES_CHECK,
        verdict=Verdict.VALID,
        message=f"the application ran for {(main.until_ns - main.t_ns) / 1e9:.1f} s, at most "
        f"{told['silence_ns'] / 1e9:.1f} s without a success; it succeeded "
        f"{told['answered_ns'] / 1e9:.1f} s after all was healed, and read everything at the end",
        looked_at=int(told["succeeded"]),
        algorithm="its processes, and the times at which it printed",
    )


def _troubles(lives: Sequence[AppProcess], told: Mapping[str, Any]) -> list[str]:
    found = []
    for life in lives:
        if not life.asked and (life.phase == MAIN or life.exit_code):
            found.append(
                f"the application ended by itself in its {life.phase} phase: {_code(life)}"
            )
        if life.asked and life.phase == FINAL:
            found.append(f"its final phase did not end within {READS_WITHIN_S:g} s")
    if len(lives) == 1:
        found.append("the run broke off before its final phase")
    if not told["succeeded"]:
        found.append("the application told of no operation that succeeded")
    elif told["answered_ns"] is None and not found:
        found.append(f"it succeeded in nothing for {ANSWERS_WITHIN_S:g} s after all was healed")
    return found


def _unknown(check: str, message: str) -> CheckResult:
    return CheckResult(check=check, verdict=Verdict.UNKNOWN, message=message)
