"""What a run keeps of a machine: what its processes said, and its disks."""

from pathlib import Path

from chaos.cluster.sim.drive import Drive
from chaos.cluster.sim.sim_machine import Machine
from chaos.cluster.topology import lost_disk


def save_machine(machine: Machine, into: Path) -> None:
    """Write `logs/node-N.log` (stdout), `logs/node-N.err` and `disks/node-N/`, and a directory
    beside that for each disk that it lost."""
    logs, disks, name = into / "logs", into / "disks", f"node-{machine.node}"
    logs.mkdir(parents=True, exist_ok=True)
    (logs / f"{name}.log").write_bytes(machine.stdout)
    (logs / f"{name}.err").write_bytes(machine.stderr)
    _save_drive(machine.drive, disks / name)
    for number, drive in enumerate(machine.lost, start=1):
        _save_drive(drive, disks / lost_disk(machine.node, number))


def _save_drive(drive: Drive, into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    made = {into}
    for path, content in drive.log_directory().items():
        file = into / path
        if file.parent not in made:
            file.parent.mkdir(parents=True, exist_ok=True)
            made.add(file.parent)
        file.write_bytes(content)
