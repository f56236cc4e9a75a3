"""What rows of FAULTS say a kind of fault does, from the nemesis's own description of the kind."""

from chaos.cluster.interface import DiskSickness
from chaos.nemesis.recorded import fault_from

# Of kinds that cannot be without.
_NEEDED = {
    "partition": {"ways": "both"},
    "partition-one-way": {"ways": "out"},
    "power-off": {"mode": "lose-all"},
    "slow-links": {"latency_ms": "100"},
    "flaky-links": {"share": "0.1"},
    "clock-jump": {"offset_ms": "1000"},
    "clock-rate": {"rate": "2"},
    **{f"disk-{sickness}": {"sickness": str(sickness)} for sickness in DiskSickness},
}


def harm_of(kind: str, **parameters: str) -> dict[str, bool]:
    """The columns of a row, so that no test can disagree with what the nemesis writes."""
    fault = fault_from(kind, "leader", {**_NEEDED.get(kind, {}), **parameters})
    return fault.harm.as_columns()
