"""Logs with offsets: each anomaly of Jepsen's Kafka workload, and what is none."""

from pathlib import Path

import pytest

from checkers.foreign import Declared, Isolation, Log, UnreadableHistoryError, judge, read_history
from checkers.foreign.logs import arrays_of
from checkers.history.calls import Model
from checkers.verdict import Verdict


def op(kind: str, process: int, f: str, value: str) -> str:
    return f"{{:type :{kind}, :process {process}, :f :{f}, :value {value}}}\n"


def send(process: int, value: int, offset: int | None, kind: str = "ok") -> str:
    """A whole operation on the log x, one line after the other."""
    told = f"[{offset} {value}]" if offset is not None else str(value)
    asked = op("invoke", process, "send", f"[[:send :x {value}]]")
    return asked + op(kind, process, "send", f"[[:send :x {told}]]")


def poll(process: int, *records: tuple[int, int]) -> str:
    fetched = " ".join(f"[{offset} {value}]" for offset, value in records)
    asked = op("invoke", process, "poll", "[[:poll]]")
    return asked + op("ok", process, "poll", f"[[:poll {{:x [{fetched}]}}]]")


def assign(process: int, f: str = "assign", keys: str = "[:x]") -> str:
    return op("invoke", process, f, keys) + op("ok", process, f, keys)


def txn(process: int, asked: str, done: str, kind: str = "ok", rest: str = "") -> str:
    """A transaction of sends and polls; `rest` are more fields of its completion."""
    told = op(kind, process, "txn", f"[{done}]").replace("}\n", f" {rest}}}\n")
    return op("invoke", process, "txn", f"[{asked}]") + told


def gained(process: int, *records: tuple[int, int], keys: str = "[:x]") -> str:
    """A poll during which the group gave away, or got, the keys."""
    asked, told = poll(process, *records).splitlines(keepends=True)
    return asked + told.replace("}\n", f" :rebalance-log [{{:keys {keys}}}]}}\n")


THREE = "".join(send(0, value, value - 1) for value in (1, 2, 3)) + poll(9, (0, 1), (1, 2), (2, 3))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("inconsistent-offsets", send(0, 1, 0) + poll(1, (0, 2)) + send(2, 2, None, "info")),
        ("duplicate", send(0, 1, 0) + poll(1, (0, 1), (1, 1))),
        ("phantom", poll(1, (0, 1))),
        ("G1a", send(0, 1, None, "fail") + poll(1, (0, 1))),
        ("future-read", poll(1, (0, 1)) + send(0, 1, 0)),
        ("lost-write", send(0, 1, 0) + send(0, 2, 1) + poll(1, (1, 2))),
        ("nonmonotonic-send", send(0, 1, 5) + send(0, 2, 4) + poll(1, (4, 2), (5, 1))),
        ("nonmonotonic-send-realtime", send(0, 1, 5) + send(2, 2, 4)),
        (
            "nonmonotonic-send-realtime",
            send(0, 1, 5, "info") + poll(1, (5, 1)) + send(2, 2, 4),
        ),
        ("unseen", send(0, 1, 0) + poll(1)),
        # The info send of 2 must have happened, for the 3 that it sent too was read.
        (
            "lost-write",
            txn(0, "[:send :x 2] [:send :y 3]", "[:send :x [0 2]] [:send :y 3]", "info")
            + send(2, 1, 1)
            + poll(1, (1, 1))
            + poll(1).replace(":x []", ":y [[0 3]]"),
        ),
        (
            "precommitted-read",
            txn(0, "[:send :x 1] [:poll]", "[:send :x [0 1]] [:poll {:x [[0 1]]}]"),
        ),
        (
            "int-nonmonotonic-send",
            txn(0, "[:send :x 1] [:send :x 2]", "[:send :x [1 1]] [:send :x [0 2]]")
            + poll(1, (0, 2), (1, 1)),
        ),
        ("int-poll-skip", THREE + poll(1, (0, 1), (2, 3))),
        ("int-nonmonotonic-poll", THREE + poll(1, (1, 2), (0, 1))),
        # Without an assign in between that lets go of :x, one goes on from where one was.
        ("nonmonotonic-poll", send(0, 1, 0) + poll(1, (0, 1)) + poll(1, (0, 1))),
        (
            "nonmonotonic-poll",
            send(0, 1, 0) + poll(1, (0, 1)) + assign(1) + poll(1, (0, 1)),
        ),
        # What a failed transaction polled must be in order too, and does not move on.
        ("poll-skip", THREE + poll(1, (0, 1)) + txn(1, "[:poll]", "[:poll {:x [[2 3]]}]", "fail")),
        (
            "nonmonotonic-poll",
            send(0, 1, 0) + assign(1) + poll(1, (0, 1)) + poll(1, (0, 1)),
        ),
        (
            "poll-skip",
            send(0, 1, 0)
            + send(0, 2, 1)
            + send(0, 3, 2)
            + poll(2, (0, 1), (1, 2))
            + assign(1)
            + poll(1, (0, 1))
            + poll(1, (2, 3)),
        ),
        # Somebody else subscribed.
        ("poll-skip", THREE + assign(2, "subscribe") + poll(1, (0, 1)) + poll(1, (2, 3))),
        # No group any more.
        (
            "nonmonotonic-poll",
            THREE + assign(1, "subscribe") + assign(1) + poll(1, (0, 1)) + poll(1, (0, 1)),
        ),
        # It tells of its rebalances, and there is none between the two.
        (
            "poll-skip",
            THREE + assign(1, "subscribe") + gained(1) + poll(1, (0, 1)) + poll(1, (2, 3)),
        ),
        (
            "nonmonotonic-poll",
            THREE
            + assign(1, "subscribe")
            + gained(1)
            + poll(1, (0, 1), (1, 2))
            + gained(1, keys="[:y]")
            + poll(1, (1, 2)),
        ),
    ],
)
def test_anomalies(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / "history.edn"
    path.write_text(text)
    judged = judge(read_history(path, Declared()))
    assert judged.verdict is Verdict.INVALID
    assert name in judged.message
    assert 1 <= len(judged.witness) <= 20
    assert all(shown.line > 0 and shown.part for shown in judged.witness)


@pytest.mark.parametrize(
    "text",
    [
        send(0, 1, 0) + send(0, 2, 3) + poll(1, (0, 1), (3, 2)),
        send(0, 1, None, "info") + send(2, 2, 1) + poll(1, (0, 1), (1, 2)),
        send(0, 1, 0) + poll(1, (0, 1)) + assign(1, keys="[:y]") + poll(1, (0, 1)),
        send(0, 1, 0) + poll(1, (0, 1)) + assign(1, "seek") + poll(1, (0, 1)),
        THREE + assign(1, "subscribe") + poll(1, (0, 1)) + poll(1, (2, 3)) + poll(1, (2, 3)),
        THREE + assign(1, "subscribe") + poll(1, (0, 1)) + gained(1) + poll(1, (2, 3)),
        THREE + assign(1, "subscribe") + gained(1, (0, 1)) + poll(1, (2, 3)),
        THREE + assign(1, "subscribe") + gained(1, (0, 1)) + gained(1, (2, 3)),
        THREE
        + assign(1, "subscribe")
        + gained(1, (0, 1), (1, 2))
        + assign(1, "subscribe")
        + poll(1, (0, 1))
        + poll(1, (2, 3)),
        THREE
        + poll(1, (0, 1))
        + txn(1, "[:poll]", "[:poll {:x [[1 2] [2 3]]}]", "fail")
        + poll(1, (1, 2), (2, 3)),
        THREE
        + txn(1, "[:poll]", "[:poll {:x [[0 1] [2 3]]}]", rest=":rebalance-log [{:keys [:x]}]"),
        # Others may write between the sends of a transaction.
        op("invoke", 2, "send", "[[:send :x 3]]")
        + txn(0, "[:send :x 1] [:send :x 2]", "[:send :x [0 1]] [:send :x [2 2]]")
        + poll(1, (0, 1), (1, 3), (2, 2)),
        send(0, 1, 0)
        + op("invoke", 1, "crash", "nil")
        + op("info", 1, "crash", "nil")
        + poll(2, (0, 1)),
        send(0, 1, 0)
        + op("invoke", 2, "send", "[[:send :x 2]]")
        + op("info", 2, "send", "nil")
        + poll(1, (0, 1)),
        send(0, 1, 0) + send(0, 2, None, "fail") + poll(1, (0, 1)),
        op("invoke", 0, "send", "[[:send :x 1]]") + send(2, 2, 0) + poll(1, (0, 2), (1, 1)),
    ],
)
def test_what_is_no_anomaly(tmp_path: Path, text: str) -> None:
    path = tmp_path / "history.edn"
    path.write_text(text)
    history = read_history(path, Declared())
    assert isinstance(history.calls, Log)
    assert judge(history).verdict is Verdict.VALID


def sent(process: int, *acts: str, done: tuple[str, ...] = ()) -> tuple[str, str]:
    """Invocation and completion of a transaction, so that others can run in between."""
    asked = " ".join("[:poll]" if act.startswith("[:poll") else act for act in acts)
    return (
        op("invoke", process, "txn", f"[{asked}]"),
        op("ok", process, "txn", f"[{' '.join(done or acts)}]"),
    )


EACH_POLLS_THE_OTHER = "".join(
    f"{one}{other}"
    for one, other in zip(
        sent(0, "[:send :x 1]", "[:poll]", done=("[:send :x [0 1]]", "[:poll {:y [[0 2]]}]")),
        sent(1, "[:send :y 2]", "[:poll]", done=("[:send :y [0 2]]", "[:poll {:x [[0 1]]}]")),
        strict=True,
    )
)
SENDS_IN_TWO_ORDERS = (
    "".join(
        f"{one}{other}"
        for one, other in zip(
            sent(
                0,
                "[:send :x 1]",
                "[:send :y 2]",
                done=("[:send :x [0 1]]", "[:send :y [1 2]]"),
            ),
            sent(
                1,
                "[:send :x 3]",
                "[:send :y 4]",
                done=("[:send :x [1 3]]", "[:send :y [0 4]]"),
            ),
            strict=True,
        )
    )
    + poll(2, (0, 1), (1, 3))
    + poll(3, (0, 4), (1, 2)).replace(":x", ":y")
)


def test_transactions_that_poll_each_other_are_a_cycle_of_both(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(EACH_POLLS_THE_OTHER)
    judged = judge(read_history(path, Declared(isolation=Isolation.JEPSEN)))
    assert (judged.verdict, judged.context) == (Verdict.VALID, ("not held against it: 1 G1c",))
    for isolation in (None, *list(Isolation)[1:]):
        judged = judge(read_history(path, Declared(isolation=isolation)))
        assert judged.verdict is Verdict.INVALID
        assert "(1 G1c)" in judged.message
        assert [(shown.line, shown.completed_line) for shown in judged.witness] == [(1, 3), (2, 4)]


def test_what_jepsen_allows_of_transactions_is_told_and_can_be_forbidden(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(SENDS_IN_TWO_ORDERS)
    judged = judge(read_history(path, Declared()))
    assert (judged.verdict, judged.context) == (Verdict.VALID, ("not held against it: 1 G0",))
    judged = judge(read_history(path, Declared(isolation=Isolation.PL_2)))
    assert judged.verdict is Verdict.INVALID
    assert judged.message == (
        "T2 sent 3 to :x behind 1, which T1 sent; T1 sent 2 to :y behind 4, which T2 sent (1 G0)"
    )


def test_what_is_only_counted_is_said(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(THREE + assign(1, "subscribe") + poll(1, (1, 2)) + poll(1, (0, 1)))
    judged = judge(read_history(path, Declared()))
    assert judged.verdict is Verdict.VALID
    assert judged.context == ("not held against it: 1 nonmonotonic-poll",)


def test_logs_in_json(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(
        '{"type": "invoke", "process": 0, "f": "txn", "value": [["send", "a b", 1], ["poll"]]}\n'
        '{"type": "ok", "process": 0, "f": "txn", "value": [["send", "a b", [7, 1]],'
        ' ["poll", {"a b": [[6, 0]]}]]}\n'
    )
    history = read_history(path, Declared(model=Model.LOG))
    assert isinstance(history.calls, Log)
    assert history.calls.keys == ("a b",)
    assert "which was never sent" in judge(history).message


def test_a_value_sent_twice_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(send(0, 1, 0) + send(0, 1, 1))
    judged = judge(read_history(path, Declared()))
    assert (judged.verdict, judged.message) == (Verdict.UNKNOWN, "1 was sent twice to :x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (op("invoke", 0, "send", "3") + poll(1), "line 1: expected sends and polls"),
        (op("invoke", 0, "send", "[[:send 3]]"), "line 1: expected [:send key value]"),
        (poll(1) + op("invoke", 0, "read", "nil"), "line 3: expected an operation of a log"),
        (poll(1).replace("{:x []}", "3"), "line 2: expected [:poll {key [[offset value]"),
        (poll(1).replace("[]}", "[4]}"), "line 2: expected polled records of [offset value]"),
        (send(0, 1, 0).replace("[0 1]", "[0 2]"), "line 2: expected what line 1 sent"),
        (op("invoke", 0, "assign", "nil") + poll(1), "line 1: expected the keys that are assigned"),
        (send(0, 1, 0).replace("[0 1]", "[-3 1]"), "line 2: expected a record of [offset value]"),
    ],
)
def test_what_is_no_log(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "history.edn"
    path.write_text(text)
    with pytest.raises(UnreadableHistoryError) as caught:
        read_history(path, Declared())
    assert said in str(caught.value)


def failed(process: int, value: int) -> str:
    return send(process, value, None, "fail")


@pytest.mark.parametrize("again", [send(0, 1, 0), send(0, 1, None, "info"), failed(2, 1)])
def test_what_surely_failed_may_be_sent_again(tmp_path: Path, again: str) -> None:
    path = tmp_path / "again.edn"
    path.write_text(failed(0, 1) + send(5, 2, 1) + again + poll(1, (1, 2)))
    assert judge(read_history(path, Declared())).verdict is (
        Verdict.INVALID if ":ok" in again else Verdict.VALID
    )
    if ":fail" not in again:
        path.write_text(failed(0, 1) + again + failed(6, 1) + poll(1, (0, 1)))
        assert judge(read_history(path, Declared())).verdict is Verdict.VALID
    path.write_text(failed(0, 1) + poll(1, (0, 1)) + again)
    assert judge(read_history(path, Declared())).verdict is Verdict.INVALID


def test_what_may_have_been_sent_and_is_sent_again_names_no_writer(tmp_path: Path) -> None:
    path = tmp_path / "twice.edn"
    path.write_text(send(0, 1, None, "info") + send(2, 1, 0) + poll(1, (0, 1)))
    judged = judge(read_history(path, Declared()))
    assert (judged.verdict, judged.message) == (Verdict.UNKNOWN, "1 was sent twice to :x")


def test_no_operation_succeeded_is_said(tmp_path: Path) -> None:
    path = tmp_path / "nothing.edn"
    path.write_text(send(0, 1, None, "info") + send(2, 1, None, "info") + failed(3, 2))
    judged = judge(read_history(path, Declared()))
    assert judged.verdict is Verdict.UNKNOWN
    assert judged.message == "no operation succeeded, so there is nothing to judge"


@pytest.mark.parametrize("offset", [2**63, 10**30, -1, "1.0"])
def test_an_offset_that_no_log_has_is_refused_with_its_line(
    tmp_path: Path, offset: int | str
) -> None:
    path = tmp_path / "far.edn"
    path.write_text(send(0, 1, 0) + send(0, 2, 1).replace("[1 2]", f"[{offset} 2]"))
    with pytest.raises(UnreadableHistoryError, match=r"line 4: expected .* from 0 to 9223372036"):
        read_history(path, Declared())


def test_the_last_offset_that_there_can_be_is_one(tmp_path: Path) -> None:
    path, last = tmp_path / "last.edn", 2**63 - 1
    path.write_text(send(0, 1, last) + poll(1, (last, 1)))
    assert judge(read_history(path, Declared())).verdict is Verdict.VALID
    path.write_text(send(0, 1, last) + poll(1, (last, 2)))
    assert judge(read_history(path, Declared())).verdict is Verdict.INVALID


def test_an_assignment_lets_go_of_all_keys_that_it_does_not_name(tmp_path: Path) -> None:
    """A row for each assignment, and one for each key that it names: not one for each other key."""
    path = tmp_path / "keys.edn"
    others = "".join(send(5, n, 0).replace(":x", f":k{n}") for n in range(10, 60))
    path.write_text(THREE + others + 20 * assign(1, keys="[:x :x :y]"))
    log = read_history(path, Declared()).calls
    assert isinstance(log, Log)
    resets = arrays_of(log).resets
    assert (len(resets.op), len(resets.kept)) == (20, 20)
    skips = poll(1, (0, 1)) + "%s" + poll(1, (2, 3))
    for between, verdict in (
        (assign(1), Verdict.INVALID),
        (assign(1, keys="[:k10 :x :x]"), Verdict.INVALID),
        (assign(1) + assign(1, keys="[:x :k11]"), Verdict.INVALID),
        (assign(1, keys="[:k10]"), Verdict.VALID),
        (assign(1, keys="[]"), Verdict.VALID),
        (assign(1) + assign(1, keys="[:k10]") + assign(1), Verdict.VALID),
        (assign(2, keys="[:k10]"), Verdict.INVALID),
    ):
        path.write_text(
            THREE
            + others
            + "".join(poll(7, (0, n)).replace(":x", f":k{n}") for n in range(10, 60))
            + assign(1)
            + skips % between
        )
        assert judge(read_history(path, Declared())).verdict is verdict, between
