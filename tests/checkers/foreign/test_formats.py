"""Each format becomes the same calls; what files leave open is decided as declared."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard

from checkers.foreign import (
    CasFailures,
    Declared,
    ForeignHistory,
    Format,
    NilReads,
    UnreadableHistoryError,
    read_history,
)
from checkers.history.calls import ANY, NEVER, NIL, Calls, Model, Outcome, Step
from tests.support.foreign import ETCD, EVENTS, JEPSEN, JSON_LINES, KV, MULTI

_NAMES = {NIL: "nil", ANY: "?"}


def read(tmp_path: Path, text: str, declared: Declared | None = None) -> ForeignHistory:
    path = tmp_path / "history"
    path.write_text(text)
    return read_history(path, declared or Declared())


def calls_of(history: ForeignHistory) -> Calls:
    assert isinstance(history.calls, Calls)
    return history.calls


def told(calls: Calls) -> list[str]:
    """A line a call, as a person would say it."""
    lines = []
    for row in range(len(calls)):
        steps = range(calls.step_from[row], calls.step_from[row + 1])
        said = " ".join(_step(calls, step) for step in steps)
        end = "-" if calls.complete[row] == NEVER else str(calls.complete[row])
        outcome = Outcome(calls.outcome[row]).name.lower()
        lines.append(f"{calls.process[row]}: {calls.invoke[row]}..{end} {said} {outcome}")
    return lines


def _step(calls: Calls, step: int) -> str:
    def value(code: int) -> str:
        return _NAMES[code] if code < 0 else calls.values[code]

    name = Step(calls.kind[step]).name.lower()
    key = calls.keys[calls.key[step]]
    old = f"{value(calls.expected[step])}>" if "cas" in name else ""
    return f"{name}{f'({key})' if key else ''}={old}{value(calls.value[step])}"


REGISTER = [
    "0: 0..2 write=1 ok",
    "1: 1..4 read=1 ok",
    "0: 3..5 cas=1>2 fail",
    "2: 6..- write=3 info",
    "1: 7..8 cas=1>4 ok",
    "3: 10..- read=? info",
]


def test_jepsen_edn(tmp_path: Path) -> None:
    history = read(tmp_path, JEPSEN)
    assert history.format is Format.EDN
    assert history.calls.model is Model.CAS_REGISTER
    assert history.model_why == "its operations are cas, read, write"
    assert told(calls_of(history)) == REGISTER
    assert calls_of(history).line.tolist() == [2, 3, 6, 9, 10, 13]
    assert history.completed_line.tolist() == [4, 7, 8, 12, 11, 0]
    assert calls_of(history).initial == NIL


def test_jepsen_edn_as_one_vector(tmp_path: Path) -> None:
    assert told(calls_of(read(tmp_path, f"[{JEPSEN}]"))) == REGISTER


def test_json_lines_and_arrays(tmp_path: Path) -> None:
    history = read(tmp_path, JSON_LINES)
    assert history.format is Format.JSON
    assert told(calls_of(history)) == REGISTER
    as_array = "[" + ",\n".join(JSON_LINES.strip().splitlines()) + "]\n"
    again = read(tmp_path, as_array)
    assert told(calls_of(again)) == REGISTER
    assert calls_of(again).line.tolist() == calls_of(history).line.tolist()


def test_jepsen_text_log_observes_failed_cas_as_porcupine_does(tmp_path: Path) -> None:
    history = read(tmp_path, ETCD)
    assert history.format is Format.LOG
    assert history.policies.nil_reads is NilReads.VALUE
    assert told(calls_of(history)) == [
        "0: 0..1 read=nil ok",
        "0: 2..3 write=1 ok",
        "1: 4..- write=2 info",
        "0: 5..6 cas_failed=1>3 ok",
        "0: 7..8 read=? fail",
        "0: 9..10 cas=1>2 fail",
    ]


def test_porcupines_maps_begin_with_empty_strings(tmp_path: Path) -> None:
    history = read(tmp_path, KV)
    assert history.calls.model is Model.KV
    assert told(calls_of(history)) == [
        "0: 0..2 append(3)=x 0 0 y ok",
        "1: 1..3 read(3)=x 0 0 y ok",
        "0: 4..5 write(4)=a ok",
        "1: 6..7 read(5)= ok",
    ]
    assert calls_of(history).values[calls_of(history).initial] == ""
    assert calls_of(history).value[3] == calls_of(history).initial


def test_multi_registers_have_a_step_for_each_micro_operation(tmp_path: Path) -> None:
    history = read(tmp_path, MULTI)
    assert history.calls.model is Model.MULTI_REGISTER
    assert told(calls_of(history)) == [
        "0: 0..2 write(:x)=1 read(:y)=nil ok",
        "1: 1..3 read(:x)=? write(:y)=2 fail",
        "1: 4..- write(:x)=5 info",
    ]


def test_our_own_events(tmp_path: Path) -> None:
    history = read(tmp_path, EVENTS)
    assert history.format is Format.EVENTS
    assert history.calls.model is Model.REGISTER
    assert told(calls_of(history)) == [
        "3: 0..2 write(r-1)=42 ok",
        "4: 1..3 read(r-1)=nil ok",
        "3: 4..5 read(r-2)=nil ok",
    ]
    assert calls_of(history).line.tolist() == [2, 3, 7]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed_files_are_told_by_their_bytes(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "history.edn"
    path.write_bytes(pack(JEPSEN.encode()))
    assert told(calls_of(read_history(path, Declared()))) == REGISTER


def test_independent_keys(tmp_path: Path) -> None:
    history = read(
        tmp_path,
        """
        {:type :invoke, :f :write, :process 0, :value [5 1]}
        {:type :invoke, :f :read, :process 1, :value ["k" nil]}
        {:type :ok, :f :write, :process 0, :value [5 1]}
        {:type :ok, :f :read, :process 1, :value ["k" nil]}
        {:type :invoke, :f :cas, :process 0, :value [5 [1 2]]}
        {:type :info, :f :cas, :process 0, :value :timed-out}
        """,
    )
    assert history.model_why.endswith("; values are [key value]")
    assert told(calls_of(history)) == [
        "0: 0..2 write(5)=1 ok",
        "1: 1..3 read(k)=? ok",
        "0: 4..- cas(5)=1>2 info",
    ]


def test_a_cas_of_a_single_register_is_no_key_and_value(tmp_path: Path) -> None:
    cas = "{:type %s, :f :cas, :process 0, :value [1 2]}\n"
    history = read(tmp_path, cas % ":invoke" + cas % ":ok")
    assert told(calls_of(history)) == ["0: 0..1 cas=1>2 ok"]


def test_a_time_out_is_no_observed_failure(tmp_path: Path) -> None:
    declared = Declared(cas_failures=CasFailures.OBSERVED)
    text = """
        {:type :invoke, :f :cas, :process 0, :value [1 2]}
        {:type :fail, :f :cas, :process 0, :value :timed-out}
        {:type :invoke, :f :cas, :process 0, :value [1 2]}
        {:type :fail, :f :cas, :process 0, :value [1 2]}
        """
    calls = calls_of(read(tmp_path, text, declared))
    assert told(calls) == ["0: 0..1 cas=1>2 fail", "0: 2..3 cas_failed=1>2 ok"]
    assert told(calls_of(read(tmp_path, text)))[1] == "0: 2..3 cas=1>2 fail"


def test_nil_reads_and_initial_values_as_declared(tmp_path: Path) -> None:
    text = """
        {:type :invoke, :f :read, :process 0, :value nil}
        {:type :ok, :f :read, :process 0, :value nil}
        """
    assert told(calls_of(read(tmp_path, text))) == ["0: 0..1 read=? ok"]
    declared = Declared(nil_reads=NilReads.VALUE, initial=0)
    calls = calls_of(read(tmp_path, text, declared))
    assert told(calls) == ["0: 0..1 read=nil ok"]
    assert calls.values[calls.initial] == "0"


def test_a_delete_writes_nothing(tmp_path: Path) -> None:
    line = "{:type %s, :f %s, :process 0, :value %s}\n"
    text = line % (":invoke", ":write", "1") + line % (":ok", ":write", "1")
    text += line % (":invoke", ":delete", "nil") + line % (":ok", ":delete", "nil")
    history = read(tmp_path, text)
    assert history.calls.model is Model.REGISTER
    assert told(calls_of(history)) == ["0: 0..1 write=1 ok", "0: 2..3 write=nil ok"]
    with pytest.raises(UnreadableHistoryError, match="line 3: expected a delete without a value"):
        read(
            tmp_path, text.replace("delete, :process 0, :value nil", "delete, :process 0, :value 1")
        )


def test_elles_nil_is_what_was_there_at_first(tmp_path: Path) -> None:
    micro = "{:type %s, :f :txn, :process 0, :value [[%s :x nil]]}\n"
    elle = read(tmp_path, micro % (":invoke", ":r") + micro % (":ok", ":r"))
    knossos = read(tmp_path, micro % (":invoke", ":read") + micro % (":ok", ":read"))
    assert calls_of(elle).value.tolist() == [NIL]
    assert calls_of(knossos).value.tolist() == [ANY]


def test_values_that_differ_in_kind_differ(tmp_path: Path) -> None:
    write = '{"type": "%s", "f": "w", "process": 0, "value": %s}\n'
    values = ["1", '"1"', "1.0", "true", "null"]
    text = "".join(write % (kind, value) for value in values for kind in ("invoke", "ok"))
    calls = calls_of(read(tmp_path, text))
    assert calls.value.tolist() == [0, 1, 2, 3, NIL]
    assert calls.values == ["1", '"1"', "1.0", "true"]


def test_arrays_are_of_the_types_that_the_checkers_take(tmp_path: Path) -> None:
    calls = calls_of(read(tmp_path, JEPSEN))
    types = {
        "process": np.int32,
        "outcome": np.int8,
        "invoke": np.int64,
        "complete": np.int64,
        "line": np.int32,
        "step_from": np.int32,
        "kind": np.int8,
        "key": np.int32,
        "value": np.int32,
        "expected": np.int32,
    }
    assert {name: getattr(calls, name).dtype.type for name in types} == types
    assert len(calls.step_from) == len(calls) + 1


def test_a_declared_model_is_taken_where_the_operations_allow_it(tmp_path: Path) -> None:
    text = """
        {:type :invoke, :f :write, :process 0, :value 1}
        {:type :ok, :f :write, :process 0, :value 1}
        """
    for model in (Model.CAS_REGISTER, Model.MULTI_REGISTER, Model.KV):
        history = read(tmp_path, text, Declared(model=model))
        assert (history.calls.model, history.model_why) == (model, "as told")
