"""Faults as facts: what a row says, and what it does not say is never guessed."""

import ast
import re
from dataclasses import fields
from pathlib import Path
from typing import TypeGuard

import pytest

from chaos.nemesis.fault import Harm
from chaos.nemesis.kinds import BY_KIND
from checkers.evidence.faults import FOREVER_NS, FaultFact, faults_of
from checkers.history.tables import HARM
from tests.support.histories import MS, fault, make_run


def test_the_nemesis_and_the_judge_know_the_same_facts() -> None:
    assert tuple(field.name for field in fields(Harm)) == HARM
    assert {field.name for field in fields(FaultFact)} > set(HARM)


def test_a_row_becomes_a_fact() -> None:
    row = fault(4, "partition", 10, 20)
    row |= {"nodes": [2], "links": ["2->1", "10->2"], "params": '{"ways": "out"}'}
    (found,) = faults_of(make_run(faults=[{**row, "facts": '{"swallowed": 9}'}]))
    assert (found.id, found.kind, found.nodes, found.bit) == (4, "partition", (2,), True)
    assert found.links == {(2, 1), (10, 2)}
    assert (found.t_start, found.t_bit, found.t_heal, found.t_healed) == (
        10 * MS,
        11 * MS,
        19 * MS,
        20 * MS,
    )
    assert (found.params, found.facts) == ({"ways": "out"}, {"swallowed": 9})
    assert found.evidence == "swallowed 100 bytes"
    assert {name for name in HARM if getattr(found, name)} == {"cuts"}


def test_faults_come_in_the_order_in_which_they_began() -> None:
    rows = [fault(0, "kill", 30, 40), fault(1, "pause", 10, 20), fault(2, "stop", 10, 50)]
    assert [found.id for found in faults_of(make_run(faults=rows))] == [1, 2, 0]


def test_what_never_came_never_ends() -> None:
    row = fault(0, "kill", 10, 20, bit=None)
    row |= {"t_bit": None, "t_heal": None, "t_healed": None, "facts": None}
    (found,) = faults_of(make_run(faults=[row]))
    assert (found.begin_ns, found.end_ns, found.over_ns) == (FOREVER_NS,) * 3
    assert found.may_have_bitten
    assert not found.ran_its_course
    assert found.overlaps(500 * MS, 501 * MS)
    assert not found.overlaps(5 * MS, 10 * MS)


@pytest.mark.parametrize(("cured", "may_have"), [(20 * MS, False), (None, True)])
def test_of_a_fault_whose_cure_failed_nobody_knows_whether_it_bit(
    cured: int | None, may_have: bool
) -> None:
    """Its evidence is taken as it is cured."""
    row = fault(0, "power-off", 10, 20, bit=False) | {"t_healed": cured}
    (found,) = faults_of(make_run(faults=[row]))
    assert found.may_have_bitten is may_have


def test_a_fault_without_its_facts_is_refused() -> None:
    row = {**fault(3, "kill", 10, 20), "may_lose": None}
    with pytest.raises(ValueError, match="fault 3 does not say whether it may_lose"):
        faults_of(make_run(faults=[row]))


@pytest.mark.parametrize("package", ["checkers", "spark_reports"])
def test_nobody_who_judges_names_a_kind_of_fault(package: str) -> None:
    """Whatever a fault is called, its row says what it may do. (A partition is also Kafka's, and
    clients set min.insync.replicas as well.)"""
    names = BY_KIND.keys() - {"partition", "set-min-isr"}
    quoted = re.compile(rf"[\"'}}]({'|'.join(map(re.escape, names))})[\"'{{]")
    for path in Path(package).rglob("*.py"):
        source = path.read_text()
        if not quoted.search(source):
            continue  # parsing all takes long
        texts = (node.value for node in ast.walk(ast.parse(source)) if is_text(node))
        assert not [text for text in texts if text in names], path


def is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
