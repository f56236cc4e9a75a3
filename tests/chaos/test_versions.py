"""A run says what it was made of; a simulated one only what is the same on every machine."""

import platform
import re
from pathlib import Path

from chaos.releases import made_of, made_of_images


def test_the_program_is_named_by_version_and_commit() -> None:
    told = made_of(this_machine=True)
    assert told["python"] == platform.python_version()
    assert re.fullmatch(r"\d+\.\d+.*", told["kraft-chaos"])
    assert {"numpy", "pyarrow", "confluent-kafka"} <= told.keys()
    if (Path(__file__).resolve().parents[2] / ".git").exists():
        assert re.fullmatch(r"[0-9a-f]{40}( with changes)?", told["commit"])


def test_what_differs_from_machine_to_machine_is_not_in_a_simulated_run() -> None:
    assert made_of(this_machine=False).keys() <= {"kraft-chaos", "commit"}


def test_images_are_named_by_what_they_do() -> None:
    assert made_of_images({"proxy": "sha256:b", "node": "sha256:a"}) == {
        "image of node": "sha256:a",
        "image of proxy": "sha256:b",
    }
