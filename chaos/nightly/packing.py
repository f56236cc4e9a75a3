"""How many runs go on at a time, decided by what the last ones say of the machine.

A run in containers mostly waits for time-outs, and needs a core at once when it needs one; a
simulated one computes all the time, in virtual time, and may wait. So simulated runs give way to
containers (`running.perform_simulated`), and what runs in containers record decides: how near their
machine was to being starved, as a share of the bound from which on no node is accused
(`checkers.evidence.starvation`). Near it, one run at a time fewer goes on, a simulated one first;
far from it, twice in a row, one more, in containers first. One of each always goes on: what others
do on the machine must not keep a night from its work.
"""

from pathlib import Path

_NEAR, _FAR = 0.8, 0.5
_CALM_RUNS = 2  # in a row, before one more goes on
_CLUSTER_KIB = 3 << 20  # of memory: six brokers of Apache Kafka
_MEMORY = Path("/proc/meminfo")


class Packing:
    """`contained` runs in containers and `simulated` ones may go on at a time; never more than
    `most_contained` and `most_simulated`."""

    def __init__(
        self, processors: int, jobs: int, *, has_containers: bool, free_kib: int | None = None
    ) -> None:
        """`jobs`: simulated runs at a time, at most; `free_kib`: of memory, by default as it is."""
        room = max((available_kib() if free_kib is None else free_kib) // _CLUSTER_KIB, 1)
        self.most_contained = min(processors, room) if has_containers else 0
        self.most_simulated = jobs
        self.contained = min(max(processors // 2, 1), self.most_contained)
        self.simulated = max(jobs - self.contained, 1)
        self._calm = 0

    def learn(self, strain: float) -> None:
        """A run in containers has ended, with this strain on the machine; 0: not measured."""
        if strain >= _NEAR:
            self._calm = 0
            if self.simulated > 1:
                self.simulated -= 1
            elif self.contained > 1:
                self.contained -= 1
        elif 0 < strain < _FAR:
            self._calm += 1
            if self._calm >= _CALM_RUNS:
                self._calm = 0
                self._add()
        else:
            self._calm = 0

    def _add(self) -> None:
        if self.contained < self.most_contained:
            self.contained += 1
        elif self.simulated < self.most_simulated:
            self.simulated += 1


def available_kib() -> int:
    """Memory that programs can have. Where the kernel does not tell, enough for one cluster."""
    try:
        lines = _MEMORY.read_text().splitlines()
    except OSError:
        return _CLUSTER_KIB
    told = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(told[0]) if told else _CLUSTER_KIB
