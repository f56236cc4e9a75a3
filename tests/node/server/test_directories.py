"""Several log directories of a broker, as `format` and `start` meet them."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from node.config import NodeConfig
from node.server.directories import log_directories, metadata_directory, new_directory_id
from node.server.format_command import format_disk
from node.server.outcome import Refusal
from node.server.properties import read_settings
from node.server.real_disk import RealDisk
from node.server.run import serve
from node.storage.disk import AlreadyFormatted, CorruptFile, StorageError
from node.storage.log_directories import LogDirectory
from node.storage.meta import MetaProperties, load_meta

CLUSTER = "4L6g3nShT-eMCtK--X86sw"
META = "meta.properties"


class Home:
    """Of a broker with log directories a and b."""

    def __init__(self, at: Path) -> None:
        self.at = at
        self.extra = ""

    def config(self, *names: str) -> NodeConfig:
        file = self.at / "server.properties"
        file.write_text(
            "process.roles=broker\nnode.id=4\nlisteners=INT://127.0.0.1:9\n"
            "controller.listener.names=CONTROLLER\n"
            "controller.quorum.bootstrap.servers=127.0.0.1:9\n"
            f"log.dirs={','.join(self.path(name) for name in names or 'ab')}\n{self.extra}"
        )
        return read_settings(file).config

    def path(self, name: str) -> str:
        return str(self.at / name)

    def format(self, *names: str, cluster: str = CLUSTER, again: bool = False) -> str:
        options = Namespace(
            cluster_id=cluster,
            config="server.properties",
            initial_controllers=None,
            standalone=False,
            no_initial_controllers=True,
            ignore_formatted=again,
            feature=[],
        )
        return format_disk(options, self.config(*names))

    def meta(self, name: str) -> MetaProperties:
        return load_meta(RealDisk(self.at / name))

    def found(self, *names: str) -> tuple[LogDirectory, ...]:
        """As a start finds them."""
        config = self.config(*names)
        disks = {path: RealDisk(Path(path)) for path in config.directories}
        home = metadata_directory(config, disks)
        assert home == self.path("a"), "it is where format made it"
        return log_directories(
            replace(config, metadata_log_dir=home), self.meta("a"), disks, new_directory_id
        )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.format()
    return made


def test_each_has_an_id_of_its_own_and_the_first_has_the_metadata_log(home: Home) -> None:
    one, two = home.found()
    assert (one.path, two.path) == (home.path("a"), home.path("b"))
    assert (one.id, two.id) == (home.meta("a").directory_id, home.meta("b").directory_id)
    assert one.id != two.id
    assert home.meta("a").cluster_id == home.meta("b").cluster_id == CLUSTER
    assert [path.name for path in (home.at / "b").iterdir()] == [META]
    assert (home.at / "a" / "__cluster_metadata-0").is_dir()


@pytest.mark.parametrize(
    ("within", "related"),
    [
        ("", "are one and the same"),
        ("t-0", "lie one within the other"),
        ("t-0/deep", "lie one within the other"),
    ],
)
def test_none_lies_within_another(tmp_path: Path, within: str, related: str) -> None:
    """Else one would be taken for the log of a replica that is in the other."""
    made = Home(tmp_path)
    (tmp_path / "a" / within).mkdir(parents=True)
    (tmp_path / "b").symlink_to(tmp_path / "a" / within)
    for names in (("a", "b"), ("b", "a")):
        with pytest.raises(Refusal, match=f"two of the log directories {related}"):
            made.format(*names)
        with pytest.raises(Refusal, match=f"two of the log directories {related}"):
            serve(made.config(*names))
    assert not list(tmp_path.rglob(META))


def test_format_tells_of_each(tmp_path: Path) -> None:
    made = Home(tmp_path)
    said = made.format().splitlines()
    assert [line.partition(": ")[0] for line in said] == [made.path("b"), made.path("a")]
    assert made.format(again=True).count("was formatted already") == 2


def test_another_order_changes_nothing(home: Home) -> None:
    assert set(home.found("b", "a")) == set(home.found("a", "b"))


def test_swapped_disks_are_the_same_directories(home: Home) -> None:
    before = {each.id for each in home.found()}
    for old, new in (("a", "c"), ("b", "a"), ("c", "b")):
        (home.at / old).rename(home.at / new)
    config = home.config()
    disks = {path: RealDisk(Path(path)) for path in config.directories}
    assert metadata_directory(config, disks) == home.path("b")
    moved = replace(config, metadata_log_dir=home.path("b"))
    assert {
        each.id for each in log_directories(moved, home.meta("b"), disks, new_directory_id)
    } == before


def test_a_directory_is_added_by_a_format_that_leaves_the_others(home: Home) -> None:
    before = {each.id for each in home.found()}
    (home.at / "c").mkdir()
    with pytest.raises(Refusal, match=f"(?s){home.path('c')}/{META}.*--ignore-formatted --no-ini"):
        home.found("c", "a", "b")
    with pytest.raises(AlreadyFormatted, match=f"in {home.path('a')}: the log directory is"):
        home.format("c", "a", "b")
    assert not (home.at / "c" / META).exists()
    home.format("c", "a", "b", again=True)
    assert before < {each.id for each in home.found("c", "a", "b")}


def test_a_format_that_was_interrupted_is_done_again(home: Home) -> None:
    for path in sorted((home.at / "a").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    before = home.meta("b").directory_id
    home.format()
    assert home.meta("b").directory_id == before
    assert len(home.found()) == 2


def test_a_directory_of_another_cluster_is_refused_before_any_is_written(tmp_path: Path) -> None:
    made = Home(tmp_path)
    made.format("b", cluster="another")
    with pytest.raises(AlreadyFormatted, match="cluster another, node 4"):
        made.format("a", "b", again=True)
    assert not list((tmp_path / "a").iterdir())


@pytest.mark.parametrize(
    ("old", "new", "error", "words"),
    [
        ("node.id=4", "node.id=5", Refusal, "this directory is of node 5 in cluster 4L6g"),
        (CLUSTER, "another", Refusal, "this directory is of node 4 in cluster another"),
        ("version=1", "version=7", CorruptFile, "in .*/b: meta.properties is damaged"),
    ],
)
def test_a_foreign_or_damaged_directory(
    old: str, new: str, error: type[StorageError | Refusal], words: str, home: Home
) -> None:
    file = home.at / "b" / META
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(error, match=words):
        home.found()


def test_a_directory_without_an_id_is_given_one_for_good(home: Home) -> None:
    """KIP-856: "if the storage UUID is missing, it is generated, and the file replaced"."""
    file = home.at / "b" / META
    old = "".join(each for each in file.read_text().splitlines(True) if "directory.id" not in each)
    file.write_text(old)
    given = {each.path: each.id for each in home.found()}
    assert home.meta("b").directory_id == given[home.path("b")] != given[home.path("a")]
    assert {each.path: each.id for each in home.found()} == given


@pytest.mark.parametrize(("old", "new"), [("node.id=4", "node.id=5"), (CLUSTER, "another")])
def test_a_foreign_directory_is_given_no_id(old: str, new: str, home: Home) -> None:
    file = home.at / "b" / META
    lines = file.read_text().replace(old, new).splitlines(True)
    foreign = "".join(each for each in lines if "directory.id" not in each)
    file.write_text(foreign)
    with pytest.raises(Refusal, match="this directory is of node"):
        home.found()
    assert file.read_text() == foreign


def test_a_copy_of_a_directory(home: Home) -> None:
    (home.at / "b" / META).write_bytes((home.at / "a" / META).read_bytes())
    with pytest.raises(Refusal, match="two log directories have the same"):
        home.found()


def test_logs_whose_meta_properties_is_missing_are_not_given_another(home: Home) -> None:
    (home.at / "b" / META).unlink()
    (home.at / "b" / "orders-0").mkdir()
    (home.at / "b" / "orders-0" / "partition.metadata").write_text("version: 0\n")
    with pytest.raises(AlreadyFormatted, match="orders-0 holds a log or a vote, but meta"):
        home.format(again=True)


def test_two_metadata_logs(home: Home) -> None:
    (home.at / "b" / "__cluster_metadata-0").mkdir()
    with pytest.raises(Refusal, match=r"there is a metadata log in .*/b, and the metadata log is"):
        home.found()


def test_where_metadata_log_dir_says_it_is_it_is(home: Home) -> None:
    home.extra = f"metadata.log.dir={home.path('b')}\n"
    with pytest.raises(Refusal, match=r"there is a metadata log in .*/a, and the metadata log is"):
        home.found()


def test_the_directory_with_the_metadata_log_is_missing(home: Home) -> None:
    with pytest.raises(Refusal, match="none of the directories has the metadata log"):
        home.found("b")


def test_a_directory_by_two_names(home: Home) -> None:
    (home.at / "c").symlink_to(home.at / "b")
    with pytest.raises(Refusal, match="two of the log directories are one and the same"):
        serve(home.config("a", "b", "c"))


def test_a_disk_that_is_not_mounted(home: Home) -> None:
    (home.at / "b").rename(home.at / "elsewhere")
    with pytest.raises(Refusal, match=f"the log directory does not exist\n *{home.path('b')}"):
        serve(home.config())
