"""Operations and faults as rows of a witness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checkers.history.payload import value_name
from checkers.history.sealed_run import Run
from checkers.log.anomalies import Cases
from checkers.log.arrays import LogArrays
from checkers.log.case_words import explain
from checkers.log.ended_transactions import SEND
from checkers.verdict import EventValue

WitnessRow = Mapping[str, EventValue]
_RENAMED = {"t0": "t_ns", "t1": "t1_ns"}
_SHOWN = ("t0", "t1", "process", "node", "f", "value", "outcome", "phase", "op_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCase:
    message: str
    rows: Sequence[WitnessRow]


def of_case(run: Run, log: LogArrays, found: Cases, case: int) -> ShownCase:
    explained = explain(log, found, case)
    rows = [operation(run, row, part, explained.key) for row, part in explained.operations]
    return ShownCase(message=explained.message, rows=rows)


def operation(run: Run, row: int, part: str, key: str) -> WitnessRow:
    """An operation by its row, with the part it plays."""
    ops = run.tables["ops"]
    found = {_RENAMED.get(name, name): ops[name][row].as_py() for name in _SHOWN}
    if found["f"] == SEND and found["value"] is not None:
        found["value"] = value_name(found["value"])
    return {"what": part, **found, "key": key}


def fault(row: Mapping[str, object]) -> WitnessRow:
    """A fault by its row in FAULTS."""
    nodes, start, healed = row["nodes"], row["t_start"], row["t_healed"]
    whom = ", ".join(map(str, nodes)) if isinstance(nodes, list) else "no node"
    return {
        "what": f"fault {row['fault_id']}: {row['kind']} of {whom}",
        "t_ns": start if isinstance(start, int) else None,
        "t1_ns": healed if isinstance(healed, int) else None,
    }
