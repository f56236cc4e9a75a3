"""Cycles of dependencies, each named one by hand; and all of small random histories by force."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.run.seal import operations_table, spans_table
from checkers.history.calls import Outcome
from checkers.log.anomalies import Cases, Cycle, Isolation
from checkers.log.arrays import LogArrays
from checkers.log.checks import log_polls, log_sends
from checkers.log.cycles import components, cycles
from checkers.log.dependencies import VersionOrder, dependencies, version_order
from checkers.log.run_arrays import arrays_of
from checkers.verdict import Verdict
from tests.support.logs import BROKERS, LogRun
from tests.support.simulated_log import SimulatedLog
from tests.support.small_transactions import (
    Graph,
    cycles_by_force,
    graph_of,
    random_transactions,
    serial_transactions,
    told_as_log,
)

SEEDS = (
    *range(8),
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 16)),
    *(pytest.param(seed, marks=pytest.mark.night) for seed in range(16, 40)),
)
HISTORIES = 100  # of a seed
LEVELS = tuple(Isolation)
JEPSEN, KAFKA, PL_2, SERIALIZABLE, STRICT = LEVELS

A, B, C, D, E, F = (process << 32 for process in range(6))  # the first values of processes
Act = tuple[str, str, int, int]  # send or poll, key, offset, value


def send(key: str, offset: int, value: int) -> Act:
    return "send", key, offset, value


def poll(key: str, offset: int, value: int) -> Act:
    return "poll", key, offset, value


def at_once(told: LogRun, *transactions: Sequence[Act]) -> None:
    """Transactions that all begin before one of them ends, by processes that count up."""
    first = 1 + max((int(str(row["process"])) for row in told.ops), default=-1)
    rows = [told.begin("txn", first + number) for number in range(len(transactions))]
    for row, acts in zip(rows, transactions, strict=True):
        for what, key, offset, value in acts:
            if what == "send":
                told.sent(row, value, offset, key=key)
            else:
                told.polled(row, [(offset, value)], key=key)
        told.end(row)


def each_polls_the_other(s: LogRun) -> None:
    """Neither could be seen before it was committed, so neither can have been the first."""
    at_once(s, [send("x-0", 0, A), poll("y-0", 0, B)], [send("y-0", 0, B), poll("x-0", 0, A)])


def each_polls_the_other_over_time(s: LogRun) -> None:
    """The first polls what the last sends, which begins after one that polled the first ended."""
    first = s.begin("txn", 0)
    s.sent(first, A, 0, key="x-0")
    second = s.begin("txn", 1)
    s.polled(second, [(0, A)], key="x-0")
    s.end(second)
    last = s.begin("txn", 2)
    s.sent(last, C, 0, key="y-0")
    s.polled(first, [(0, C)], key="y-0")
    s.end(last)
    s.end(first)


def sends_in_two_orders(s: LogRun) -> None:
    at_once(
        s, [send("x-0", 0, A), send("y-0", 1, A + 1)], [send("x-0", 1, B), send("y-0", 0, B + 1)]
    )


def sends_between(s: LogRun) -> None:
    """What one sends stands around what the other does."""
    at_once(s, [send("x-0", 0, A), send("x-0", 2, A + 1)], [send("x-0", 1, B)])


def sends_in_two_orders_over_time(s: LogRun) -> None:
    """The second sends to y early and to x late; the first begins when the third has ended."""
    second = s.begin("txn", 1)
    s.sent(second, B, 0, key="y-0")
    at_once(s, [send("y-0", 1, C)])
    at_once(s, [send("x-0", 0, D)])
    s.sent(second, B + 1, 1, key="x-0")
    s.end(second)


def polls_what_overwrites_it(s: LogRun) -> None:
    """The first sends to x before the second, and polls what the second sent to y."""
    at_once(s, [send("x-0", 0, A), poll("y-0", 0, B)], [send("x-0", 1, B + 1), send("y-0", 0, B)])


def polls_half(s: LogRun) -> None:
    """Of what the second sent, the third polls one half and not the other."""
    at_once(s, [send("x-0", 0, A)])
    at_once(
        s,
        [send("x-0", 1, B), send("y-0", 0, B + 1)],
        [poll("x-0", 0, A), poll("y-0", 0, B + 1), send("z-0", 0, C)],
    )


def write_skew(s: LogRun) -> None:
    """Each polls one key and sends to the other, and sees nothing of what the other did."""
    at_once(s, [send("x-0", 0, A), send("y-0", 0, A + 1)])
    at_once(
        s,
        [poll("x-0", 0, A), send("y-0", 1, B)],
        [poll("y-0", 0, A + 1), send("x-0", 1, C)],
    )


def polls_what_is_old(s: LogRun) -> None:
    """It began when what is new was there."""
    at_once(s, [send("x-0", 0, A)])
    at_once(s, [send("x-0", 1, B)])
    at_once(s, [poll("x-0", 0, A)])


def skew_over_time(s: LogRun) -> None:
    """The first sees nothing of the second, nor the third, which came later, of the first."""
    at_once(s, [send("x-0", 0, A), send("y-0", 0, A + 1)])
    first = s.begin("txn", 1)
    s.polled(first, [(0, A)], key="x-0")
    s.sent(first, B, 1, key="y-0")
    at_once(s, [send("x-0", 1, C)])
    at_once(s, [poll("y-0", 0, A + 1)])
    s.end(first)


def ends_within(s: LogRun) -> None:
    """It polled the first of two records that were sent at once to the key."""
    at_once(s, [send("x-0", 0, A), send("x-0", 1, A + 1)])
    at_once(s, [poll("x-0", 0, A)])


# What it is, and the weakest isolation that forbids it.
NAMED: list[tuple[str, Isolation, int, Callable[[LogRun], None]]] = [
    ("G1c", KAFKA, 2, each_polls_the_other),
    ("G1c-realtime", KAFKA, 3, each_polls_the_other_over_time),
    ("G0", PL_2, 2, sends_in_two_orders),
    ("G0", PL_2, 2, sends_between),
    ("G0-realtime", PL_2, 3, sends_in_two_orders_over_time),
    ("G1c", PL_2, 2, polls_what_overwrites_it),
    ("G-single", SERIALIZABLE, 2, polls_half),
    ("G2", SERIALIZABLE, 2, write_skew),
    ("G-single-realtime", STRICT, 2, polls_what_is_old),
    ("G2-realtime", STRICT, 3, skew_over_time),
    ("G1b", SERIALIZABLE, 2, ends_within),
]


@pytest.mark.parametrize("isolation", LEVELS)
@pytest.mark.parametrize(
    ("name", "weakest", "length", "tell"), NAMED, ids=[one[3].__name__ for one in NAMED]
)
def test_each_has_its_name_and_an_isolation_that_forbids_it(
    name: str,
    weakest: Isolation,
    length: int,
    tell: Callable[[LogRun], None],
    isolation: Isolation,
) -> None:
    told = LogRun()
    tell(told)
    run = told.run(isolation=isolation.value)
    check = log_sends if name.startswith("G0") else log_polls
    result = check(run)
    forbidden = LEVELS.index(isolation) >= LEVELS.index(weakest)
    assert result.verdict is (Verdict.INVALID if forbidden else Verdict.VALID), result.message
    if forbidden:
        assert result.facts[name] == 1
        assert result.message.startswith(f"{name}: ")
        assert len(result.witness) == length
    elif isolation.anti or weakest in (KAFKA, PL_2):
        assert result.facts[f"allowed_{name}"] == 1


def test_the_witness_says_who_did_what() -> None:
    told = LogRun()
    each_polls_the_other(told)
    result = log_polls(told.run())
    assert result.message == (
        "G1c: T2 polled 0/0 at x-0, which T1 sent; T1 polled 1/0 at y-0, which T2 sent "
        "(in all 1 G1c)"
    )
    assert [(row["process"], row["what"]) for row in result.witness] == [
        (0, "T1: polled 1/0 at y-0; sent 0/0 to x-0 (offset 0)"),
        (1, "T2: polled 0/0 at x-0; sent 1/0 to y-0 (offset 0)"),
    ]


def test_transactions_as_they_are_recorded() -> None:
    """From their events: what each sends and polls is one operation, in its order."""
    lines = {0: ["x-0", None, A, 1, None, None], 1: ["y-0", None, B, 1, None, None]}
    polled = {0: ["y-0", 0, B, 1, 0, 1], 1: ["x-0", 0, A, 1, 0, 1]}
    asked = [
        {"type": "invoke", "i": p, "p": p, "f": "txn", "k": "x", "v": None, "t": p, "n": 1}
        | {"ph": "main", "s": [lines[p]], "a": -1, "x": True}
        for p in lines
    ]
    done = [
        {"type": "ok", "i": 2 + p, "p": p, "v": None, "t": 2 + p, "e": None}
        | {"s": [[lines[p][0], 0, *lines[p][2:]], polled[p]]}
        for p in lines
    ]
    run = LogRun().run()
    tables = {
        "ops": operations_table([*asked, *done]),
        "spans": spans_table([*asked, *done]),
    }
    result = log_polls(replace(run, tables={**run.tables, **tables}))
    assert (result.verdict, result.facts) == (Verdict.INVALID, {"G1c": 1})


def test_a_witness_of_many_is_cut() -> None:
    """A ring of thirty: each polls what the one before it sent."""
    told = LogRun()
    at_once(
        told,
        *(
            [send(f"x-{n}", 0, n << 32), poll(f"x-{(n - 1) % 30}", 0, (n - 1) % 30 << 32)]
            for n in range(30)
        ),
    )
    result = log_polls(told.run())
    assert (result.verdict, result.facts["G1c"]) == (Verdict.INVALID, 1)
    assert len(result.witness) == 20
    assert "through 24 more" in result.message


@pytest.mark.parametrize("tell", [each_polls_the_other, each_polls_the_other_over_time])
def test_a_loss_that_is_allowed_explains_no_cycle_of_what_was_polled(
    tell: Callable[[LogRun], None],
) -> None:
    told = LogRun()
    told.fault("power-off", *BROKERS)
    told.heal()
    tell(told)
    assert log_polls(told.run()).verdict is Verdict.INVALID


def test_what_failed_is_on_no_cycle() -> None:
    """It sent nothing, then; that somebody polled it is another anomaly."""
    told = LogRun()
    each_polls_the_other(told)
    told.ops[0]["outcome"] = "fail"
    assert "G1c" not in log_polls(told.run()).facts


@settings(max_examples=40)
@given(seed=st.integers(0, 1 << 32))
def test_transactions_one_after_the_other_have_no_cycle(seed: int) -> None:
    """Each takes effect at one moment while it runs: what it polls is what is there then."""
    told = serial_transactions(random.Random(seed), 60)
    for one in cycles(*_swept(told), anti=True):
        assert not len(one), one.anomaly
    assert log_polls(told.run(isolation="strict-serializable")).verdict is Verdict.VALID


def _swept(told: LogRun) -> tuple[LogArrays, VersionOrder]:
    log = arrays_of(told.run())
    return log, version_order(log)


@settings(max_examples=20)
@given(seed=st.integers(0, 1 << 32))
def test_clients_that_only_send_or_only_poll_have_no_cycle(seed: int) -> None:
    """Nor does anybody look for one, unless what polls did not see yet is asked for."""
    log, order = _swept(SimulatedLog(random.Random(seed)).live(300))
    assert not any(map(len, cycles(log, order, anti=False)))
    found = dependencies(log, order, anti=False)
    nodes = np.arange(len(log.ops))
    ends = log.ops.outcome == Outcome.OK
    assert (components(log.ops, nodes, ends, found.values(), real_time=True) == -1).all()


def found_in(log: LogArrays) -> list[Cases]:
    return [one for one in cycles(log, version_order(log), anti=True) if one.cycles]


@pytest.mark.parametrize("seed", SEEDS)
def test_all_cycles_are_those_found_by_force(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(HISTORIES):
        transactions = sorted(random_transactions(rng), key=lambda one: one.invoke)
        graph = graph_of(transactions)
        log = arrays_of(told_as_log(transactions, rng).run())
        found = [(one.anomaly.value, cycle) for one in found_in(log) for cycle in one.cycles]
        named = sorted((name, len(cycle.steps)) for name, cycle in found)
        assert named == cycles_by_force(graph), transactions
        for _, cycle in found:
            is_cycle(graph, cycle)


def is_cycle(graph: Graph, cycle: Cycle) -> None:
    for step, following in zip(cycle.steps, (*cycle.steps[1:], cycle.steps[0]), strict=True):
        assert step.after == following.before
        assert step.kind.value in graph.edges[step.before, step.after]
    assert len({step.before for step in cycle.steps}) == len(cycle.steps)
