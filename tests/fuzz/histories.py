"""Histories of others: random ones against other judges, damaged and odd ones against the command.

    python -m tests.fuzz.histories --count 2000 --damaged 500 --seed 1

Registers, compare-and-set, maps and transactions of 1 to 200 keys, half of them with something
wrong, are written as files, and each file is judged by itself in a process that may die of it. What
it says has to be what an exhaustive search says of small ones, and what Porcupine says of all where
there is a Go tool chain; without one the search is made for all.

Damaged files are given to `kraft-chaos check`, many at a time: each is one line of a verdict or one
line of an error, and the exit code is what these lines come to.

Prints a line for each part; exit code 1 where anything else happened, and how to repeat it.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from checkers.foreign import CasFailures, Declared, NilReads, judge, read_history
from checkers.history.calls import NEVER, NIL, Calls, Model, Outcome, Step
from tests.fuzz.damaged_histories import damaged_file
from tests.support.brute_force import exhaustive
from tests.support.random_calls import Shape, random_calls

MODELS = (Model.REGISTER, Model.CAS_REGISTER, Model.KV, Model.MULTI_REGISTER)
PROGRAM = Path(__file__).parent / "porcupine"
BATCH = 25  # damaged files that one command is given
PATIENCE_S = 120
EXIT_CODES = {"VALID": 0, "INVALID": 1, "UNKNOWN": 2}
SMALL = 60  # calls, up to which every order is tried
_WORDS = {Step.READ: "read", Step.WRITE: "write", Step.APPEND: "append"}
_MAP_WORDS = {Step.READ: "get", Step.WRITE: "put", Step.APPEND: "append"}


def drawn(seed: int, number: int) -> Calls:
    """A history of one of the models; small ones have many processes, large ones many keys."""
    rng = random.Random(f"{seed}:{number}")
    model = rng.choice(MODELS)
    keys = rng.choice((1, 1, 2, 3, rng.randint(4, 30), rng.randint(31, 200)))
    calls = rng.randint(2, 14) if keys <= 3 else rng.randint(keys, 3 * keys)
    shape = Shape(
        model=model,
        calls=calls,
        processes=rng.randint(1, 6) if keys <= 3 else rng.randint(1, 4),
        keys=keys,
        values=rng.choice((0, 0, 1, 2, 3)),
        info=rng.choice((0.0, 0.1, 0.3)) if keys <= 3 else rng.choice((0.0, 0.01)),
        cas=rng.choice((0.2, 0.5)),
        deletes=rng.choice((0.0, 0.3)) if model is not Model.MULTI_REGISTER else 0.0,
        initial=rng.choice((NIL, 0)) if model is not Model.KV else NIL,
    )
    return random_calls(rng, shape)


def edn(calls: Calls) -> str:
    """The file: a line for each invocation and completion, in their order."""
    events: list[tuple[int, str]] = []
    last = 1 + max([*calls.invoke.tolist(), *(c for c in calls.complete.tolist() if c != NEVER)])
    for row in range(len(calls)):
        events.append((int(calls.invoke[row]), _line(calls, row, "invoke")))
        outcome = Outcome(calls.outcome[row])
        end = int(calls.complete[row])
        if outcome is Outcome.INFO:
            continue  # a process that never came back
        if end == NEVER:
            end, last = last, last + 1
        word = "fail" if outcome is Outcome.FAIL or _kind(calls, row) is Step.CAS_FAILED else "ok"
        events.append((end, _line(calls, row, word)))
    return "".join(line for _, line in sorted(events))


def _kind(calls: Calls, row: int) -> Step:
    return Step(int(calls.kind[calls.step_from[row]]))


def _line(calls: Calls, row: int, told: str) -> str:
    process = calls.process[row]
    if calls.model is Model.MULTI_REGISTER:
        steps = range(calls.step_from[row], calls.step_from[row + 1])
        inside = " ".join(_micro(calls, step, told) for step in steps)
        return f"{{:process {process}, :type :{told}, :f :txn, :value [{inside}]}}\n"
    step, kind = int(calls.step_from[row]), _kind(calls, row)
    key, value = calls.keys[calls.key[step]], _text(calls, int(calls.value[step]))
    if kind is Step.READ and told != "ok":
        value = "nil"
    if kind in (Step.CAS, Step.CAS_FAILED):
        new = value if kind is Step.CAS else '"another"'
        value = f"[{_text(calls, int(calls.expected[step]))} {new}]"
        if told == "fail" and kind is Step.CAS:
            value = ":timed-out"  # it did not happen, and saw nothing
    begin = f"{{:process {process}, :type :{told}, "
    if calls.model is Model.KV:
        return f'{begin}:f :{_MAP_WORDS[kind]}, :key "{key}", :value {value}}}\n'
    return f"{begin}:f :{_WORDS.get(kind, 'cas')}, :value [:{key} {value}]}}\n"


def _micro(calls: Calls, step: int, told: str) -> str:
    reads = calls.kind[step] == Step.READ
    value = "nil" if reads and told != "ok" else _text(calls, int(calls.value[step]))
    return f"[:{'r' if reads else 'w'} :{calls.keys[calls.key[step]]} {value}]"


def _text(calls: Calls, code: int) -> str:
    if code == NIL:
        return '""' if calls.model is Model.KV else "nil"
    return json.dumps(calls.values[code])


def declared(calls: Calls) -> Declared:
    """What the file leaves open."""
    return Declared(
        model=calls.model,
        cas_failures=CasFailures.OBSERVED,
        nil_reads=NilReads.VALUE,
        initial=None if calls.initial == NIL else calls.values[calls.initial],
    )


def for_porcupine(calls: Calls) -> str:
    """One line of what `porcupine/main.go` reads."""
    rows = [row for row in range(len(calls)) if calls.outcome[row] != Outcome.FAIL]
    end = 1 + max([*calls.invoke.tolist(), *(c for c in calls.complete.tolist() if c != NEVER)])
    told = {
        "Map": calls.model is Model.KV,
        "Joined": calls.model is Model.MULTI_REGISTER,
        "Initial": _value(calls, calls.initial),
        "Keys": max(1, len(calls.keys)),
        "Calls": [
            {
                "Process": int(calls.process[row]),
                "Invoked": int(calls.invoke[row]),
                "Completed": min(int(calls.complete[row]), end),
                "Known": bool(calls.outcome[row] == Outcome.OK),
                "Steps": [
                    _step(calls, step)
                    for step in range(calls.step_from[row], calls.step_from[row + 1])
                ],
            }
            for row in rows
        ],
    }
    return json.dumps(told)


def _step(calls: Calls, step: int) -> dict[str, object]:
    nothing = calls.model is Model.KV and calls.value[step] == NIL
    return {
        "Kind": int(calls.kind[step]),
        "Key": int(calls.key[step]),
        "Value": "" if nothing else _value(calls, int(calls.value[step])),
        "Expected": _value(calls, int(calls.expected[step])),
    }


def _value(calls: Calls, code: int) -> str | None:
    return None if code == NIL else calls.values[code]


class Judging:
    """This judge, in a process of its own that is started anew when it dies."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def verdict(self, path: Path, calls: Calls) -> str:
        """VALID, INVALID or UNKNOWN; otherwise what became of the process."""
        if self._process is None:
            command = [sys.executable, "-m", __spec__.name, "--judge"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        has = "" if calls.initial == NIL else calls.values[calls.initial]
        asked = {"path": str(path), "model": calls.model.value, "initial": has}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        if answer := self._process.stdout.readline():
            return answer.strip()
        return f"the judge ended with {self.close()}"

    def close(self) -> int:
        """Let it end; returns its exit code."""
        if self._process is None:
            return 0
        # Closes the pipes, and waits.
        self._process.communicate()
        code, self._process = self._process.returncode, None
        return code


def judge_what_is_asked(questions: IO[str], answers: IO[str]) -> None:
    """The other side of `Judging`."""
    for line in questions:
        asked = json.loads(line)
        said = Declared(
            model=Model(asked["model"]),
            cas_failures=CasFailures.OBSERVED,
            nil_reads=NilReads.VALUE,
            initial=asked["initial"] or None,
        )
        answers.write(judge(read_history(Path(asked["path"]), said)).verdict.name + "\n")
        answers.flush()


def porcupines(histories: Sequence[Calls], directory: Path) -> list[str]:
    """Its verdicts in our words; none without a Go tool chain."""
    go = shutil.which("go")
    if go is None:
        return []
    program = directory / "porcupine"
    subprocess.run([go, "build", "-o", str(program), "."], cwd=PROGRAM, check=True, timeout=300)
    told = "".join(for_porcupine(calls) + "\n" for calls in histories)
    done = subprocess.run([program], input=told, capture_output=True, text=True, check=True)
    words = {"Ok": "VALID", "Illegal": "INVALID", "Unknown": ""}
    return [words[line] for line in done.stdout.split()]


@dataclass(slots=True)
class Found:
    """How many came to what, and each that should not have."""

    counts: "Counter[str]" = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lines: int = 0


def compare(seed: int, numbers: range, directory: Path, *, with_porcupine: bool) -> Found:
    """Random histories, judged here and by others."""
    found, judging = Found(), Judging()
    histories = [drawn(seed, number) for number in numbers]
    theirs = porcupines(histories, directory) if with_porcupine else []
    for place, (number, calls) in enumerate(zip(numbers, histories, strict=True)):
        path = directory / f"history-{number}.edn"
        path.write_text(edn(calls))
        said = judging.verdict(path, calls)
        path.unlink()
        others = _others(calls, theirs[place] if theirs else "")
        compared = "" if others else ", with nobody"
        found.counts[f"{calls.model.value} {said.lower()}{compared}"] += 1
        silent = not (calls.outcome == Outcome.OK).any()
        if silent and said == "UNKNOWN":
            continue  # nothing succeeded, which others call valid
        if not others <= {said} or said not in EXIT_CODES or said == "UNKNOWN":
            name = f"--seed {seed} --first {number} --count 1"
            found.wrong.append(f"{name}: {said}, others say {', '.join(sorted(others))}")
    judging.close()
    return found


def _others(calls: Calls, theirs: str) -> set[str]:
    """What other judges say that came to an end."""
    said = {theirs} if theirs else set[str]()
    if len(calls) <= SMALL or not theirs:
        sys.setrecursionlimit(100_000)
        said.add("VALID" if exhaustive(calls) else "INVALID")
    return said


def check_damaged(seed: int, numbers: Sequence[int], directory: Path) -> Found:
    """Damaged and odd files, through the command."""
    found = Found()
    for batch in _batches(numbers):
        paths = [directory / f"damaged-{number:07}" for number in batch]
        for number, path in zip(batch, paths, strict=True):
            path.write_bytes(damaged_file(random.Random(f"{seed}:damaged:{number}")))
        wrong = _check(paths, found)
        if wrong and len(paths) > 1:
            for number, path in zip(batch, paths, strict=True):
                if alone := _check([path], Found()):
                    wrong = f"{alone}\n  try: --seed {seed} --first {number} --damaged 1 --count 0"
        if wrong:
            found.wrong.append(wrong)
        for path in paths:
            path.unlink()
    return found


def _batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(numbers), BATCH):
        yield numbers[start : start + BATCH]


def _check(paths: Sequence[Path], found: Found) -> str:
    """What is wrong with what the command says of these files; nothing if all is as documented."""
    command = [sys.executable, "-m", "chaos.cli", "check", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S)
    out, err = done.stdout.decode(), done.stderr.decode()
    codes = []
    for path in paths:
        heads = [line for line in out.split("\n") if line.startswith(f"{path}: ")]
        errors = [line for line in err.split("\n") if line.startswith(f"error: {path}")]
        if len(heads) + len(errors) != 1:
            return f"{path}: {len(heads)} verdicts and {len(errors)} errors\n{err[-2000:]}"
        word = heads[0].removeprefix(f"{path}: ").split(":")[0] if heads else "refused"
        found.counts[word.lower()] += 1
        codes.append(EXIT_CODES.get(word, 254 if errors else -1))
    known = [line for line in err.split("\n") if line and not line.startswith("compiling ")]
    if len(known) != codes.count(254) or "--traceback" in err:
        return f"{len(known)} lines of errors for {codes.count(254)} files\n{err[-2000:]}"
    worst = next(code for code in (254, 1, 2, 0, -1) if code in codes)
    return "" if done.returncode == worst else f"exit code {done.returncode}, not {worst}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.histories", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="how many histories")
    parser.add_argument("--damaged", type=int, default=0, help="how many damaged files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first of each")
    parser.add_argument("--judge", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.judge:
        judge_what_is_asked(sys.stdin, sys.stdout)
        return 0
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        began = time.monotonic()
        if options.count:
            numbers = range(options.first, options.first + options.count)
            found = compare(options.seed, numbers, Path(name), with_porcupine=True)
            wrong += _tell(f"{options.count} histories", "differ", found, began)
        began = time.monotonic()
        if options.damaged:
            numbers = range(options.first, options.first + options.damaged)
            found = check_damaged(options.seed, numbers, Path(name))
            wrong += _tell(f"{options.damaged} damaged files", "wrong", found, began)
    return int(wrong > 0)


def _tell(what: str, word: str, found: Found, began: float) -> int:
    for one in found.wrong[:5]:
        print(one)
    counts = ", ".join(f"{name} {count}" for name, count in sorted(found.counts.items()))
    seconds = time.monotonic() - began
    print(f"{what}: {len(found.wrong)} {word}; {counts}; {seconds:.0f} s", flush=True)
    return len(found.wrong)


if __name__ == "__main__":
    sys.exit(main())
