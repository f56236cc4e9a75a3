"""An image of the user's runs as a target: examined, set up, run, and repeated."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.releases import NEWEST
from chaos.run.installation import prepare
from chaos.setup import docker_engine, images, kafka_image, own_build

NAME = "kraft-chaos-test/own-kafka:1"
WORD = f"kafka-image:{NAME}"
PLAIN = "FROM {}\nUSER 0:0\nRUN rm -rf /opt/kafka/archive /opt/kafka/*.* /data /disks\n"


@pytest.fixture
def _image() -> Iterator[None]:
    """As others make them, without anything of ours; removed with what was put around it."""
    prepare(print, NEWEST)
    client = docker_engine.require()
    try:
        kafka = images.image_id(client, kafka_image.name(client, NEWEST))
        files = {"Dockerfile": PLAIN.format(kafka).encode() + b'ENTRYPOINT ["false"]\n'}
        images.build(client, images.Recipe(repository="", base="", files=files), NAME)
        yield
        client.images.remove(own_build.name(client, WORD), force=True)
        client.images.remove(NAME, force=True)
    finally:
        client.close()


@pytest.mark.night
@pytest.mark.timeout(400)
@pytest.mark.usefixtures("_image")
def test_an_image_with_kafkas_layout_is_a_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["doctor", "--target", WORD])
    assert "found    own build        Java " in capsys.readouterr().out
    assert main(["setup", "--target", WORD]) == 0
    words = ["power-off-brokers", "--duration", "10", "--rate", "50", "--out", str(tmp_path)]
    assert main(["run", *words, "--target", WORD, "--jvm-opts=-Xmx320m"]) == 0
    (first,) = tmp_path.glob("*-power-off-brokers-*")
    assert main(["replay", str(first), "--out", str(tmp_path / "again")]) == 0
    (again,) = (tmp_path / "again").glob("*-power-off-brokers-*")
    told = [json.loads((each / "run.json").read_text()) for each in (first, again)]
    assert {each["target"].partition(" (")[0] for each in told} == {f"kafka {WORD}"}
    assert [each["settings"]["jvm_opts"] for each in told] == ["-Xmx320m"] * 2
