"""The result of an exploration, for a terminal and for a script."""

from collections.abc import Mapping

from chaos.model_check.bounds import SmallBounds
from chaos.model_check.judged_steps import PROMISES
from chaos.model_check.search import Counterexample, Explored
from checkers.counted import counted


def told(bounds: SmallBounds, explored: Explored) -> str:
    lines = [_bounds(bounds)]
    if explored.found is not None:
        lines += ["", *_counterexample(explored.found), ""]
    lines.append(
        f"{counted(explored.states, 'state')}, {counted(explored.moves, 'move')}, depth"
        f" {explored.depth}, {explored.seconds:.1f} s;"
        f" {counted(explored.changes, 'change')} of the voters acknowledged"
    )
    lines.append("all states explored, nothing broken" if explored.found is None else "broken")
    return "\n".join(lines)


def _bounds(bounds: SmallBounds) -> str:
    form = "KIP-856" if bounds.listed else "KIP-853"
    observe = f", {counted(bounds.observers, 'observer')} of them" if bounds.observers else ""
    limits = [
        f"epochs to {bounds.epochs}",
        counted(bounds.changes, "change"),
        counted(bounds.entries, "entry", "entries"),
        counted(bounds.crashes, "crash", "crashes"),
        counted(bounds.disks, "disk") + " replaced",
    ]
    return f"{form}, {counted(bounds.nodes, 'node')}{observe}: {', '.join(limits)}"


def _counterexample(found: Counterexample) -> list[str]:
    lines = []
    for number, made in enumerate(found.made, 1):
        lines.append(f"{number}. {made.move}")
        lines += [f"     {view}" for view in made.views]
    for each in found.broken:
        lines += [f"{each.promise} is broken: {each.what}", f"  ({PROMISES[each.promise]})"]
    return lines


def row(bounds: SmallBounds, explored: Explored) -> Mapping[str, object]:
    """As JSON has it."""
    found = explored.found
    return {
        "form": "kip-856" if bounds.listed else "kip-853",
        "nodes": bounds.nodes,
        "observers": bounds.observers,
        "epochs": bounds.epochs,
        "changes": bounds.changes,
        "entries": bounds.entries,
        "crashes": bounds.crashes,
        "disks": bounds.disks,
        "states": explored.states,
        "moves": explored.moves,
        "changes_done": explored.changes,
        "depth": explored.depth,
        "seconds": round(explored.seconds, 3),
        "steps": [] if found is None else [str(made.move) for made in found.made],
        "broken": {} if found is None else {each.promise: each.what for each in found.broken},
    }
