"""What the Spark stages compute, once more in plain loops over one run: the second opinion."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping

from checkers.evidence.faults import Kind
from checkers.history.sealed_run import Run

Row = Mapping[str, object]
REGISTER = ("Config", 16)


def number(value: object) -> int:
    assert isinstance(value, int), value
    return value


def phase_of(op: Row, faults: Iterable[Row]) -> str:
    begun, done = number(op["t0"]), number(op["t0"] if op["t1"] is None else op["t1"])
    windows = [
        (number(f["t_start"]), float("inf") if f["t_healed"] is None else number(f["t_healed"]))
        for f in faults
    ]
    if not windows:
        return "no fault"
    if any(start <= done and end >= begun for start, end in windows):
        return "during"
    return "before" if begun < min(start for start, _ in windows) else "after"


def voters_of(run: Run) -> list[int]:
    """By the record that names them, of which there is one at most; else the controllers."""
    for record in run.tables["log_records"].to_pylist():
        if record["type"] == "KRaftVoters":
            return [voter["voterId"] for voter in json.loads(record["detail"])["voters"]]
    controllers = [int(node) for node, role in run.info.roles.items() if "controller" in role]
    return controllers or list(range(1, run.info.nodes + 1))


def fates(run: Run) -> dict[tuple[str, int], tuple[str, str]]:
    """Phase and fate of every written value, by key and value."""
    ops, faults = run.tables["ops"].to_pylist(), run.tables["faults"].to_pylist()
    voters = voters_of(run)
    events = run.tables["node_events"].to_pylist() if Kind.TRACES in run.info.gives else []
    told = [event["hwm"] for event in events if event["event"] == "q.hwm"]
    holders = defaultdict(set)
    for record in run.tables["log_records"].to_pylist():
        if (record["type"], record["resource_type"]) != REGISTER or record["node"] not in voters:
            continue
        if record["value"].isdigit() and (not told or record["offset"] < max(told)):
            place = (record["resource"], int(record["value"]), record["offset"], record["epoch"])
            holders[place].add(record["node"])
    copies: dict[tuple[str, int], int] = defaultdict(int)
    for (key, value, *_), nodes in holders.items():
        copies[key, value] = max(copies[key, value], len(nodes))
    batches = run.tables["log_batches"].to_pylist()
    whole = sum(
        disk["problem"] is None
        and min((b["base_offset"] for b in batches if b["node"] == disk["node"]), default=0) == 0
        for disk in run.tables["disks"].to_pylist()
        if disk["node"] in voters
    )
    majority = len(voters) // 2 + 1
    found = {}
    for op in ops:
        if op["f"] == "write":
            having = copies[op["key"], op["value"]]
            possible = having + len(voters) - whole >= majority
            fate = _fate(op["outcome"], having >= majority, possible)
            found[op["key"], op["value"]] = (phase_of(op, faults), fate)
    return found


def _fate(outcome: str, there: bool, possible: bool) -> str:
    if outcome == "ok":
        return "survived" if there else "undecided" if possible else "lost"
    if outcome == "info":
        return "recovered" if there else "open" if possible else "not happened"
    return "unexpected" if there else "refused"


def gaps(run: Run) -> list[tuple[int, int, int]]:
    """(from, to, attempts) of every gap with attempts, in order."""
    ops = [op for op in run.tables["ops"].to_pylist() if op["phase"] == "main"]
    if not ops:
        return []
    moments = [(op["t0"], 1, op["op_id"]) for op in ops]
    moments += [(op["t1"], 2, op["op_id"]) for op in ops if op["outcome"] == "ok"]
    moments.append((min(op["t0"] for op in ops), 0, -1))
    moments.append((max(op["t0"] if op["t1"] is None else op["t1"] for op in ops), 3, -1))
    found, attempts, since = [], 0, None
    for at, rank, _ in sorted(moments):
        if rank == 1:
            attempts += 1
            continue
        if since is not None and attempts:
            found.append((since, at, attempts))
        since, attempts = at, 0
    return found


def elections(run: Run) -> dict[int, tuple[int | None, int | None]]:
    """Time to the next leader and to the next active controller, by fault that hit the leader."""
    events = run.tables["node_events"].to_pylist()
    leaders = [e for e in events if (e["event"], e["state"]) == ("q.state", "leader")]
    active = [e for e in events if e["event"] == "c.active"]
    found = {}
    for fault in run.tables["faults"].to_pylist():
        began = fault["t_start"] if fault["t_bit"] is None else fault["t_bit"]
        earlier = [e for e in leaders if e["t"] <= fault["t_start"]]
        if not earlier:
            continue
        ruler = max(earlier, key=lambda e: e["epoch"])
        if ruler["node"] in fault["nodes"]:
            found[fault["fault_id"]] = (
                _first(leaders, fault["t_start"], began, ruler["epoch"]),
                _first(active, fault["t_start"], began, ruler["epoch"]),
            )
    return found


def _first(claims: Iterable[Row], injected: int, began: int, epoch: int) -> int | None:
    waits = [
        max(number(claim["t"]) - began, 0)
        for claim in claims
        if number(claim["t"]) > injected and number(claim["epoch"]) > epoch
    ]
    return min(waits, default=None)


def latencies(runs: Iterable[Run]) -> dict[tuple[str, str], tuple[int, int, int, list[int]]]:
    """ok, fail, info and the sorted latencies of ok, by scenario and phase."""
    counts: dict[tuple[str, str], list[str]] = defaultdict(list)
    took: dict[tuple[str, str], list[int]] = defaultdict(list)
    for run in runs:
        faults = run.tables["faults"].to_pylist()
        for op in run.tables["ops"].to_pylist():
            if op["phase"] != "main":
                continue
            group = (run.info.scenario, phase_of(op, faults))
            counts[group].append(op["outcome"])
            if op["outcome"] == "ok":
                took[group].append(op["t1"] - op["t0"])
    return {
        group: (
            outcomes.count("ok"),
            outcomes.count("fail"),
            outcomes.count("info"),
            sorted(took[group]),
        )
        for group, outcomes in counts.items()
    }
