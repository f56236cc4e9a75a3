"""Whom a controller voted for is read from its disk, as Kafka and our node write it."""

import io
import tarfile
from typing import TYPE_CHECKING, cast

import pytest
from docker.errors import NotFound

from chaos.cluster.docker.readiness import vote_of

if TYPE_CHECKING:
    from docker.models.containers import Container


class Disk:
    """A container with this file, or without it."""

    def __init__(self, state: str | None) -> None:
        self._state = state

    def get_archive(self, path: str) -> tuple[list[bytes], dict[str, str]]:
        assert path.endswith("/__cluster_metadata-0/quorum-state")
        if self._state is None:
            raise NotFound("no such file")
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            member = tarfile.TarInfo("quorum-state")
            member.size = len(self._state)
            tar.addfile(member, io.BytesIO(self._state.encode()))
        return [packed.getvalue()], {}


@pytest.mark.parametrize(
    ("state", "vote"),
    [
        ('{"leaderId":4,"leaderEpoch":1,"votedId":6,"data_version":1}', 6),
        ('{"leaderId":4,"leaderEpoch":1,"votedId":0,"data_version":1}', 0),
        ('{"leaderId":4,"leaderEpoch":1,"votedId":-1,"data_version":1}', None),
        (None, None),
    ],
)
def test_a_vote_is_of_somebody_or_of_nobody(state: str | None, vote: int | None) -> None:
    assert vote_of(cast("Container", Disk(state))) == vote
