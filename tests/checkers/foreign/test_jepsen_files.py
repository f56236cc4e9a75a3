"""What Jepsen leaves of a run: `history.txt`, `jepsen.log`, `test.jepsen`, and its directories."""

import random
from pathlib import Path

import pytest

from checkers.foreign import Declared, Format, UnreadableHistoryError, judge, read_history
from checkers.foreign.edn import read_one
from checkers.foreign.foreign_values import render
from checkers.foreign.fressian import FressianError, FressianReader
from checkers.foreign.jepsen_file import history_in
from checkers.history.calls import Calls
from checkers.verdict import Verdict
from tests.checkers.foreign.test_formats import REGISTER, told
from tests.support.foreign import HISTORY_TXT, JEPSEN, JEPSEN_LOG
from tests.support.jepsen_blocks import (
    FRESSIAN,
    HISTORY,
    ROOT,
    block,
    chunk,
    file_of,
    vector,
    whole,
)


def calls_of(path: Path, data: bytes | str) -> Calls:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    calls = read_history(path, Declared()).calls
    assert isinstance(calls, Calls)
    return calls


def refusal(path: Path, data: bytes | str) -> str:
    with pytest.raises(UnreadableHistoryError) as caught:
        calls_of(path, data)
    return str(caught.value).removeprefix(f"{path}, ").removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "format_"), [(HISTORY_TXT, Format.HISTORY_TXT), (JEPSEN_LOG, Format.JEPSEN_LOG)]
)
def test_lines_of_operations(tmp_path: Path, text: str, format_: Format) -> None:
    path = tmp_path / "history"
    path.write_text(text)
    assert read_history(path, Declared()).format is format_
    assert told(calls_of(path, text)) == REGISTER
    assert told(calls_of(path, text.replace("\n", "\r\n"))) == REGISTER


def test_lines_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "history"
    cut = HISTORY_TXT[:-1]
    assert refusal(path, cut).startswith("line 14: expected a line that ends, found '3")
    odd = HISTORY_TXT.replace("1\t:ok\t:read\t1\n", "1\t:okay\t:read\t1\n")
    assert refusal(path, odd).startswith("line 6: expected 'PROCESS :invoke|:ok|:fail|:info :F")
    many = HISTORY_TXT.replace(":ok\t:read\t1\n", ":ok\t:read\t1 2\n")
    assert refusal(path, many).startswith("line 6: expected one value in EDN, found '1 2'")
    strange = JEPSEN_LOG.replace("1\t:ok\t:read\t1", "1\t:oik\t:read\t1")
    assert refusal(path, strange).startswith("line 7: expected 'PROCESS :invoke|")
    gone = "".join(line for line in JEPSEN_LOG.splitlines(True) if ":ok\t:read" not in line)
    assert refusal(path, gone).startswith("line 11: expected process 1 to complete what it")


def test_fressian_as_its_own_writer_has_it() -> None:
    for name in ("values", "integers"):
        found = FressianReader(chunk(name)).values()
        expected = read_one((FRESSIAN / f"{name}.edn").read_text())
        assert isinstance(expected, tuple)
        assert list(map(render, found)) == list(map(render, expected))


def test_damaged_fressian_is_an_error_or_another_value() -> None:
    rng = random.Random("damage:fressian")
    good = chunk("values")
    refused = 0
    for _ in range(2_000):
        at = rng.randrange(len(good))
        data = good[:at] + bytes([rng.randrange(256)]) + good[at + 1 :]
        try:
            list(map(render, FressianReader(data[: rng.randint(1, len(data))]).values()))
        except FressianError:
            refused += 1
    assert refused > 500


def test_a_test_file(tmp_path: Path) -> None:
    path = tmp_path / "test.jepsen"
    calls = calls_of(path, whole())
    history = read_history(path, Declared())
    assert (history.format, len(calls)) == (Format.JEPSEN_FILE, 40)
    assert told(calls)[:2] == ["0: 0..2 write=0 ok", "3: 1..3 read=0 ok"]
    assert calls.line.tolist()[24:26] == [50, 51]  # behind the nemesis
    assert judge(history).verdict is Verdict.VALID


def test_any_damage_to_a_test_file_is_found(tmp_path: Path) -> None:
    rng = random.Random("damage:test.jepsen")
    good = whole()
    for _ in range(300):
        at = rng.randrange(len(good))
        assert refusal(tmp_path / "t", good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        assert refusal(tmp_path / "t", good[:at])


def test_test_files_that_are_odd(tmp_path: Path) -> None:
    path, root, stream = tmp_path / "t", block(2, chunk("test")), block(4, chunk("chunk-1"))
    assert refusal(path, b"JEPSEN" + bytes(12)).startswith("expected a test.jepsen with an index")
    new = b"JEPSEN\0\0\0\7" + whole()[10:]
    assert refusal(path, new) == "expected a test.jepsen of version 0 or 1, found version 7"
    unknown = file_of({ROOT: root})
    assert refusal(path, unknown).startswith("expected block 7 in the index of test.jepsen")
    nothing = file_of({ROOT: root, HISTORY: block(2, b"\xf7")})
    assert (
        refusal(path, nothing) == "expected at least one operation, found none in this test.jepsen"
    )
    short = file_of({ROOT: root, HISTORY: vector([(0, 20)], 50), 20: stream})
    assert refusal(path, short) == "expected 50 operations in test.jepsen, found 49"
    hole = file_of({ROOT: root, HISTORY: vector([(3, 20)], 52), 20: stream})
    assert refusal(path, hole) == "expected a chunk from operation 1 on, found another one"
    endless = file_of({ROOT: root, HISTORY: vector([(0, HISTORY)], 1)})
    assert refusal(path, endless) == "expected a history in test.jepsen, found a block of type 5"
    assert len(calls_of(path, file_of({ROOT: root, HISTORY: stream}))) == 24


def store(tmp_path: Path) -> Path:
    """Two runs of one test and one of another, of which the newest is complete."""
    for name, at, files in (
        ("etcd", "20250120T120000.000Z", ["history.edn", "history.txt", "results.edn"]),
        ("etcd", "20250121T120000.000Z", ["history.txt", "test.jepsen", "results.edn"]),
        ("raft", "20250119T120000.000Z", ["jepsen.log", "test.jepsen"]),
    ):
        run = tmp_path / "store" / name / at
        run.mkdir(parents=True)
        for file in files:
            (run / file).write_text(JEPSEN if file == "history.edn" else "x")
    return tmp_path / "store"


def test_directories(tmp_path: Path) -> None:
    found = store(tmp_path)
    newest = found / "etcd" / "20250121T120000.000Z"
    assert history_in(found) == newest / "history.txt"
    assert history_in(found / "etcd") == newest / "history.txt"
    assert history_in(found / "etcd" / "20250120T120000.000Z") == (
        found / "etcd" / "20250120T120000.000Z" / "history.edn"
    )
    broken_off = found / "raft" / "20250119T120000.000Z"
    assert history_in(broken_off) == broken_off / "jepsen.log"
    (newest / "history.txt").unlink()
    assert history_in(found) == newest / "test.jepsen"
    (found / "latest").symlink_to(broken_off)
    assert history_in(found) == broken_off / "jepsen.log"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert history_in(empty) is None
