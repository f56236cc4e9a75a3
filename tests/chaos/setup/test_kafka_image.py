"""What Apache Kafka's image is made of, and who has to have it."""

import pytest

from chaos.cli import main
from chaos.commands import examination
from chaos.setup import images
from chaos.setup.shell import Found, Need

BASE = "sha256:0123456789abcdef"


def test_a_release_has_an_image_of_its_own() -> None:
    one, other = (images.kafka_recipe(BASE, release) for release in ("4.3.1", "4.1.0"))
    assert one.name.startswith("kraft-chaos/kafka-4.3.1:")
    assert one.digest != other.digest
    assert one.files["entry"] == images.node_recipe(BASE, images.TRUSTED).files["entry"]


def test_jars_are_fetched_by_the_same_words_on_the_machine_and_in_a_container() -> None:
    fetched = images.kafka_jars_recipe(BASE, "4.3.1").files
    image = images.kafka_recipe(BASE, "4.3.1").files
    assert fetched["version"] == b"4.3.1"
    for name in ("pom.xml", "fetch", "version"):
        assert fetched[name] == image[name]
    assert [name for name in fetched if name.startswith("certificates/")]


def test_who_does_not_ask_for_kafka_needs_no_image_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = Need(name="Docker engine", found=Found.FOUND, seen="version 1")
    lacking = Need(
        name="kafka image",
        found=Found.MISSING,
        seen="kraft-chaos/kafka-4.3.1:1",
        mend="kraft-chaos setup --target kafka",
        optional=True,
    )
    monkeypatch.setattr(examination, "examine", lambda _: [there, lacking])
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "missing  kafka image      kraft-chaos/kafka-4.3.1:1 (optional)" in said
    assert "try: kraft-chaos setup --target kafka" in said
