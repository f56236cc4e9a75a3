"""How moments are reached at which the voters of a quorum change: on either target alike."""

from collections.abc import Sequence
from pathlib import Path

from chaos.audit.moment import Stage
from chaos.audit.registers_set import set_registers
from chaos.cluster.interface import NodeId
from checkers.disk.files import read_meta_properties, read_quorum_state


async def voter_changed(stage: Stage) -> None:
    """A controller votes no more."""
    await set_registers(stage, first=1)
    voters = await stage.client.quorum.voters().ask()
    node, _ = await _remove_voter(stage)
    left = ", ".join(voter for voter in voters.split(", ") if voter != str(node))
    stage.acknowledged(stage.client.quorum.voters(), left, promised=True)


async def voter_added(stage: Stage) -> None:
    """It votes again, with the disk that it had."""
    await set_registers(stage, first=1)
    voters = await stage.client.quorum.voters().ask()
    node, directory_id = await _remove_voter(stage)
    await stage.client.quorum.add_voter(node, directory_id)
    stage.acknowledged(stage.client.quorum.voters(), voters, promised=True)


async def _remove_voter(stage: Stage) -> tuple[NodeId, str]:
    """A follower, and the id of its directory."""
    leader = await stage.client.quorum.leader()
    node, directory_id = follower_that_voted(await stage.files(), NodeId(leader.node))
    await stage.client.quorum.remove_voter(node, directory_id)
    return node, directory_id


def follower_that_voted(files: Sequence[Path], leader: NodeId) -> tuple[NodeId, str]:
    """The last one, and the id of its directory, by the files of all disks; none that stood for
    election and lost. Whether there is one is chance, and its removal the story removed-candidate.
    """
    found = {}
    for path in files:
        if path.name == "quorum-state":
            own = read_meta_properties(path.parents[1] / "meta.properties")
            if own.node_id not in (leader, read_quorum_state(path).voted):
                found[NodeId(own.node_id)] = own.directory_id
    return max(found.items())
