"""What was collected is named with its bytes and its CRC, and every change of it is told."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.run.seal import take, trace_lines
from checkers.history.sealed_run import INVENTORY, differences, has_any_file


@pytest.fixture
def collected(tmp_path: Path) -> Path:
    files = {
        "events-ops.jsonl.zst": b"frames",
        "logs/node-1.log": b'{"ev":"n.start"}\nprose\n{"ev":"n.stop"}\n',
        "logs/node-1.err": b"prose\n",
        "disks/node-1/meta.properties": b"node.id=1\n",
        "disks/node-1/__cluster_metadata-0/0.log": b"batches",
        "disks/node-1/__cluster_metadata-0/0.index": b"made of the others",
        "verdict.json": b"{}",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


def test_what_is_as_it_was_does_not_differ(collected: Path) -> None:
    own = take(collected)
    (collected / "verdict.json").unlink()  # made of the evidence, and none itself
    (collected / "disks/node-1/__cluster_metadata-0/0.index").unlink()
    assert differences(collected, own) == {}
    assert trace_lines(collected) == {"1": 2}


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("logs/node-1.log", Path.unlink, "is gone"),
        ("events-ops.jsonl.zst", lambda path: path.write_bytes(b"fra"), "has 3 bytes of 6"),
        ("disks/node-1/meta.properties", lambda path: path.write_bytes(b"node.id=2\n"), "other"),
        (INVENTORY, Path.unlink, "No such file"),
        (INVENTORY, lambda path: path.write_bytes(b"{}"), "not the one that run.json names"),
    ],
)
def test_every_change_is_told(
    collected: Path, name: str, change: Callable[[Path], object], what: str
) -> None:
    own = take(collected)
    change(collected / name)
    found = differences(collected, own)
    assert list(found) == [name]
    assert what in found[name]


def test_an_archive_has_nothing_but_its_seal(collected: Path) -> None:
    own = take(collected)
    assert has_any_file(collected, own)
    for path in sorted(collected.rglob("*"), reverse=True):
        if path.is_file() and path.name != INVENTORY:
            path.unlink()
    assert not has_any_file(collected, own)


def test_a_file_whose_name_is_no_text_is_named_as_well(collected: Path) -> None:
    odd = collected / "disks/node-1" / os.fsdecode(b"odd\xff")
    odd.write_bytes(b"")
    own = take(collected)
    assert differences(collected, own) == {}
    odd.unlink()
    assert list(differences(collected, own).values()) == ["is gone"]
