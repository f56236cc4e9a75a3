"""Files that are no history: one line that says where and what, and never calls."""

import gzip
from pathlib import Path

import pytest
import zstandard

from checkers.foreign import Declared, UnreadableHistoryError, read_history
from checkers.history.calls import Model
from tests.support.foreign import ALL, EVENTS, JEPSEN, JSON_LINES

INVOKE = "{:type :invoke, :f :write, :process 0, :value 1}\n"
OK = "{:type :ok, :f :write, :process 0, :value 1}\n"
INFO = "{:type :info, :f :write, :process 0, :value 1}\n"


def refusal(path: Path, declared: Declared | None = None) -> str:
    """What is said of the file, without its name."""
    with pytest.raises(UnreadableHistoryError) as caught:
        read_history(path, declared or Declared())
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(str(path))


def of_text(tmp_path: Path, text: str | bytes, declared: Declared | None = None) -> str:
    path = tmp_path / "history"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return refusal(path, declared)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ": expected a history, found an empty file"),
        (" \n\n", ": expected a history, found an empty file"),
        ("[]", ": expected at least one operation, found none in this JSON"),
        ("hello world\n", ", line 1: expected a history: Jepsen's EDN, JSON objects, history.txt"),
        ("\x1b[31mred\n", ", line 1: expected a history: Jepsen's EDN"),
        (b"{:a \xff}", ", line 1: expected text in UTF-8, found the byte 0xff"),
        (b"{:a 1}\n\x00\x01", ", line 2: expected text, found binary data (a zero byte)"),
        (INVOKE + OK[:30], ", line 2: expected '}' for this '{', found the end of the file"),
        ("[" + INVOKE + OK, ", line 1: expected ']' for this '[', found the end of the file"),
        ("7", ", line 1: expected a history: Jepsen's EDN"),
        ("(7)", ", line 1: expected an operation, a map with :type, found '7'"),
        ("{:f :read}", ", line 1: expected an operation with :process, found '{:f :read}'"),
        ("{:process 0}", ", line 1: expected :type invoke, ok, fail or info, found '{:process 0}'"),
        ("{:process 0 :type :maybe}", ", line 1: expected :type invoke, ok, fail or info"),
        (
            "{:process -1 :type :ok}",
            ", line 1: expected :process to be a number, a name or the nemesis",
        ),
        (
            "{:process 1.0 :type :ok}",
            ", line 1: expected :process to be a number, a name or the nemesis",
        ),
        ("{:process 0 :type :ok :f 3}", ", line 1: expected :f to be a name, found '3'"),
        (OK, ", line 1: expected an invocation by process 0 first, found its ok of nothing"),
        (INVOKE + OK + OK, ", line 3: expected an invocation by process 0 first"),
        (
            INVOKE + INVOKE,
            ", line 2: expected process 0 to complete what it invoked on line 1, found another",
        ),
        (INVOKE + INFO + INVOKE, ", line 3: expected nothing of process 0 after its info on line"),
        (
            INVOKE + OK.replace(":write", ":read"),
            ", line 2: expected the completion of write that process 0 invoked on line 1, found",
        ),
        (
            INVOKE + OK.replace("1}", "2}"),
            ", line 2: expected the value 1 that line 1 invoked, found '2'",
        ),
        (INVOKE.replace(":write", ":swap"), ", line 1: expected an operation (read, r, get, write"),
        (INVOKE.replace(":f :write, ", ""), ", line 1: expected an operation (read, r, get"),
        (INVOKE.replace(", :value 1", ""), ", line 1: expected a value to write, found none"),
        (INVOKE.replace(":write", ":cas"), ", line 1: expected a cas of [old new], found '1'"),
        (INVOKE.replace("1}", "#{1}}"), ", line 1: expected a number, string, keyword or nil"),
        (
            "{:type :invoke, :f :txn, :process 0, :value [[:cas 1 2]]}",
            ", line 1: expected reads and writes of registers, such as [:r :x 1] or [:w :x 1]",
        ),
        (
            "{:type :invoke, :f :txn, :process 0, :value [[:r 1 nil]]}"
            "\n{:type :ok, :f :txn, :process 0, :value [[:r 2 nil]]}",
            ", line 2: expected the transaction of line 1, with its reads filled in",
        ),
        (
            "{:type :invoke, :f :append, :process 0, :key 1, :value 2}",
            ", line 1: expected strings, as some are appended, found '2'",
        ),
        (
            "{:type :invoke, :f :put, :process 0, :key 1, :value 2}\n"
            "{:type :invoke, :f :put, :process 1, :value 2}",
            ", line 2: expected a key, as on line 1, found none",
        ),
        (
            '{"type": "invoke", "process": 0, "f": "read"}\n{"type": "ok", "process": 0}',
            ", line 2: expected the value that was read, found none",
        ),
        ('{"type": "invoke",\n "process": NaN}', ", line 1: expected JSON, found"),
        ('{"type": "ok"}\n{"type', ", line 1: expected an operation with process"),
        ('[{"process": 0, "type": "ok"} {', ", line 1: expected an invocation by process 0"),
        ('{"a": ' + "[" * 100_000, ", line 1: expected JSON, found"),
        (
            "INFO  jepsen.util - 0\t:invoke\t:write\t1",
            ", line 1: expected a line that ends, found 'INFO  jepsen.util - 0",
        ),
        (
            "INFO  jepsen.util - 0\t:invoke\t:wri te\t1\nWARN something else\n",
            ", line 2: expected 'INFO jepsen.util - PROCESS :invoke|:ok|:fail|:info :F VALUE'",
        ),
        (
            "INFO  jepsen.util - 0\t:invoke\t:write\t1\nINFO  jepsen.util - 0\t:ok\t:write\t[1\n",
            ", line 2: expected ']' for this '['",
        ),
    ],
)
def test_says_where_and_what(tmp_path: Path, text: str | bytes, said: str) -> None:
    assert of_text(tmp_path, text)[: len(said)] == said


def test_files_that_are_not_there_or_no_files(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nothing") == ": expected a run or a file, found nothing of that name"
    assert refusal(tmp_path) == (
        ": expected a run (with run.json) or a file, found another directory"
    )


@pytest.mark.parametrize("text", [JEPSEN, JSON_LINES, EVENTS])
@pytest.mark.parametrize("kept", [0.3, 0.9, 0.99])
def test_packed_streams_that_were_cut(tmp_path: Path, text: str, kept: float) -> None:
    for codec, packed in (
        ("gzip", gzip.compress(text.encode())),
        ("zstd", zstandard.compress(text.encode())),
    ):
        said = of_text(tmp_path, packed[: int(kept * len(packed))])
        assert f"expected a whole {codec} stream, found one that is truncated or damaged" in said


def test_a_packed_file_may_not_unpack_to_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkers.foreign.source.LARGEST_BYTES", 1 << 20)
    said = of_text(tmp_path, gzip.compress(b" " * (3 << 20)))
    assert said == ": expected at most 1 MiB, found more"


def test_a_declared_model_that_the_operations_are_not_of(tmp_path: Path) -> None:
    said = of_text(tmp_path, ALL["jepsen.edn"], Declared(model=Model.REGISTER))
    assert said == ", line 6: expected an operation of a register (read, write, delete), found cas"
    said = of_text(tmp_path, ALL["multi.edn"], Declared(model=Model.KV))
    assert (
        said == ", line 1: expected an operation of a kv (read, write, delete, append), found txn"
    )
