"""`kraft-node format`: an empty disk becomes a node's.

Who votes is said by the file, or by an option, and not by both.
"""

import os
import time
from argparse import Namespace
from pathlib import Path
from uuid import UUID

from node.config import NodeConfig
from node.endpoint import Endpoint
from node.ids import ReplicaKey, uuid_text
from node.records.metadata_versions import ELR_VERSION
from node.server.new_directory import new_directory_id
from node.server.outcome import WRONG_USAGE, Refusal
from node.server.real_disk import RealDisk
from node.storage.bootstrap import FormattedVoters
from node.storage.format import format_log_directory
from node.storage.storage_errors import StorageError

STATIC_QUORUM = "kraft.version=0"
ELIGIBLE_LEADERS = f"{ELR_VERSION}=1"


def format_disk(options: Namespace, config: NodeConfig) -> str:
    """A line that says what was done. Raises Refusal, StorageError or OSError."""
    _check_voters(options, config)
    new = None if options.initial_controllers else new_directory_id()
    directory = Path(config.log_dir)
    make_durably(directory)
    try:
        written = format_log_directory(
            RealDisk(directory),
            cluster_id=options.cluster_id,
            node_id=config.node_id,
            voters=None if config.quorum_voters else _first_voters(options, config, new),
            timestamp_ms=time.time_ns() // 1_000_000,
            directory_id=new,
            ignore_formatted=options.ignore_formatted,
            static=STATIC_QUORUM in options.feature,
            elr=ELIGIBLE_LEADERS in options.feature,
        )
    except StorageError:
        raise
    except ValueError as error:
        raise Refusal(
            what=str(error),
            where=f"--cluster-id and the voters, for node.id={config.node_id}",
            next_step="kraft-node format --help",
            code=WRONG_USAGE,
        ) from error
    done = "formatted" if written else "was formatted already"
    if new is not None and written:
        done += f", directory id {uuid_text(new)}"
    return f"{directory}: {done}"


def _check_voters(options: Namespace, config: NodeConfig) -> None:
    """One of the two says who votes: the file, or an option. Raises Refusal."""
    chosen = options.initial_controllers or options.standalone or options.no_initial_controllers
    if STATIC_QUORUM in options.feature and not config.quorum_voters:
        raise Refusal(
            what=f"the file lists no voters, of which {STATIC_QUORUM} knows the ids",
            where=str(options.config),
            next_step="set controller.quorum.voters, the same in every node's file; then:"
            " kraft-node format -t CLUSTER_ID -c FILE",
            code=WRONG_USAGE,
        )
    if options.standalone and not config.is_controller:
        raise Refusal(
            what="a node that is no controller is no voter: --standalone cannot be given",
            where=str(options.config),
            next_step="add controller to process.roles; or:"
            " kraft-node format -t CLUSTER_ID -c FILE --no-initial-controllers",
            code=WRONG_USAGE,
        )
    if bool(chosen) != bool(config.quorum_voters):
        return
    options_ = "--initial-controllers, --standalone or --no-initial-controllers"
    what = f"nothing says who votes: the file lists no voters, and none of {options_} is given"
    step = "set controller.quorum.voters in every node's file; or kraft-node format --help"
    if chosen:
        what = f"the file lists the voters: none of {options_} can be given as well"
        step = "leave the option out, or take controller.quorum.voters out of every node's file"
    raise Refusal(what=what, where=str(options.config), next_step=step, code=WRONG_USAGE)


def _first_voters(options: Namespace, config: NodeConfig, new: UUID | None) -> FormattedVoters:
    """Of a new quorum; none where there is one already."""
    if new is not None:
        own = (ReplicaKey(config.node_id, new), config.advertised[:1])
        return (own,) if options.standalone else ()
    listener = config.controller_listener
    return tuple(
        (key, (Endpoint(name=listener, host=host, port=port),))
        for key, host, port in options.initial_controllers
    )


def make_durably(directory: Path) -> None:
    """With parents, each of which remembers its child after a power cut."""
    if directory.is_dir():
        return
    make_durably(directory.parent)
    directory.mkdir()
    descriptor = os.open(directory.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
