"""The disk of a machine, with the canary that proves each of its power cuts."""

import random

import pytest

from chaos.cluster.fault_evidence import FORGOTTEN
from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.disk.disk import Drive
from chaos.conditions import Conditions

CUTS = 200


@pytest.mark.parametrize("mode", PowerCutMode)
def test_each_of_many_power_cuts_proves_itself(mode: PowerCutMode) -> None:
    """A torn cut keeps most pages of the canary: the next one must not overwrite them with what
    they hold."""
    drive = Drive(random.Random(1), random.Random(2), lambda: None, Conditions())
    toothless = []
    for number in range(CUTS):
        assert drive.overwrite_canary("node 1")
        drive.cut_power(mode)
        if drive.canary() != FORGOTTEN:
            toothless.append(number)
    assert toothless == []
