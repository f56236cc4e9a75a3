"""Which scripts a cluster with combined nodes can run.

A fault of such a broker is one of the quorum too. So a script cannot cut brokers off from the
controllers only, or from the brokers only; and one that waits for an active controller needs a
majority meanwhile, for which there may be controllers beside the brokers.
"""

from collections.abc import Mapping

from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.script import Begin, End, Script, Until
from chaos.nemesis.victims import OneNode


def why_not_combined(script: Script, voters: int) -> str:
    """Why such a cluster cannot run the script, and what to do; "" where it can."""
    parts = [fault for fault in script.faults if isinstance(fault, NetworkPartition)]
    if any(fault.peers is not OtherSide.ALL for fault in parts):
        return (
            "it cuts brokers off from the controllers and not from each other, or the other way"
            " round, and with roles=combined both are the same nodes\n"
            "  try: without --set roles=combined"
        )
    gone = _most_gone(script)
    if voters - gone < voters // 2 + 1:
        return (
            f"it waits for the controllers while {gone} of {voters} of them are cut off or down:"
            f" no majority is left\n  try: --set controllers={2 * gone + 1}, which adds"
            " controllers beside the brokers"
        )
    return ""


def _most_gone(script: Script) -> int:
    """Named nodes, out of the quorum while the script waits for something."""
    lasting: dict[str, Fault] = {}
    most = 0
    for step in script.steps:
        match step:
            case Begin(name=name, fault=fault):
                lasting[name] = fault
            case End(name=name):
                del lasting[name]
            case Until():
                most = max(most, len(_gone(lasting)))
    return most


def _gone(lasting: Mapping[str, Fault]) -> set[int]:
    return {
        fault.victim.node
        for fault in lasting.values()
        if isinstance(fault.victim, OneNode) and (fault.harm.cuts or fault.harm.halts)
    }
