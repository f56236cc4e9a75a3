"""Porcupine's 102 etcd histories: its time and ours, in turns, in the same run.

Reading the files is left out on both sides. What is compared are verdicts; finding the witness of
a violation, which Porcupine's CheckEvents does not do either, has a row of its own.
"""

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from checkers.history.calls import NEVER, NIL, Calls, Model, Outcome, Step
from checkers.linearizability import decide
from checkers.verdict import Verdict
from tests.bench.row import Row

PROGRAM = Path(__file__).parent / "porcupine"
MODULE = "github.com/anishathalye/porcupine"
NAME = "linearizability: Porcupine's etcd histories"
ROUNDS = 5
EACH = 3  # judgements of all files in a round
SHARE = 1 / 100
EXPLAINED_SHARE = 1 / 10
_LINE = re.compile(r"INFO\s+jepsen\.util\s+-\s+(\d+)\s+:(\w+)\s+:(\w+)\s+(.*)$")


def measure() -> Iterator[Row]:
    go = shutil.which("go")
    if go is None:
        yield Row(name=NAME, value=None, unit="s", note="skipped: no Go tool chain was found")
        return
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "porcupine"
        _go(go, "build", "-o", str(program), ".")
        root = Path(_go(go, "list", "-m", "-f", "{{.Dir}}", MODULE).strip())
        yield from _compare(program, root / "test_data" / "jepsen")


def _go(go: str, *arguments: str) -> str:
    done = subprocess.run(
        [go, *arguments], cwd=PROGRAM, check=True, capture_output=True, text=True, timeout=300
    )
    return done.stdout


def _compare(program: Path, directory: Path) -> Iterator[Row]:
    histories = {path.name: read(path) for path in sorted(directory.glob("etcd_*.log"))}
    histories = {name: calls for name, calls in histories.items() if len(calls)}
    ours, theirs, explained = list[float](), list[float](), list[float]()
    _judge(histories, explain=True)  # compiles what is not compiled yet
    for _ in range(ROUNDS):
        theirs_valid, seconds = _porcupine(program, directory)
        theirs.append(seconds)
        valid, _ = _judge(histories, explain=False)
        ours += [_judge(histories, explain=False)[1] for _ in range(EACH)]
        explained.append(_judge(histories, explain=True)[1])
        differ = [name for name in valid if valid[name] != theirs_valid[name]]
        assert not differ, f"the verdicts differ on {differ}"
    count = f"{len(histories)} histories, verdicts equal, best of {ROUNDS}, in turns"
    yield Row(name=f"{NAME}, Porcupine", value=min(theirs), unit="s", note=count)
    yield Row(
        name=NAME,
        value=min(ours),
        unit="s",
        bar=min(theirs) * SHARE,
        note=f"1/{min(theirs) / min(ours):.0f} of Porcupine's time; {count}",
    )
    yield Row(
        name=f"{NAME}, with witnesses",
        value=min(explained),
        unit="s",
        bar=min(theirs) * EXPLAINED_SHARE,
        note=f"1/{min(theirs) / min(explained):.0f} of Porcupine's time",
    )


def _porcupine(program: Path, directory: Path) -> tuple[dict[str, bool], float]:
    """Its verdicts, and its best time in a round, whose first judgement warms it up."""
    done = subprocess.run(
        [program, directory, str(EACH)], check=True, capture_output=True, text=True, timeout=300
    )
    told = json.loads(done.stdout)
    return told["valid"], min(told["seconds"])


def _judge(histories: dict[str, Calls], *, explain: bool) -> tuple[dict[str, bool], float]:
    began = time.perf_counter()
    decided = {name: decide(calls, explain=explain) for name, calls in histories.items()}
    seconds = time.perf_counter() - began
    assert all(one.verdict is not Verdict.UNKNOWN for one in decided.values())
    return {name: one.verdict is Verdict.VALID for name, one in decided.items()}, seconds


def read(path: Path) -> Calls:
    """Just enough for these files: a failed compare-and-set was observed to differ."""
    rows: list[list[int]] = []  # process, outcome, invoke, complete, kind, value, expected
    open_calls: dict[int, int] = {}
    event = 0
    for found in map(_LINE.match, path.read_text().splitlines()):
        if found is None:
            continue
        process, told, f, given = int(found[1]), found[2], found[3], found[4]
        numbers = [int(digits) for digits in re.findall(r"\d+", given)]
        if told == "invoke":
            open_calls[process] = len(rows)
            rows.append([process, Outcome.INFO, event, NEVER, *_asked(f, numbers)])
        elif told == "ok" or (told == "fail" and f == "cas"):
            row = rows[open_calls.pop(process)]
            row[1], row[3] = Outcome.OK, event
            if f == "read":
                row[5] = numbers[0] if numbers else NIL
            elif told == "fail":
                row[4], row[5] = Step.CAS_FAILED, NIL
        else:
            continue
        event += 1
    return _calls(rows)


def _asked(f: str, numbers: list[int]) -> tuple[int, int, int]:
    if f == "read":
        return Step.READ, NIL, NIL
    if f == "write":
        return Step.WRITE, numbers[0], NIL
    return Step.CAS, numbers[1], numbers[0]


def _calls(rows: list[list[int]]) -> Calls:
    columns = np.array(rows, np.int64).reshape(len(rows), 7)
    process, outcome, invoke, complete, kind, value, expected = columns.T
    return Calls(
        model=Model.CAS_REGISTER,
        process=process.astype(np.int32),
        outcome=outcome.astype(np.int8),
        invoke=invoke.copy(),
        complete=complete.copy(),
        line=np.zeros(len(rows), np.int32),
        step_from=np.arange(len(rows) + 1, dtype=np.int32),
        kind=kind.astype(np.int8),
        key=np.zeros(len(rows), np.int32),
        value=value.astype(np.int32),
        expected=expected.astype(np.int32),
        keys=["register"],
        values=[str(code) for code in range(10)],
    )
