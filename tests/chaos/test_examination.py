"""What the doctor reads, and how set-up steps fail."""

import os
import sys
from pathlib import Path

import pytest

from chaos.commands.examination import examine, foreign_routes
from chaos.setup import docker_engine
from chaos.setup.images import Recipe
from chaos.setup.shell import SetupError, run

HEAD = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.mark.parametrize(
    ("route", "foreign"),
    [
        ("eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0", []),  # the default route
        ("eth0 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0", []),  # 192.0.2.0/24
        ("tun0 000012C6 00000000 0001 0 0 0 0000FEFF 0 0 0", ["tun0"]),  # 198.18.0.0/15
        ("tun0 000000C6 00000000 0001 0 0 0 000000FF 0 0 0", ["tun0"]),  # 198.0.0.0/8
        ("br-12ab 100012C6 00000000 0001 0 0 0 F0FFFFFF 0 0 0", []),  # a network of a run
        ("docker0 00FF12C6 00000000 0001 0 0 0 00FFFFFF 0 0 0", []),  # the engine's own
    ],
)
def test_routes_of_others_into_our_range_are_seen(route: str, foreign: list[str]) -> None:
    assert foreign_routes(HEAD + route + "\n") == foreign


def test_without_an_engine_the_doctor_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    engine, *others = examine()
    assert not engine.ok
    assert "unset DOCKER_HOST" in engine.mend
    assert "check" in engine.without
    assert {need.name for need in others} >= {"Java", "subnet", "disk space"}


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("unix:///nowhere/docker.sock", "why: unix:///nowhere/docker.sock: No such file"),
        ("tcp://127.0.0.1:1", "why: tcp://127.0.0.1:1: Connection refused\n"),
    ],
)
def test_an_engine_that_the_user_names_is_not_started_for_him(
    host: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(SetupError, match="DOCKER_HOST") as caught:
        docker_engine.ensure(print)
    assert why in str(caught.value)
    with pytest.raises(SetupError, match="kraft-chaos setup"):
        docker_engine.require()


def test_a_failed_step_says_what_why_and_the_next_command(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no space'); raise SystemExit(3)"]
    with pytest.raises(SetupError) as caught:
        run(command, what="could not do it", mend="make room", without="the rest")
    said = str(caught.value)
    assert said.startswith("could not do it\n")
    for part in ("exited 3", "no space", "try: make room", "without it: the rest"):
        assert part in said
    assert "no space" in (tmp_path / "kraft-chaos" / "setup.log").read_text()


def test_a_program_that_is_missing_is_an_error_for_the_operator() -> None:
    with pytest.raises(SetupError, match="no-such-program"):
        run(["no-such-program"], what="could not do it", mend="install it")


def test_the_tag_of_an_image_follows_everything_in_it() -> None:
    recipe = Recipe(repository="x", base="sha256:1", files={"a": b"1", "b": b"2"})
    same = Recipe(repository="x", base="sha256:1", files={"b": b"2", "a": b"1"})
    others = [
        Recipe(repository="x", base="sha256:2", files={"a": b"1", "b": b"2"}),
        Recipe(repository="x", base="sha256:1", files={"a": b"1", "b": b"3"}),
        Recipe(repository="x", base="sha256:1", files={"a": b"1", "c": b"2"}),
        Recipe(repository="x", base="sha256:1", files={"a": b"1b", "": b"2"}),
    ]
    assert recipe.name == same.name
    assert len({recipe.name, *(other.name for other in others)}) == 5


def test_a_user_whom_the_engine_refuses_is_told_of_the_group(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    socket = tmp_path / "docker.sock"
    socket.touch()
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(docker_engine, "SOCKET", socket)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (socket, os.W_OK))
    assert examine()[0].mend == docker_engine.IN_GROUP
    with pytest.raises(SetupError, match="refuses this user") as refused:
        docker_engine.require()
    assert refused.value.mend == docker_engine.IN_GROUP
    monkeypatch.setenv("DOCKER_HOST", f"unix://{socket}")
    assert examine()[0].mend == docker_engine.NAMED_BY_USER
