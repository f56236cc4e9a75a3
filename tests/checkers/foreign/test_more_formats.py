"""Porcupine's operations, clients with names, reads that name their key, a run's own events."""

import json
import re
from pathlib import Path

import pytest

from checkers.foreign import (
    Declared,
    ForeignHistory,
    Format,
    Judged,
    Log,
    UnreadableHistoryError,
    judge,
    read_history,
    read_one,
)
from checkers.history.calls import Calls, Model
from checkers.log.anomalies import Isolation
from checkers.verdict import Verdict
from tests.checkers.foreign.test_formats import calls_of, read, told
from tests.support.foreign import (
    COUNTER,
    EVENTS,
    JEPSEN,
    LISTS,
    MUTEX,
    OWN_LOG,
    PORCUPINE_OPERATIONS,
    QUEUE,
    SET,
)

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN


def judged(tmp_path: Path, text: str, declared: Declared | None = None) -> Judged:
    return judge(read(tmp_path, text, declared))


def refusal(tmp_path: Path, text: str, declared: Declared | None = None) -> str:
    with pytest.raises(UnreadableHistoryError) as caught:
        read(tmp_path, text, declared)
    return str(caught.value).removeprefix(str(tmp_path / "history"))


def operations(*rows: dict[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_porcupines_operations(tmp_path: Path) -> None:
    history = read(tmp_path, PORCUPINE_OPERATIONS)
    assert (history.format, history.calls.model) == (Format.PORCUPINE, Model.CAS_REGISTER)
    assert told(calls_of(history)) == [
        "0: 0..2 write=1 ok",
        "1: 1..4 read=1 ok",
        "0: 3..5 cas_failed=7>2 ok",
        "2: 6..- write=3 info",
        "1: 7..8 cas=1>4 ok",
    ]
    as_go_has_it = json.dumps(
        [
            {name.title(): value for name, value in row.items()}
            for row in json.loads(PORCUPINE_OPERATIONS)
        ]
    ).replace("Clientid", "ClientId")
    assert told(calls_of(read(tmp_path, as_go_has_it))) == told(calls_of(history))


@pytest.mark.parametrize(("returned", "verdict"), [(9, INVALID), (10, VALID), (11, VALID)])
def test_intervals_are_closed(tmp_path: Path, returned: int, verdict: Verdict) -> None:
    text = operations(
        {"input": {"op": "put", "key": "x", "value": 1}, "call": 0, "return": returned},
        {"input": {"op": "get", "key": "x"}, "output": None, "call": 10, "return": 12},
    )
    assert judged(tmp_path, text).verdict is verdict


def test_one_client_may_do_several_things_at_a_time(tmp_path: Path) -> None:
    text = operations(
        {"clientId": 7, "input": {"op": "put", "value": 1}, "call": 0, "return": 9},
        {"clientId": 7, "input": {"op": "put", "value": 2}, "call": 1, "return": 8},
        {"clientId": 7, "input": {"op": "get"}, "output": {"value": 1}, "call": 10, "return": 12},
        {"clientId": 7, "input": {"op": "get"}, "output": {"unknown": True}, "call": 1,
         "return": 2},
        {"clientId": 7, "input": {"op": "put", "value": 3}, "output": {"ok": False}, "call": 0,
         "return": 5},
    )  # fmt: skip
    assert judged(tmp_path, text).verdict is VALID


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"call": 1.5}, ", line 1: expected a call that is a whole number, found '1.5'"),
        ({"call": 1, "return": 0}, ", line 1: expected a return after the call at 1, found 0"),
        (
            {"call": 1, "input": 7},
            ', line 1: expected an input of {"op": ..., "value": ...}, found',
        ),
        ({"call": 1, "input": {"op": 2}}, ", line 1: expected an op that is a name, such as put"),
        ({"call": 1, "clientId": -1}, ", line 1: expected a clientId that is a number or a name"),
        (
            {"call": 1, "input": {"op": "cas", "value": [1, 2]}, "output": 7},
            ", line 1: expected an output of a cas that is true or false, found '7'",
        ),
        (
            {"call": 1, "input": {"op": "send", "value": [["send", 1, 2]]}},
            ", line 1: expected a log as Jepsen's Kafka workload has it, found send in Porcupine",
        ),
    ],
)
def test_operations_that_are_none(tmp_path: Path, row: dict[str, object], said: str) -> None:
    text = operations({"input": {"op": "get"}, "return": None, **row})
    assert refusal(tmp_path, text)[: len(said)] == said


def test_an_operation_without_a_call(tmp_path: Path) -> None:
    text = operations({"input": {"op": "get"}, "call": 1}, {"input": {"op": "get"}, "return": 2})
    said = refusal(tmp_path, text)
    assert said == ", line 2: expected a call that is a whole number, found none"


def test_clients_with_names(tmp_path: Path) -> None:
    named = JEPSEN.replace(":process 0", ':client "n1"').replace(":process 1", ":process :n2")
    named = named.replace(":process 2", f":process {2**40}")
    history = read(tmp_path, named.replace(":cas, :value [1 4]", ":cas, :value [7 4]"))
    calls = calls_of(history)
    assert calls.processes == ("n1", "n2", str(2**40), "3")
    found = judge(history)
    assert found.verdict is INVALID
    assert "by process n2" in found.message
    assert {shown.process for shown in found.witness} <= {"n1", "n2", str(2**40), "3"}
    assert refusal(tmp_path, named.replace('"n1"', '""')) == (
        ", line 2: expected :client to be a number, a name or the nemesis, found '\"\"'"
    )


def test_reads_that_name_their_key_in_the_answer(tmp_path: Path) -> None:
    def line(kind: str, f: str, value: str, process: int) -> str:
        return f"{{:type :{kind}, :f :{f}, :value {value}, :process {process}}}\n"

    writes = "".join(
        line(kind, "write", value, 0)
        for value in ("[:x 1]", "[:y 5]", "[:x 2]")
        for kind in ("invoke", "ok")
    )
    reads = line("invoke", "read", "nil", 1) + line("ok", "read", "[:x 2]", 1)
    reads += line("invoke", "read", "[:y]", 1) + line("ok", "read", "[:y 5]", 1)
    open_read = line("invoke", "read", "nil", 2)
    history = read(tmp_path, writes + reads + open_read)
    assert told(calls_of(history))[3:] == ["1: 6..7 read(:x)=2 ok", "1: 8..9 read(:y)=5 ok"]
    assert judge(history).verdict is VALID
    assert judged(tmp_path, writes + reads.replace("[:x 2]", "[:x 1]")).verdict is INVALID
    assert ", line 7: expected a number" not in refusal(tmp_path, reads.replace("[:y 5]", "5"))


def test_micro_operations_of_two_elements(tmp_path: Path) -> None:
    text = (
        "{:type :invoke, :f :txn, :value [[:w :x 1] [:r :y]], :process 0}\n"
        "{:type :ok, :f :txn, :value [[:w :x 1] [:r :y nil]], :process 0}\n"
    )
    assert judged(tmp_path, text).verdict is VALID
    untold = text.replace("[:r :y nil]", "[:r :y]")
    assert refusal(tmp_path, untold) == ", line 2: expected the value that was read, found none"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("r0 w1 w0", "0"),  # seen first, and written later
        ("c40 w4 r4", "4"),  # what a compare-and-set found
        ("r7 w1 r1", "7"),  # never written
        ("r7 r8 w1", None),  # two: no value can have been both
        ("w1 r0 w0", "0"),
        ("w0 w1 r0", None),  # a stale read
    ],
)
def test_what_may_have_been_there_first(tmp_path: Path, text: str, value: str | None) -> None:
    lines = []
    for word in text.split():
        f = {"r": "read", "w": "write", "c": "cas"}[word[0]]
        told_value = f"[{' '.join(word[1:])}]" if f == "cas" else word[1:]
        asked = "nil" if f == "read" else told_value
        for kind, said in (("invoke", asked), ("ok", told_value)):
            lines.append(f"{{:type :{kind}, :f :{f}, :value {said}, :process 0}}\n")
    found = judged(tmp_path, "".join(lines))
    hints = [line for line in found.context if "--initial" in line]
    assert found.verdict is INVALID
    assert hints == [] if value is None else hints[0].endswith(f"--initial '{value}'")
    if value is not None and text != "w1 r0 w0":
        assert judged(tmp_path, "".join(lines), Declared(initial=read_one(value))).verdict is VALID


def log_of(history: ForeignHistory) -> Log:
    assert isinstance(history.calls, Log)
    return history.calls


def test_a_runs_own_log(tmp_path: Path) -> None:
    history = read(tmp_path, OWN_LOG)
    assert (history.format, history.left_out) == (Format.EVENTS, {"create-topic": 1})
    log = log_of(history)
    assert [call.f for call in log.calls] == ["assign", "send", "poll"]
    (send,) = (call for call in log.calls if call.f == "send")
    assert [(one.offset, one.value) for one in send.sent] == [(0, "3/0"), (1, "3/1")]
    assert judge(history).verdict is VALID


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ('"t":7,"e":null,"s":[["t-0",0,', '"t":7,"e":null,"s":[["t-0",4,', UNKNOWN),
        ('[["t-0",0,12884901888,2,0,2]]', '[["t-0",0,12884901889,2,0,2]]', INVALID),
        ('[["t-0",0,12884901888,2,0,2]]', '[["t-0",1,12884901889,1,0,2]]', UNKNOWN),
        ('"a":-1', '"a":1', VALID),
    ],
)
def test_what_a_loss_explains_is_a_suspicion(
    tmp_path: Path, old: str, new: str, verdict: Verdict
) -> None:
    text = OWN_LOG.replace(old, new)
    assert text != OWN_LOG
    found = judged(tmp_path, text)
    if "12884901889,1,0,2" in new:  # the first was not polled yet: nothing says that it is gone
        assert found.verdict in (UNKNOWN, VALID)
        return
    assert found.verdict is verdict
    assert ("planned to lose" in found.message) is (verdict is UNKNOWN)


def test_deleted_topics_promise_nothing(tmp_path: Path) -> None:
    again = OWN_LOG.replace('[["t-0",0,12884901888,2,0,2]]', '[["t-0",0,12884901890,2,0,2]]')
    assert judged(tmp_path, again).verdict is INVALID
    deletion = OWN_LOG.splitlines()[0].replace("create", "delete")
    deleted = again + deletion.replace('"i":0', '"i":8').replace('"t":1', '"t":8') + "\n"
    assert judged(tmp_path, deleted).verdict is VALID


def test_registers_and_logs_are_not_in_one_run(tmp_path: Path) -> None:
    later = re.sub(r'"i":(\d)', lambda found: f'"i":{int(found[1]) + 8}', EVENTS)
    said = refusal(tmp_path, OWN_LOG + later.replace('"p":3', '"p":13'))
    assert said == ", line 11: expected operations of registers or of logs, found some of both"


@pytest.mark.parametrize(
    ("text", "model"),
    [
        (LISTS, Model.LIST_APPEND),
        (SET, Model.SET),
        (COUNTER, Model.COUNTER),
        (MUTEX, Model.MUTEX),
        (QUEUE, Model.QUEUE),
    ],
)
def test_models_are_told_by_their_operations(tmp_path: Path, text: str, model: Model) -> None:
    history = read(tmp_path, text)
    assert history.calls.model is model
    assert judge(history).verdict is VALID
    declared = read(tmp_path, text, Declared(model=model))
    assert (declared.calls.model, declared.model_why) == (model, "as told")


BAD = [
    (LISTS, "[:r :x [1 2]]", "[:r :x [2]]", "T1"),
    (LISTS, "[:r :x [1 2]]", "[:r :x [1 2 9]]", "a read of :x holds 9, which was never appended"),
    (LISTS, "[:r :x [1 2]]", "[:r :x [1 1]]", "a read of :x holds 1 twice"),
    (LISTS, "[:r :y [3]]", "[:r :y nil]", "T"),
    (LISTS, "[[:append :x 1] [:r :y nil]]", "[[:r :x [1]] [:append :x 1]]", "appended only then"),
    (SET, "#{1}", "#{}", "a read began only when add 1 had ended, and yet it does not hold 1"),
    (SET, "#{1}", "#{1 2}", "a read holds 2, which was never added"),
    (SET, "#{1}", "[1 1]", "a read holds 1 more than once"),
    (COUNTER, ":value 1, :process 1", ":value 0, :process 1", "read 0, when it stood between 1"),
    (COUNTER, ":value 1, :process 1", ":value 9, :process 1", "read 9, when it stood between 1"),
    (MUTEX, ":release", ":acquire", "no order explains acquire by process"),
    (QUEUE, ":ok, :f :dequeue, :value 1", ":ok, :f :dequeue, :value 7", "7 came out, which was"),
    (QUEUE, ":value [2]", ":value [2 1]", "1 came out 2 times, and was put in once"),
    (
        QUEUE,
        ":ok, :f :dequeue, :value 1",
        ":ok, :f :dequeue, :value nil",
        "a dequeue found nothing",
    ),
]


@pytest.mark.parametrize(("text", "old", "new", "said"), BAD)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, old: str, new: str, said: str) -> None:
    assert old in text
    found = judged(tmp_path, text.replace(old, new))
    assert found.verdict is INVALID
    assert said in found.message
    assert found.witness


def test_a_queue_that_keeps_no_order_has_to_be_told(tmp_path: Path) -> None:
    events = [
        *((kind, "enqueue", value) for value in (1, 2) for kind in ("invoke", "ok")),
        *((kind, "dequeue", 2 if kind == "ok" else "nil") for kind in ("invoke", "ok")),
    ]
    lines = (f"{{:type :{kind}, :f :{f}, :value {value}, :process 0}}" for kind, f, value in events)
    text = "\n".join(lines)
    found = judged(tmp_path, text)
    assert (found.verdict, "--model unordered-queue" in found.message) == (UNKNOWN, True)
    assert judged(tmp_path, text, Declared(model=Model.QUEUE)).verdict is INVALID
    assert judged(tmp_path, text, Declared(model=Model.UNORDERED_QUEUE)).verdict is VALID


def test_what_one_transaction_appends_stays_in_its_order(tmp_path: Path) -> None:
    one = LISTS.replace("[:append :y 3]", "[:append :x 3]").replace("[:r :y [3]]", "[:r :y nil]")
    assert judged(tmp_path, one.replace("[:r :x [1 2]]", "[:r :x [1 2 3]]")).verdict is VALID
    for held in ("[1 3 2]", "[1 3]"):
        found = judged(tmp_path, one.replace("[:r :x [1 2]]", f"[:r :x {held}]"))
        assert found.verdict is INVALID
        assert "3 is in :x without 2 ahead of it" in found.message


def test_isolation_of_lists(tmp_path: Path) -> None:
    stale = LISTS.replace("[:r :x [1 2]] [:r :y [3]]", "[:r :x nil] [:r :y nil]")
    assert judged(tmp_path, stale).verdict is INVALID
    for isolation in (Isolation.SERIALIZABLE, Isolation.PL_2):
        assert judged(tmp_path, stale, Declared(isolation=isolation)).verdict is VALID
    skew = LISTS.replace("[:r :x [1 2]] [:r :y [3]]", "[:r :x [1 2]] [:r :y nil]")
    found = judged(tmp_path, skew, Declared(isolation=Isolation.SERIALIZABLE))
    assert (found.verdict, "G-single" in found.message) == (INVALID, True)
    assert judged(tmp_path, skew, Declared(isolation=Isolation.PL_2)).verdict is VALID
    said = refusal(tmp_path, LISTS, Declared(isolation=Isolation.KAFKA))
    assert said.startswith(": expected pl-2, serializable or strict-serializable")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SET.replace("#{1}", "nil").replace("#{}", "nil"), "expected a read that tells a set from"),
        (SET.replace("#{1}", "7"), "expected a set such as #{1 2} or [1 2], found '7'"),
        (
            COUNTER.replace(":value 1, :process 0", ":value :a, :process 0"),
            "expected a whole number",
        ),
        (QUEUE.replace(":f :drain", ":f :peek"), "expected an operation of a queue (enqueue, "),
        (LISTS.replace("[:append :x 1]", "[:prepend :x 1]"), "expected appends and reads of lists"),
    ],
)
def test_operations_that_do_not_belong(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(tmp_path, text)


def test_several_objects_in_one_file(tmp_path: Path) -> None:
    keyed = SET.replace(":value 1,", ":value [:a 1],").replace(":value nil", ":value [:a nil]")
    keyed = keyed.replace("#{}", "[:a #{}]").replace("#{1}", "[:a #{1}]")
    history = read(tmp_path, keyed + keyed.replace(":a ", ":b "))
    assert judge(history).keys == 2
    assert judge(history).verdict is VALID
    bad = keyed + keyed.replace(":a ", ":b ").replace("[:b #{1}]", "[:b #{2}]")
    assert judged(tmp_path, bad).message.startswith(":b: a read holds 2, which was never added")


def test_what_was_in_a_set_or_counter_at_first(tmp_path: Path) -> None:
    there = SET.replace("#{}", "#{9}").replace("#{1}", "#{1 9}")
    found = judged(tmp_path, there)
    assert found.context == ("if it was there before all additions: --initial '#{9}'",)
    assert judged(tmp_path, there, Declared(initial=read_one("#{9}"))).verdict is VALID
    counted = COUNTER.replace(":value 1, :process 1", ":value 6, :process 1")
    counted = counted.replace(":value 0, :process 1", ":value 5, :process 1")
    assert judged(tmp_path, counted).verdict is INVALID
    assert judged(tmp_path, counted, Declared(initial=5)).verdict is VALID
    assert refusal(tmp_path, QUEUE, Declared(initial=5)).startswith(": expected nothing in a queue")


def test_calls_are_for_the_search_alone(tmp_path: Path) -> None:
    assert isinstance(read(tmp_path, MUTEX).calls, Calls)
    assert read_history(tmp_path / "history", Declared()).calls.model is Model.MUTEX
