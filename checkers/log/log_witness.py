"""The witness of an anomaly: operations and faults as rows, and a sentence on each case or
cycle."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.history.events import value_name
from checkers.history.sealed_run import Run
from checkers.log.anomalies import Anomaly, Cases, Cycle, DependencyStep
from checkers.log.arrays import CORRUPT, NONE, LogArrays
from checkers.log.dependencies import Dependency
from checkers.log.looked_up import SEND
from checkers.verdict import EventValue

# A cycle of operations as a sentence, and the part that each of them plays in it.


_ROWS = 20
_SAID = 6  # steps in the sentence
_KEYS = 3


def sentence(log: LogArrays, cycle: Cycle) -> str:
    """`T2 polled 1/0 at t-0, which T1 sent; T1 ...`, where T1 is the first row of the witness."""
    names = _names(cycle)
    said = [_step(log, step, names) for step in cycle.steps[:_SAID]]
    left = len(cycle.steps) - len(said)
    return "; ".join(said) + (f"; and so on, through {left:,} more" if left else "")


def keys_of(log: LogArrays, cycle: Cycle) -> str:
    """The logs that it goes through, as many as a person reads."""
    keys = dict.fromkeys(log.keys[step.key] for step in cycle.steps if step.key != NONE)
    return ", ".join([*list(keys)[:_KEYS], *(["..."] if len(keys) > _KEYS else [])])


def parts(log: LogArrays, cycle: Cycle) -> tuple[tuple[int, str], ...]:
    """Rows of operations, each with what it did in the cycle; as many as a person reads."""
    names = _names(cycle)
    rows = []
    for before, step in zip((cycle.steps[-1], *cycle.steps), cycle.steps, strict=False):
        acts = "; ".join(dict.fromkeys([*_arrived(log, before), *_left(log, step)]))
        rows.append((step.before, f"{names[step.before]}: {acts}".removesuffix(": ")))
    return tuple(rows[:_ROWS])


def _names(cycle: Cycle) -> dict[int, str]:
    return {step.before: f"T{number}" for number, step in enumerate(cycle.steps, 1)}


def _step(log: LogArrays, step: DependencyStep, names: dict[int, str]) -> str:
    before, after = names[step.before], names[step.after]
    if step.kind is Dependency.RT:
        return f"{after} began when {before} had ended"
    key, one, other = log.keys[step.key], log.name(step.one), log.name(step.other)
    match step.kind:
        case Dependency.WR:
            return f"{after} polled {one} at {key}, which {before} sent"
        case Dependency.WW:
            return f"{after} sent {other} to {key} behind {one}, which {before} sent"
        case Dependency.RW:
            return f"{before} polled {key} up to {one}, and {after} sent {other} behind it"


def _arrived(log: LogArrays, step: DependencyStep) -> Iterator[str]:
    """The action of an operation that depends on another."""
    match step.kind:
        case Dependency.WR:
            yield f"polled {log.name(step.other)} at {log.keys[step.key]}"
        case Dependency.WW | Dependency.RW:
            yield _sent(log, step.other)


def _left(log: LogArrays, step: DependencyStep) -> Iterator[str]:
    """The action of an operation that another depends on."""
    match step.kind:
        case Dependency.WR | Dependency.WW:
            yield _sent(log, step.one)
        case Dependency.RW:
            yield f"polled {log.keys[step.key]} up to {log.name(step.one)}"


def _sent(log: LogArrays, code: int) -> str:
    offset = int(log.sent.offset[code])
    where = f" (offset {offset})" if offset >= 0 else ""
    return f"sent {log.name(code)} to {log.keys[log.sent.key[code]]}{where}"


# A case in a sentence, and the part that each of its operations plays.


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`operations` are rows of the operations with the part each plays, in the order to show."""

    anomaly: Anomaly
    key: str
    message: str
    operations: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """What a case says, as text."""

    key: str
    one: str  # the value
    other: str
    at_one: str  # the offset
    at_other: str
    process: str  # the process that reveals it


def explain(log: LogArrays, found: Cases, case: int) -> Case:
    if found.cycles:
        cycle = found.cycles[case]
        return Case(
            anomaly=found.anomaly,
            key=keys_of(log, cycle),
            message=sentence(log, cycle),
            operations=parts(log, cycle),
        )
    words = _Words(
        key=log.keys[found.key[case]],
        one=_value(log, int(found.one_value[case])),
        other=_value(log, int(found.other_value[case])),
        at_one=_offset(int(found.one_offset[case])),
        at_other=_offset(int(found.other_offset[case])),
        process=f"process {log.ops.process_name(int(found.other[case]))}",
    )
    message, one_part, other_part = _said(found.anomaly, words)
    one, other = int(found.one[case]), int(found.other[case])
    if one in (NONE, other):
        operations: tuple[tuple[int, str], ...] = ((other, other_part),)
    else:
        operations = ((one, one_part), (other, other_part))
    return Case(anomaly=found.anomaly, key=words.key, message=message, operations=operations)


def _value(log: LogArrays, code: int) -> str:
    return "a damaged record" if code == CORRUPT else log.name(code)


def _offset(offset: int) -> str:
    return "an offset that no client was given" if offset < 0 else str(offset)


def _said(anomaly: Anomaly, w: _Words) -> tuple[str, str, str]:
    """The sentence, and the parts of the two operations."""
    match anomaly:
        case Anomaly.CORRUPT:
            message = f"{w.process} polled a damaged record at {w.key}, offset {w.at_other}"
            return message, "", f"polled bytes that were never sent, at offset {w.at_other}"
        case Anomaly.PHANTOM:
            message = f"{w.process} polled {w.other} at {w.key}, which was never sent"
            return message, "", f"polled {w.other} at offset {w.at_other}"
        case Anomaly.FUTURE_READ:
            message = f"{w.process} polled {w.other} at {w.key} before it was sent"
            return message, f"sent {w.other} only later", f"polled {w.other} first"
        case Anomaly.G1A:
            message = f"{w.process} polled {w.other} at {w.key}, though its send had failed"
            return message, f"was answered that sending {w.other} failed", f"polled {w.other}"
        case Anomaly.INCONSISTENT_OFFSETS:
            message = f"{w.key}, offset {w.at_other}, holds both {w.one} and {w.other}"
            return message, f"{w.one} at {w.at_one}", f"{w.other} at {w.at_other}"
        case Anomaly.DUPLICATE:
            message = f"{w.other} is at the offsets {w.at_one} and {w.at_other} of {w.key}"
            return message, f"at {w.at_one}", f"at {w.at_other}"
        case Anomaly.PRECOMMITTED_READ:
            message = f"{w.process} polled {w.other} at {w.key} in the transaction that sent it"
            return message, "", f"sent {w.other} and polled it"
        case Anomaly.G1B:
            message = f"{w.process} polled {w.key} up to {w.other}, though {w.one} was sent with it"
            return message, f"sent {w.other}, then {w.one}", f"polled up to {w.other}"
    return _said_of_loss(anomaly, w)


def _said_of_loss(anomaly: Anomaly, w: _Words) -> tuple[str, str, str]:
    match anomaly:
        case Anomaly.LOST_WRITE:
            message = (
                f"{w.one} was acknowledged at offset {w.at_one} of {w.key} and never polled, "
                f"though offset {w.at_other} was"
            )
            return message, f"sent {w.one}", f"polled past it, to {w.at_other}"
        case Anomaly.VANISHED:
            message = f"{w.one} was polled at {w.key} and is lost"
            return message, f"sent {w.one}", f"polled it at offset {w.at_other}"
        case Anomaly.UNSEEN:
            message = (
                f"{w.other} was acknowledged at offset {w.at_other} of {w.key}; it was never polled"
            )
            return message, "", f"sent {w.other}"
        case Anomaly.PAST_HIGH_WATERMARK:
            message = (
                f"{w.process} was given offset {w.at_other} of {w.key}, when no answer had had a "
                f"high watermark above {w.at_one}"
            )
            return message, "", f"polled {w.at_other}"
        case Anomaly.HIGH_WATERMARK_BACK:
            message = (
                f"the high watermark of {w.key} went back from {w.at_one} to {w.at_other} in one "
                "epoch of its leader"
            )
            return message, f"was answered {w.at_one}", f"was answered {w.at_other} afterwards"
    return _said_of_order(anomaly, w)


def _said_of_order(anomaly: Anomaly, w: _Words) -> tuple[str, str, str]:
    inside = "in one operation, " if anomaly.startswith("int-") else ""
    way = f"from offset {w.at_one} of {w.key} to {w.at_other}"
    match anomaly:
        case Anomaly.REALTIME_SEND:
            message = f"{w.other} went to offset {w.at_other} of {w.key} when {w.at_one} was there"
            return message, f"knew of {w.at_one}", f"sent {w.other} only then"
        case Anomaly.NONMONOTONIC_SEND | Anomaly.INT_NONMONOTONIC_SEND:
            message = f"{inside}{w.process} sent {w.one}, then {w.other}, and went back {way}"
            return message, f"sent {w.one} first", f"sent {w.other} next"
        case Anomaly.INT_SEND_SKIP:
            message = f"{inside}the sends of {w.process} go {way}, past other records"
            return message, f"sent {w.one} first", f"sent {w.other} next"
        case Anomaly.NONMONOTONIC_POLL | Anomaly.INT_NONMONOTONIC_POLL:
            message = f"{inside}{w.process} went back {way}"
        case Anomaly.POLL_SKIP | Anomaly.INT_POLL_SKIP:
            message = f"{inside}{w.process} went {way}, past the records between"
        case _:
            raise AssertionError(anomaly)
    return message, f"polled up to {w.at_one}", f"polled from {w.at_other} on"


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
    victims = ", ".join(map(str, nodes)) if isinstance(nodes, list) else "no node"
    return {
        "what": f"fault {row['fault_id']}: {row['kind']} of {victims}",
        "t_ns": start if isinstance(start, int) else None,
        "t1_ns": healed if isinstance(healed, int) else None,
    }
