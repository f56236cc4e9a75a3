"""The files in compose/ are what the topology makes of them."""

import json

from chaos.cluster.compose_file import (
    CLUSTER_ID,
    DIRECTORY_IDS,
    compose_text,
    compose_topology,
    toxiproxy_text,
)
from chaos.setup.places import repository

WRITE_THEM = "python -m chaos.cluster.compose_file writes them anew"


def test_the_files_are_up_to_date() -> None:
    directory = repository() / "compose"
    assert (directory / "docker-compose.yml").read_text() == compose_text(), WRITE_THEM
    assert (directory / "toxiproxy.json").read_text() == toxiproxy_text(), WRITE_THEM


def test_every_link_and_entrance_is_configured() -> None:
    names = [entry["name"] for entry in json.loads(toxiproxy_text())]
    assert names == [entry.name for entry in compose_topology().proxies()]
    assert len(names) == 6 + 3


def test_its_ids_have_kafkas_form() -> None:
    assert {len(text) for text in (CLUSTER_ID, *DIRECTORY_IDS.values())} == {22}
    assert len(set(DIRECTORY_IDS.values())) == 3
