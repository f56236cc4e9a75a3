"""Controls: runs that must be invalid on any target, or the harness is blind.

    our_node.py     lying disks under our own node, and two ways to damage a valid run's records
    clients.py      lying clients of logs, and answers that never reach them
    brokers.py      the scenarios in which those clients load brokers
    disk_images.py  a disk image from which one acknowledged record is gone

`CONTROLS` are scenarios that `run` runs by name, and that no list shows.
"""

from chaos.controls.brokers import HASTY_CLIENT, LOST_ANSWERS, QUIET_BROKERS, RASH_CLIENT
from chaos.controls.our_node import LYING_FSYNC
from chaos.scenario import Scenario

CONTROLS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (LYING_FSYNC, QUIET_BROKERS, LOST_ANSWERS, RASH_CLIENT, HASTY_CLIENT)
}
