"""What an operator is told to try is a command, or ends in one."""

import ast
import re
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from node import server
from node.errors import ErrorCode
from node.ids import Endpoint
from node.server.outcome import Refusal
from node.server.quorum_command import _refused
from node.server.run import _listen_at
from node.wire.raft_voters import VoterChangeResponse

COMMAND = re.compile(r"(^|: )(kraft-node|ulimit -n|fuser|ss|ip) ")


def next_steps() -> Iterator[tuple[str, str]]:
    """Where each is that stands in a refusal as it is, and its text."""
    for path in sorted(Path(server.__file__).parent.glob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.keyword) and call.arg == "next_step":
                text = _text(call.value)
                if text is not None:
                    yield f"{path.name}:{call.value.lineno}", text


def _text(value: ast.expr) -> str | None:
    match value:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) or "?" for part in parts)
        case _:
            return None


STEPS = list(next_steps())


@pytest.mark.parametrize(("where", "text"), STEPS, ids=[where for where, _ in STEPS])
def test_it_has_a_command(where: str, text: str) -> None:
    assert COMMAND.search(text), f"{where}: {text}"


def test_there_are_some() -> None:
    assert len(STEPS) > 8


def test_who_cannot_listen_is_told_what_to_look_at() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Refusal, match=f"find it with: ss -ltnp 'sport = :{port}'"):
            _listen_at(Endpoint(name="A", host="127.0.0.1", port=port))
    with pytest.raises(Refusal, match="list them with: ip address"):
        _listen_at(Endpoint(name="A", host="192.0.2.1", port=port))


@pytest.mark.parametrize(
    ("message", "told"),
    [("why", "REQUEST_TIMED_OUT (7): why"), (None, "REQUEST_TIMED_OUT (7); the leader gave no")],
)
def test_a_leader_that_gives_no_reason_is_told_of_as_one(message: str | None, told: str) -> None:
    answer = VoterChangeResponse(error=ErrorCode.REQUEST_TIMED_OUT, message=message)
    refusal = str(_refused(("127.0.0.1", 9), answer))
    assert told in refusal
    assert "try: kraft-node quorum --bootstrap 127.0.0.1:9 describe --replication" in refusal
