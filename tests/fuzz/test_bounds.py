"""A share of `python -m tests.fuzz.bounds`: that compiles every kernel once more."""

import subprocess
import sys

import pytest

from tests.fuzz import bounds


def test_the_cases_are_what_they_are_meant_to_be() -> None:
    """Without bounds checked: of each kind some are judged, and what is none is refused."""
    counts, wrong = bounds.fuzz(3, range(120))
    assert wrong == []
    assert {name.split()[0] for name in counts} == {case.__name__ for case in bounds.CASES}
    assert counts["broken refused"]
    assert counts["swept refused"]


@pytest.mark.night
@pytest.mark.timeout(1200)
def test_no_kernel_reaches_out_of_its_arrays() -> None:
    command = [sys.executable, "-m", "tests.fuzz.bounds", "--count", "600", "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "600 cases with bounds checked: 0 wrong" in done.stdout
