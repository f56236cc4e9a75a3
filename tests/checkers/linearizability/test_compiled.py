"""Whoever waits for kernels to be compiled is told why; whoever finds them compiled is not."""

import subprocess
import sys
from pathlib import Path

_SOURCE = """
import sys
import numba
from checkers.linearizability import compiled
vars(numba.config)["CACHE_DIR"] = sys.argv[1]

@compiled.inlined
def one_more(number: int) -> int:
    return number + 1

@compiled.loop
def two_more(number: int) -> int:
    return one_more(one_more(number))

print(two_more(1))
"""


def test_compiling_is_said_once_and_loading_is_not(tmp_path: Path) -> None:
    source, cache = tmp_path / "kernels.py", tmp_path / "cache"
    source.write_text(_SOURCE)
    told = []
    for _ in range(2):
        command = [sys.executable, str(source), str(cache)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "3\n"
        told.append(done.stderr)
    assert told == ["compiling the checkers' kernels; the first time takes a minute or more\n", ""]
