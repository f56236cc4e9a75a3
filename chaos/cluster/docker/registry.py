"""Which runs live; removes what dead runs left, and saves the logs and disks of nodes.

A run is alive while its process holds the lock on the run's file; the kernel drops the lock with
the process, however it ends. Only the dead are reaped, and only this user's: by label, and loop
devices by the name of their backing file, for numbers are reused at once.
"""

import fcntl
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar

import docker
import requests
from docker.errors import APIError, NotFound
from docker.models.containers import Container
from tenacity import (
    RetryError,
    Retrying,
    retry_any,
    retry_if_exception_type,
    retry_if_not_result,
    stop_after_attempt,
)

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker import labels as label
from chaos.cluster.docker.agent import Agent
from chaos.cluster.docker.labels import ContainerRole, Owner, RunLabels
from chaos.cluster.interface import Keeper, Reaped, StandingCluster
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY, SECOND_LOG_DIRECTORY
from chaos.container_files import copy_out
from chaos.setup.shell import cache_dir, runtime_dir

# Saves what a node leaves: the output of all its processes, and its log directory.
#
# The engine keeps a container's output, whether it runs or not.


def save_nodes(nodes: Sequence[Container], agent: Agent | None, into: Path) -> None:
    """Running nodes are stopped meanwhile, so that their files are of one moment."""
    pids = [int(node.attrs["State"]["Pid"]) for node in nodes if node.attrs["State"]["Running"]]
    if agent is not None and pids:
        agent.call("quiesce", pids=pids)
    try:
        with ThreadPoolExecutor(max_workers=len(nodes)) as pool:
            list(pool.map(lambda node: save_node(node, into), nodes))
    finally:
        if agent is not None:
            agent.each("resume", [{"pid": pid} for pid in pids])


def save_node(container: Container, into: Path) -> None:
    """Write `logs/node-N.log` (stdout), `logs/node-N.err` and `disks/node-N/`."""
    name = f"node-{container.labels[label.NODE]}"
    logs = into / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    _save_output(container, logs / f"{name}.log", stdout=True)
    _save_output(container, logs / f"{name}.err", stdout=False)
    save_disk(container, into / "disks" / name)


def _save_output(container: Container, path: Path, *, stdout: bool) -> None:
    pieces = container.logs(stdout=stdout, stderr=not stdout, stream=True, follow=False)
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)


def save_disk(container: Container, into: Path) -> None:
    """Both log directories, the first without its name: most nodes have only that one."""
    into.mkdir(parents=True, exist_ok=True)
    places = {LOG_DIRECTORY: into, SECOND_LOG_DIRECTORY: into / SECOND_LOG_DIRECTORY}
    for name, place in places.items():
        with suppress(NotFound):  # nothing was ever formatted there
            copy_out(container, f"{DATA}/{name}", place)


T = TypeVar("T")
REMOVAL_TRIES = 4

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class RunLock:
    """Held by the process that a run lives in."""

    def __init__(self, run_id: str) -> None:
        if not RUN_ID.fullmatch(run_id):
            raise ClusterError(f"{run_id!r} cannot be a run id: letters, digits, '_', '.', '-'")
        self.path = runtime_dir() / f"{run_id}.lock"
        self._file: IO[str] | None = None

    def acquire(self) -> bool:
        """False when another process holds it."""
        while True:
            file = self.path.open("a")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                return False
            # The process that held it before may have removed the file that we have just locked.
            if self.path.exists() and self.path.samefile(f"/proc/self/fd/{file.fileno()}"):
                self._file = file
                return True
            file.close()

    def release(self) -> None:
        """Idempotent."""
        if self._file is not None:
            self.path.unlink(missing_ok=True)
            self._file.close()
            self._file = None


def reap(client: docker.DockerClient, agent_image: str, held: str = "") -> list[Reaped]:
    """Remove what this user's dead runs have left, after saving their nodes' logs and disks.

    The result names what cannot be removed: it must not disturb the run that begins. `held` is the
    run of the caller's lock: an earlier run with that name is dead.
    """
    reaped = []
    for run_id, (owner, directory) in sorted(_runs(client).items()):
        if owner is not Owner.RUN:
            continue
        lock = RunLock(run_id)
        if run_id != held and not lock.acquire():
            continue
        saved = Path(directory) if directory and Path(directory).is_dir() else _attic(run_id)
        try:
            nodes = _containers(client, run_id, ContainerRole.NODE)
            _all(_end, nodes)
            for node in nodes:
                save_node(node, saved)
            demolish(client, run_id, agent_image)
            reaped.append(Reaped(run_id=run_id, saved=saved))
        except (APIError, ClusterError) as error:
            reaped.append(Reaped(run_id=run_id, saved=saved, trouble=str(error)))
        finally:
            lock.release()
    return reaped


def left_of(client: docker.DockerClient, run_id: str) -> bool:
    """Whether anything of a run is on the engine, dead or alive."""
    return any(True for _ in _labels_of_all(client, {"label": f"{label.RUN}={run_id}"}))


def demolish(client: docker.DockerClient, run_id: str, agent_image: str) -> None:
    """Remove every trace of a run. Idempotent; ClusterError if something stays."""

    def remove() -> bool:
        if left_of(client, run_id):
            _remove_all(client, run_id, agent_image)
        return not left_of(client, run_id)

    # Parts that were in use may be free at the next try.
    trying = Retrying(
        retry=retry_any(
            retry_if_exception_type((APIError, ClusterError)), retry_if_not_result(bool)
        ),
        stop=stop_after_attempt(REMOVAL_TRIES),
    )
    try:
        trying(remove)
    except requests.RequestException as error:  # there is no engine to ask again
        raise ClusterError(
            f"what the run {run_id} has on the Docker engine could not be removed, which does not "
            f"answer ({type(error).__name__})\n  try, once it does: kraft-chaos down {run_id}"
        ) from error
    except RetryError as error:
        trouble = error.last_attempt.exception()
        told = _users_of_volumes(client, run_id) or (str(trouble) if trouble else "")
        step = "end what holds it, and then" if "in use" in told else "try:"
        raise ClusterError(
            f"something of the run {run_id} could not be removed{f': {told}' if told else ''}"
            f"\n  {step} kraft-chaos down {run_id}"
        ) from error


def _users_of_volumes(client: docker.DockerClient, run_id: str) -> str:
    """The containers of others that have a volume of the run, in words; "" if there are none."""
    found = []
    for volume in client.volumes.list(filters={"label": f"{label.RUN}={run_id}"}):
        for user in client.containers.list(all=True, filters={"volume": volume.name}):
            if user.labels.get(label.RUN) != run_id:
                pid = user.attrs["State"]["Pid"]
                found.append(
                    f"volume {volume.name} is in use by container {user.name}"
                    + (f" (process {pid})" if pid else "")
                )
    return ", ".join(found)


def _remove_all(client: docker.DockerClient, run_id: str, agent_image: str) -> None:
    """Nodes first, so that their disks can be detached."""
    containers = _containers(client, run_id)
    agents = [c for c in containers if c.labels.get(label.ROLE) == ContainerRole.AGENT]
    _all(_remove_container, [c for c in containers if c not in agents])
    _detach_disks(client, run_id, agents, agent_image)
    _all(_remove_container, _containers(client, run_id))
    chosen = {"label": f"{label.RUN}={run_id}"}
    removals: list[Callable[[], None]] = [
        *(network.remove for network in client.networks.list(filters=chosen)),
        *(volume.remove for volume in client.volumes.list(filters=chosen)),
    ]
    _all(_unless_gone, removals)


def _detach_disks(
    client: docker.DockerClient, run_id: str, agents: list[Container], agent_image: str
) -> None:
    """Through the agent of the run; if it died with disks attached, through a new one."""
    running = [agent for agent in agents if agent.status == "running"]
    if running:
        agent = Agent(running[0])
    elif _had_disks(client, run_id):
        _all(_remove_container, agents)
        agent = Agent.start(client, agent_image, RunLabels(run_id=run_id, owner=Owner.RUN))
    else:
        return
    try:
        agent.call("detach", prefix=label.prefix(run_id))
    finally:
        agent.close()


def _had_disks(client: docker.DockerClient, run_id: str) -> bool:
    return bool(client.volumes.list(filters={"name": label.prefix(run_id)}))


def _runs(client: docker.DockerClient) -> dict[str, tuple[Owner, str]]:
    """This user's runs that have left anything, with their owner and directory."""
    chosen = {"label": f"{label.USER}={label.user()}"}
    found: dict[str, tuple[Owner, str]] = {}
    for attributes in _labels_of_all(client, chosen):
        run_id = attributes.get(label.RUN)
        if run_id:
            owner = Owner(attributes.get(label.OWNER, Owner.RUN))
            found[run_id] = (owner, attributes.get(label.DIRECTORY, ""))
    return found


def _labels_of_all(client: docker.DockerClient, chosen: dict[str, str]) -> Iterable[dict[str, str]]:
    for row in client.api.containers(all=True, filters=chosen):
        yield row["Labels"]
    for row in client.api.networks(filters=chosen):
        yield row["Labels"]
    for row in client.api.volumes(filters=chosen)["Volumes"] or []:
        yield row["Labels"]


def standing(client: docker.DockerClient) -> list[StandingCluster]:
    """All that this user's runs have on the engine."""
    return [
        StandingCluster(name=run_id, keeper=_keeper(run_id, owner), directory=directory)
        for run_id, (owner, directory) in sorted(_runs(client).items())
    ]


def _keeper(run_id: str, owner: Owner) -> Keeper:
    if owner is Owner.KEPT:
        return Keeper.USER
    lock = RunLock(run_id)
    if not lock.acquire():
        return Keeper.RUN
    lock.release()
    return Keeper.DEAD


def kept(client: docker.DockerClient) -> list[str]:
    """Clusters that are kept up, by run id."""
    return sorted(run_id for run_id, (owner, _) in _runs(client).items() if owner is Owner.KEPT)


def _containers(
    client: docker.DockerClient, run_id: str, role: ContainerRole | None = None
) -> list[Container]:
    wanted = [f"{label.RUN}={run_id}"] + ([f"{label.ROLE}={role}"] if role else [])
    found = client.containers.list(all=True, filters={"label": wanted}, ignore_removed=True)
    return sorted(found, key=lambda container: container.name or "")


def _end(node: Container) -> None:
    """End all nodes before any of them is saved: a node that worked on would have records of what
    another node's copy, saved earlier, does not have yet, and a judge would accuse it."""
    try:
        node.kill()
    except APIError as error:
        if error.status_code != 409:  # it had ended by itself
            raise
    node.wait()  # its output is complete then


def _remove_container(container: Container) -> None:
    _unless_gone(lambda: container.remove(force=True, v=True))


def _unless_gone(remove: Callable[[], None]) -> None:
    try:
        remove()
    except NotFound:
        return
    except APIError as error:
        if error.status_code != 409 or "already in progress" not in str(error):
            raise


def _all(act: Callable[[T], None], items: Sequence[T]) -> None:
    if items:
        with ThreadPoolExecutor(max_workers=8) as pool:
            list(pool.map(act, items))


def _attic(run_id: str) -> Path:
    place = cache_dir() / "reaped" / run_id
    place.mkdir(parents=True, exist_ok=True)
    return place
