"""Whom the audit removes from the voters: by what stands on the disks, so that it is no chance."""

import json
from pathlib import Path

import pytest

from chaos.cluster.interface import NodeId
from chaos.labs.audit.all_moments import follower_that_voted


@pytest.mark.parametrize(
    ("voted", "leader", "removed"),
    [
        ({4: 4, 5: 4, 6: 6}, 4, 5),  # 6 stood itself
        ({4: 4, 5: 4, 6: -1}, 4, 6),  # who voted for nobody did not
        ({4: 6, 5: 6, 6: 6}, 6, 5),  # 6 leads
    ],
)
def test_a_follower_is_removed_that_did_not_stand_itself(
    tmp_path: Path, voted: dict[int, int], leader: int, removed: int
) -> None:
    for node, whom in voted.items():
        directory = tmp_path / f"node-{node}" / "kraft"
        log = directory / "__cluster_metadata-0"
        log.mkdir(parents=True)
        state = {"leaderId": leader, "leaderEpoch": 1, "votedId": whom, "data_version": 1}
        (log / "quorum-state").write_text(json.dumps(state))
        named = f"version=1\nnode.id={node}\ndirectory.id=of-{node}\n"
        (directory / "meta.properties").write_text(named)
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert follower_that_voted(files, NodeId(leader)) == (removed, f"of-{removed}")
