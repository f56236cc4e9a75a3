"""How moments are reached at which the voters of a quorum change: on either target alike."""

from chaos.audit.moment import Stage
from chaos.audit.registers import set_registers
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
    """The last one that follows, and the id of its directory; not one that stood for election
    itself and lost, which is chance, and the story removed-candidate."""
    leader = await stage.client.quorum.leader()
    files = await stage.files()
    voted = {
        read_meta_properties(path.parents[1] / "meta.properties").node_id: read_quorum_state(path)
        for path in files
        if path.name == "quorum-state"
    }
    node = NodeId(max(n for n, told in voted.items() if n != leader.node and told.voted != n))
    (meta,) = (path for path in files if path.match(f"node-{node}/*/meta.properties"))
    directory_id = read_meta_properties(meta).directory_id
    await stage.client.quorum.remove_voter(node, directory_id)
    return node, directory_id
