"""One client tries one feature."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.clients.python.program import NOT_IN_CLIENT

_PATIENCE_S = 240.0  # of a program whose own patience is at an end before
_LARGEST = 16 << 20
_numbers = count(1)


class Outcome(StrEnum):
    WORKS = "works"
    FAILS = "fails"
    NOT_IN_CLIENT = "not in this client"
    NOT_TO_BE_HAD = "not to be had here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """`why`: what the client said last, where it failed."""

    outcome: Outcome
    why: str = ""


def tried(
    command: Sequence[str], more: Mapping[str, str], servers: str, client: str, feature: str
) -> Result:
    """`more`: of its environment."""
    name = f"try-{client}-{feature}-{next(_numbers)}-{time.time_ns() // 1_000_000 % 100_000}"
    _make(servers, name)
    try:
        done = subprocess.run(
            [*command, servers, name, feature],
            env=dict(more),
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Result(outcome=Outcome.FAILS, why=f"it did not end within {_PATIENCE_S:.0f} s")
    if done.returncode == NOT_IN_CLIENT:
        return Result(outcome=Outcome.NOT_IN_CLIENT)
    if done.returncode == 0:
        return Result(outcome=Outcome.WORKS)
    said = done.stderr.strip().splitlines() or [f"it exited with {done.returncode}"]
    return Result(outcome=Outcome.FAILS, why=said[-1][:300])


def _make(servers: str, name: str) -> None:
    """The topic that it is given."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    topic = NewTopic(name, 3, config={"max.message.bytes": str(_LARGEST)})
    for future in admin.create_topics([topic], operation_timeout=60).values():
        future.result(60)
