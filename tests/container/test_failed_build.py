"""An image that cannot be built leaves no container of a step behind."""

import docker
import pytest

from chaos.run.installation import prepare
from chaos.setup import images
from chaos.setup.shell import SetupError

pytestmark = pytest.mark.container

# The argument is what its containers are known by.
DOCKERFILE = b"ARG BASE\nFROM ${BASE}\nRUN false # a step of test_failed_build\n"


def test_the_container_of_the_step_that_failed_is_removed() -> None:
    prepare(print)
    client = docker.from_env()
    base = images.base_id(client)
    recipe = images.Recipe(
        repository="kraft-chaos/none", base=base, files={"Dockerfile": DOCKERFILE}
    )
    with pytest.raises(SetupError, match="could not build kraft-chaos/none"):
        images.build(client, recipe)
    there = client.api.containers(all=True)
    client.close()
    assert not [each for each in there if "test_failed_build" in each["Command"]]
