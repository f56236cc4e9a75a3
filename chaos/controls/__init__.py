"""Controls: runs that must be red whatever the target is like, or the harness is blind.

    our_node.py     disks that lie under our own node, and two damages to what a valid run recorded
    clients.py      clients of logs that lie, and answers that never come to them
    brokers.py      the scenarios in which those clients load brokers
    disk_images.py  a disk image from which one acknowledged record is gone

`CONTROLS` are scenarios that `run` runs when asked by name, and that no list shows.
"""

from chaos.controls.brokers import HASTY_CLIENT, LOST_ANSWERS, QUIET_BROKERS, RASH_CLIENT
from chaos.controls.our_node import LYING_FSYNC
from chaos.scenario import Scenario

CONTROLS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (LYING_FSYNC, QUIET_BROKERS, LOST_ANSWERS, RASH_CLIENT, HASTY_CLIENT)
}
