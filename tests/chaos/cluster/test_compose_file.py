"""The files in compose/ are what the topology makes of them."""

import json

from chaos.cluster.compose_file import (
    CLUSTER_ID,
    compose_text,
    compose_topology,
    toxiproxy_text,
)
from chaos.setup.shell import repository

WRITE_THEM = "python -m chaos.cluster.compose_file writes them anew"


def test_the_files_are_up_to_date() -> None:
    directory = repository() / "compose"
    assert (directory / "docker-compose.yml").read_text() == compose_text(), WRITE_THEM
    assert (directory / "toxiproxy.json").read_text() == toxiproxy_text(), WRITE_THEM


def test_every_link_and_entrance_is_configured() -> None:
    names = [entry["name"] for entry in json.loads(toxiproxy_text())]
    assert names == [entry.name for entry in compose_topology().proxies()]
    assert len(names) == 6 + 3


def test_its_id_has_kafkas_form() -> None:
    assert len(CLUSTER_ID) == 22


def test_no_disk_is_told_who_votes() -> None:
    """KIP-856: every node's configuration is."""
    text = compose_text()
    assert "initial-controllers" not in text
    assert text.count("controller.quorum.voters=1@node-1:9101,2@node-2:9102,3@node-3:9103") == 3
