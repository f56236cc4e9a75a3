"""The Docker engine: found, or installed and started (as root)."""

import os
import socket
import subprocess
import time
from pathlib import Path

import docker
import requests
from docker.errors import DockerException

from chaos.setup.shell import SetupError, Tell, found_program, run

STATE = Path("/var/lib/kraft-chaos/engine")
RUNTIME = Path("/run/kraft-chaos/engine")
PID_FILE = Path("/run/kraft-chaos/dockerd.pid")
LOG = Path("/var/log/kraft-chaos-dockerd.log")
SOCKET = Path("/var/run/docker.sock")
DEFAULT_BRIDGE = "198.18.255.1/24"  # the engine's own choice would lie in 172.17/16
READY_WITHIN_S = 40.0
KNOCK_S = 10.0
NAMED_BY_USER = "start the engine that DOCKER_HOST names, or unset DOCKER_HOST"
IN_GROUP = "sudo usermod -aG docker $USER and log in again"
BY_HAND = "install a Docker engine by hand, then: kraft-chaos setup"
WITHOUT = "run --runtime sim; checking and reporting runs that are already there (check, report)"


def connect(timeout_s: int = 60) -> docker.DockerClient:
    """The engine's client, DOCKER_HOST respected; DockerException when none answers."""
    _knock(os.environ.get("DOCKER_HOST") or f"unix://{SOCKET}")
    client = docker.from_env(timeout=timeout_s)
    try:
        client.ping()
    except (requests.RequestException, DockerException) as error:
        client.close()
        raise DockerException(str(error)) from error
    return client


def _knock(host: str) -> None:
    """Probe first: the library leaves a socket open that it could not connect, and is verbose."""
    scheme, _, where = host.partition("://")
    address, _, port = where.partition(":")
    try:
        if scheme == "unix":
            with socket.socket(socket.AF_UNIX) as knock:
                knock.connect(where)
        elif scheme == "tcp" and port.isdigit():
            socket.create_connection((address, int(port)), timeout=KNOCK_S).close()
    except OSError as error:
        raise DockerException(f"{host}: {error.strerror or error}") from error


def require() -> docker.DockerClient:
    """The engine's client; SetupError when none answers."""
    try:
        return connect()
    except DockerException as error:
        what, mend = "no Docker engine answers", "kraft-chaos setup"
        if refuses_this_user():
            what, mend = "the Docker engine refuses this user", IN_GROUP
        raise SetupError(what, why=str(error), mend=mend, without=WITHOUT) from error


def refuses_this_user() -> bool:
    """Whether an engine's socket is there, and not for this user: no set-up changes that."""
    ours = not os.environ.get("DOCKER_HOST") and os.geteuid() != 0
    return ours and SOCKET.exists() and not os.access(SOCKET, os.W_OK)


def why_unreachable() -> str | None:
    """None when the engine answers."""
    try:
        connect(timeout_s=5).close()
    except DockerException as error:
        return str(error)
    return None


def why_not_to_be_had() -> str:
    """Why no engine answers and `ensure` could not start one; "" otherwise."""
    why = why_unreachable()
    if why is None:
        return ""
    try:
        _refuse_where_not_ours(why)
        if found_program("dockerd") is None:
            _require_apt()
    except SetupError as error:
        return error.what
    return ""


def ensure(progress: Tell) -> None:
    """Make an engine answer; SetupError says why none can."""
    why = why_unreachable()
    if why is None:
        return
    _refuse_where_not_ours(why)
    if found_program("dockerd") is None:
        progress("installing the Docker engine (docker.io)")
        _install()
        if why_unreachable() is None:
            return
    progress("starting the Docker engine")
    if Path("/run/systemd/system").is_dir():
        mend = "journalctl -u docker"
        run(["systemctl", "start", "docker"], what="docker did not start", mend=mend)
        _wait(None)
    else:
        _wait(_spawn(found_program("dockerd") or "dockerd"))


def _refuse_where_not_ours(why: str) -> None:
    """We do not start the engine that DOCKER_HOST names, nor root's."""
    host = os.environ.get("DOCKER_HOST")
    if host:
        raise SetupError(
            f"no Docker engine answers at DOCKER_HOST={host}",
            why=why,
            mend=NAMED_BY_USER,
            without=WITHOUT,
        )
    if os.geteuid() == 0:
        return
    if refuses_this_user():
        raise SetupError(
            "the Docker engine refuses this user", why=why, mend=IN_GROUP, without=WITHOUT
        )
    raise SetupError(
        "no Docker engine answers, and only root may install or start one",
        why=why,
        mend="sudo systemctl start docker, or once as root: kraft-chaos setup",
        without=WITHOUT,
    )


def _install() -> None:
    _require_apt()
    apt_install("docker.io", "iptables", mend=BY_HAND, without=WITHOUT)


def _require_apt() -> None:
    if found_program("apt-get") is None:
        raise SetupError(
            "no Docker engine, and no apt-get to install one with",
            why="only Debian's and Ubuntu's docker.io package is installed automatically",
            mend=BY_HAND,
            without=WITHOUT,
        )


def apt_install(*packages: str, mend: str, without: str = "") -> None:
    """Install Debian packages; the lists are fetched first, a fresh machine has none."""
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    what = f"could not install {', '.join(packages)}"
    run(["apt-get", "update", "-q"], what=what, mend=mend, without=without, env=env)
    command = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *packages]
    run(command, what=what, mend=mend, without=without, env=env)


def _spawn(dockerd: str) -> "subprocess.Popen[bytes] | None":
    """Start a daemon that outlives us: own session, own files, output in a log of its own.

    None where one of ours is on its way up already.
    """
    for directory in (STATE, RUNTIME, LOG.parent):
        directory.mkdir(parents=True, exist_ok=True)
    if not remove_stale(PID_FILE, "dockerd"):
        return None
    # It would take the process that has that number now for its containerd, and kill it in the end.
    remove_stale(RUNTIME / "containerd" / "containerd.pid", "containerd")
    command = [dockerd, "--data-root", str(STATE), "--exec-root", str(RUNTIME)]
    command += ["-p", str(PID_FILE), "--bip", DEFAULT_BRIDGE]
    with LOG.open("ab") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )


def remove_stale(pid_file: Path, program: str) -> bool:
    """A killed daemon leaves its pid file, and the next one refuses to start over it.

    False when the daemon lives, and the file stays. The dead one may not have been waited for yet:
    it still has a name then, but no command line.
    """
    try:
        command = Path(f"/proc/{int(pid_file.read_text())}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError, ValueError):
        command = ""
    if Path(command.partition("\0")[0]).name == program:
        return False
    pid_file.unlink(missing_ok=True)
    return True


def _wait(process: "subprocess.Popen[bytes] | None") -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    why = why_unreachable()
    while why is not None:
        ended = process is not None and process.poll() is not None
        if ended or time.monotonic() > deadline:
            lines = LOG.read_text(errors="replace").splitlines() if LOG.exists() else []
            tail = "\n    ".join(lines[-5:])
            raise SetupError(
                "the Docker engine was started, and does not answer",
                why=f"{why}\n    {tail}",
                mend=f"look at {LOG}",
                without=WITHOUT,
            )
        time.sleep(0.1)  # between two requests to the engine
        why = why_unreachable()
    if process is not None:
        process.returncode = 0  # it outlives us: it is not waited for, and no warning is due
