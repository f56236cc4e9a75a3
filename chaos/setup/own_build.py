"""Builds of Apache Kafka that are the user's: a directory with the jars of a fork, or an image with
Kafka's layout. Either gets an image of ours around it, which the nodes run."""

import re
from dataclasses import replace
from pathlib import Path

import docker
from docker.errors import APIError

from chaos.releases import IMAGE, setup_command
from chaos.setup import images
from chaos.setup.shell import OLDEST_JAVA, Found, Need, SetupError, Tell

_NEEDED = ("kafka_2.*.jar", "kafka-clients-*.jar")
LAYOUT = "a Java on its path, and Kafka's jars in /opt/kafka/libs"
# What is looked at in an image, each on a line of its own.
_LOOK = 'java -version 2>&1 | head -n 1; ls /opt/kafka/libs 2>&1 | grep -E "^kafka(_2|-clients)"'
_JAVA = re.compile(r'version "(\d+)')


def why_no_jars(directory: Path) -> str:
    """Why a directory does not have the jars of a build; "" if it has them."""
    if not directory.is_dir():
        return f"there is no directory {directory}"
    lacking = [each for each in _NEEDED if not any(directory.glob(each))]
    if lacking:
        return f"{directory} has no {' and no '.join(lacking)}: take the libs/ of a distribution"
    return ""


def name(client: docker.DockerClient, build: str) -> str:
    """The name of the image of ours around a build. Raises SetupError."""
    return _recipe(client, build).name


def ensure(client: docker.DockerClient, build: str, progress: Tell) -> None:
    """Have that image. Raises SetupError."""
    recipe = _recipe(client, build)
    if images.image_id(client, recipe.name) is None:
        progress(f"building {recipe.name} of {build}")
        images.build(client, recipe)


def _recipe(client: docker.DockerClient, build: str) -> images.Recipe:
    """Its digest is that of the jars, or of the image: a build that changed has another name."""
    if build.startswith(f"{IMAGE}:"):
        return images.around_image_recipe(_image(client, build))
    directory = Path(build)
    if why := why_no_jars(directory):
        raise SetupError(
            f"kafka:{build} cannot run", why=why, mend="name the directory of the jars"
        )
    recipe = images.around_jars_recipe(images.base_id(client))
    jars = {f"libs/{jar.name}": jar.read_bytes() for jar in sorted(directory.glob("*.jar"))}
    return replace(recipe, files={**recipe.files, **jars})


def _image(client: docker.DockerClient, build: str) -> str:
    name = build.removeprefix(f"{IMAGE}:")
    found = images.image_id(client, name)
    if found is None:
        raise SetupError(f"there is no image {name}", why="it was not pulled", mend=_pull(name))
    return found


def _pull(name: str) -> str:
    return f"docker pull {name}"


def examine(client: docker.DockerClient, build: str) -> list[Need]:
    """What the build must have, and whether our image around it is there."""
    word = build if build.startswith(IMAGE) else f"kafka:{build}"
    need = Need(name="own build", found=Found.FOUND, seen=word, without="--target kafka")
    if build.startswith(IMAGE):
        image = build.removeprefix(f"{IMAGE}:")
        if not images.image_id(client, image):
            return [replace(need, found=Found.MISSING, seen=f"no image {image}", mend=_pull(image))]
        seen, why = _looked_into(client, _image(client, build))
    else:
        why = why_no_jars(Path(build))
        seen = word
    if why:
        mend = f"an image with {LAYOUT}" if build.startswith(IMAGE) else "the directory of the jars"
        return [replace(need, found=Found.BROKEN, seen=why, mend=mend)]
    ours = name(client, build)
    made = Found.FOUND if images.image_id(client, ours) else Found.MISSING
    around = replace(need, name="image around it", found=made, seen=ours, mend=setup_command(build))
    return [replace(need, seen=seen), around]


def _looked_into(client: docker.DockerClient, image: str) -> tuple[str, str]:
    """What an image has, and why that is not Kafka's layout."""
    container = client.containers.create(
        image, ["-c", _LOOK], entrypoint="sh", user="0:0", network_mode="none"
    )
    try:
        container.start()
        container.wait()
        told = container.logs().decode(errors="replace")
    except APIError as error:
        return "", f"it does not start: {error.explanation}"
    finally:
        container.remove(force=True)
    java = _JAVA.search(told)
    jars = [line for line in told.splitlines() if line.endswith(".jar")]
    if java is None or int(java[1]) < OLDEST_JAVA:
        return "", f"it has no Java of {OLDEST_JAVA} or later on its path"
    if len({jar.partition("-")[0] for jar in jars}) < len(_NEEDED):
        return "", f"/opt/kafka/libs in it has no {' and no '.join(_NEEDED)}"
    return f"Java {java[1]}, {', '.join(jars)}", ""
