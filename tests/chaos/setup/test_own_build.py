"""A build of the user's: what is read of the command line, and what is refused before it runs."""

from pathlib import Path

import pytest

from chaos.cli import main, parser
from chaos.commands.run_command import choices_of
from chaos.run.plan_files import plan_as_json, plan_from
from chaos.run.planning import plan_of
from chaos.setup import images

JARS = ("kafka_2.13-4.5.0-mine.jar", "kafka-clients-4.5.0-mine.jar")


@pytest.fixture
def libs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "libs").mkdir()
    for name in JARS:
        (tmp_path / "libs" / name).write_bytes(name.encode())
    monkeypatch.chdir(tmp_path)
    return tmp_path / "libs"


def test_all_of_it_is_in_the_plan_of_a_run(libs: Path) -> None:
    Path("mine.properties").write_text("# mine\nnum.io.threads=3\nlog.retention.ms : 60000\n\n")
    words = ["run", "power-off-brokers", "--seed", "1", "--target", "kafka:libs"]
    words += ["--jvm-opts=-Xmx1g", "--server-properties", "mine.properties"]
    words += ["--set", "num.io.threads=4"]
    plan = plan_of(choices_of(parser().parse_args(words)))
    assert plan.target == f"kafka:{libs}"
    mine = {"jvm_opts": "-Xmx1g", "num.io.threads": "4", "log.retention.ms": "60000"}
    assert plan.settings.items() >= mine.items()
    assert plan_from(plan_as_json(plan)).settings == plan.settings


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--target", "kafka:there/is/none"], "there is no directory"),
        (["--target", "kafka:./"], "has no kafka_2.*.jar and no kafka-clients-*.jar"),
        (["--target", "node", "--jvm-opts=-Xmx1g"], "jvm_opts=-Xmx1g: our own node has"),
        (["--server-properties", "none"], "none: No such file"),
        (["--server-properties", "theirs"], "node.id (the harness sets it)"),
        (["--server-properties", "theirs"], "min.insync.replicas (use --set min_isr=N)"),
        (["--server-properties", "odd"], "odd, line 2: 'no equals sign' is not name=value"),
    ],
)
@pytest.mark.usefixtures("libs")
def test_what_cannot_be_is_refused_by_name_before_anything_starts(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("theirs").write_text("node.id=3\nmin.insync.replicas=2\n")
    Path("odd").write_text("# a comment\nno equals sign\n")
    try:
        code = main(["run", "power-off-brokers", "--runtime", "docker", *words])
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    assert code == 254
    assert told in capsys.readouterr().err
    assert not Path("runs").exists()


def test_an_image_of_ours_is_around_either() -> None:
    of_release = images.kafka_recipe("sha256:1", "4.3.1").files
    for recipe in (images.around_jars_recipe("sha256:1"), images.around_image_recipe("sha256:2")):
        assert recipe.files["entry"] == of_release["entry"]
        assert recipe.files["archive"] == of_release["archive"]
