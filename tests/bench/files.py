"""Many small histories of others, judged by one `kraft-chaos check --json`: half JSON, half EDN."""

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from checkers.history.calls import NEVER, NIL, Calls, Step
from tests.bench.row import Row
from tests.support.long_calls import Load, long_calls

FILES = 1_000
OPERATIONS = 85  # as many as in one of Porcupine's etcd histories
LIMIT_S = 10.0
BEST_OF = 3


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory:
        paths = [_write(Path(directory), seed) for seed in range(FILES)]
        _check(paths[:2])  # compiles what is not compiled yet
        rounds = [_check(paths) for _ in range(BEST_OF)]
    verdicts = ", ".join(f"{count} {word}" for word, count in sorted(rounds[0][1].items()))
    yield Row(
        name=f"check --json: {FILES:,} small files, one process",
        value=min(seconds for seconds, _ in rounds),
        unit="s",
        bar=LIMIT_S,
        note=f"{OPERATIONS} operations each: {verdicts}; best of {BEST_OF}, with the start",
    )


def _check(paths: list[Path]) -> tuple[float, Counter[str]]:
    """How long it took, and how many got which verdict."""
    command = [sys.executable, "-m", "chaos.cli", "check", "--json", *map(str, paths)]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    told = json.loads(done.stdout)
    assert [each["file"] for each in told] == [str(path) for path in paths], done.stderr
    wrong = [
        each["file"]
        for each in told
        if each["verdict"] not in ("valid", "invalid")
        or (each["verdict"] == "invalid" and "damaged" not in each["file"])
    ]
    assert not wrong, f"{wrong[:5]} are linearizable by construction"
    return seconds, Counter(each["verdict"] for each in told)


def _write(directory: Path, seed: int) -> Path:
    damaged, edn = seed % 4 > 1, seed % 2 == 1
    load = Load(operations=OPERATIONS, processes=5, values=5, info=0.02, cas=True, damaged=damaged)
    name = f"{seed:04}-{'damaged' if damaged else 'whole'}.{'edn' if edn else 'json'}"
    path = directory / name
    lines = map(_edn if edn else json.dumps, _events(long_calls(load, seed)))
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def _events(calls: Calls) -> list[dict[str, object]]:
    """In the order recorded; what never completed has no completion."""
    at: list[tuple[int, dict[str, object]]] = []
    for call in range(len(calls)):
        kind, value = Step(int(calls.kind[call])), _value(int(calls.value[call]))
        f = {Step.READ: "read", Step.WRITE: "write"}.get(kind, "cas")
        given = [_value(int(calls.expected[call])), value] if f == "cas" else value
        told = "fail" if kind is Step.CAS_FAILED else "ok"
        event = {"process": int(calls.process[call]), "f": f, "value": given}
        asked = {**event, "value": None} if f == "read" else event
        at.append((int(calls.invoke[call]), {"type": "invoke", **asked}))
        if calls.complete[call] != NEVER:
            at.append((int(calls.complete[call]), {"type": told, **event}))
    return [event for _, event in sorted(at, key=lambda each: each[0])]


def _value(code: int) -> int | None:
    return None if code == NIL else code


def _edn(event: dict[str, object]) -> str:
    words = {name: f":{event[name]}" for name in ("type", "f")}
    value = json.dumps(event["value"]).replace("null", "nil").replace(",", "")
    rest = f":f {words['f']}, :process {event['process']}, :value {value}"
    return f"{{:type {words['type']}, {rest}}}"
