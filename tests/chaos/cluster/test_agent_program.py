"""What of the agent can be tried without privileges."""

import json
import os
import random
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.cluster.docker import agent_processes, agent_program


@pytest.fixture(autouse=True)
def _own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_program, "MEMORY", tmp_path / "memory.json")


def ask(operation: str, **arguments: object) -> dict[str, object]:
    return agent_program.answer(json.dumps({"id": 3, "op": operation, "each": [arguments]}))


def test_it_remembers_for_whoever_asks_later() -> None:
    assert ask("recall", prefix="cut ") == {"id": 3, "result": [{}]}
    ask("remember", key="cut 1->2", value="x")
    ask("remember", key="power 1", value="y")
    assert ask("recall", prefix="cut ") == {"id": 3, "result": [{"cut 1->2": "x"}]}
    ask("remember", key="cut 1->2", value="")
    assert ask("recall", prefix="cut ") == {"id": 3, "result": [{}]}


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """On a disk that syncs what it is told to."""
    path = tmp_path / agent_program.CANARY
    path.write_bytes(agent_program.SYNCED)
    return path


def test_each_of_many_power_cuts_proves_itself(canary: Path) -> None:
    """Some cuts forget the block and some keep it; the next one is proved, whatever came before."""
    rng = random.Random(1)
    here = {"pid": os.getpid(), "path": str(canary.parent)}
    for number in range(200):
        synced, token = canary.read_bytes(), f"overwriting {number} on node 1"
        assert ask("canary_overwrite", **here, token=token)["result"] == [True]
        is_forgotten = rng.random() < 0.5
        if is_forgotten:
            canary.write_bytes(synced)
        expected = "old" if is_forgotten else token
        assert ask("canary_read", **here)["result"] == [expected]


def test_a_block_that_is_overwritten_by_itself_proves_nothing(canary: Path) -> None:
    here = {"pid": os.getpid(), "path": str(canary.parent), "token": "overwriting 0 on node 1"}
    assert ask("canary_overwrite", **here)["result"] == [True]
    assert ask("canary_overwrite", **here)["result"] == [False]


def test_it_says_what_went_wrong() -> None:
    assert "KeyError" in str(ask("no_such_thing")["error"])
    assert "TypeError" in str(ask("recall", wrong="x")["error"])


def test_all_threads_of_a_stopped_process_stand_still() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        try:
            own = agent_processes.pid_space(os.getpid())
            assert process.pid in agent_processes.members_of({own})
            agent_processes.signal_to(process.pid, signal.SIGSTOP)
            agent_processes.until(
                lambda: set(agent_processes.thread_states(process.pid)) == {"T"}, 5.0, "not stopped"
            )
        finally:
            process.kill()


def test_a_route_is_packed_as_the_kernel_wants_it() -> None:
    packed = agent_program._reject_route("198.18.0.3")
    assert len(packed) == 120  # sizeof(struct rtentry) on 64 bits
    assert packed[8:16] == struct.pack("=HH4s", 2, 0, bytes([198, 18, 0, 3]))


def test_loop_devices_of_nobody_are_none() -> None:
    assert agent_program.loops("no-such-run-") == {}


def test_a_process_that_has_ended_sends_no_probe() -> None:
    """Another fault may end it between the plan of a probe and the probe."""
    answer = ask("knock", pid=1 << 22, host="127.0.0.1", port=1, data="00", wait_s=0.1)
    assert answer == {"id": 3, "result": [-1]}


def process(proc: Path, number: int, space: str, mounts: str, *, cwd: str = "/") -> None:
    """As Linux shows one."""
    place = proc / str(number)
    (place / "ns").mkdir(parents=True)
    (place / "fd").mkdir()
    (place / "mountinfo").write_text(mounts)
    (place / "comm").write_text(f"name-{number}\n")
    (place / "ns" / "mnt").symlink_to(space)
    (place / "cwd").symlink_to(cwd)
    (place / "root").symlink_to("/")


def test_it_names_who_holds_a_disk(tmp_path: Path) -> None:
    root = "22 1 8:1 / / rw - ext4 /dev/sda rw\n"
    held = f"{root}99 22 7:3 / /mnt/x rw - ext4 /dev/loop3 rw\n"
    assert agent_processes.holders("7:3", tmp_path) == ""
    process(tmp_path, 9, "mnt:[1]", root)
    process(tmp_path, 10, "mnt:[2]", held)
    process(tmp_path, 11, "mnt:[2]", held, cwd="/mnt/xy")
    (tmp_path / "12").mkdir()  # it ends meanwhile
    found = agent_processes.holders("7:3", tmp_path)
    assert found == "process 10 (name-10), which has it mounted at /mnt/x"
    for number in range(20, 25):
        process(tmp_path, number, "mnt:[2]", held, cwd="/mnt/x/deep")
    found = agent_processes.holders("7:3", tmp_path)
    assert found.startswith("process 20 (name-20), which uses /mnt/x/deep, process 21")
    assert found.endswith(" and 2 more")
