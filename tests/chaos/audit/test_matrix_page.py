"""The page: every cell leads to bytes, and what comes from disks stays text."""

import re
from dataclasses import replace
from pathlib import Path

from chaos.labs.audit.matrix_page import render_audit, shown_bytes
from chaos.labs.audit.moment import ComparedAnswer
from chaos.labs.audit.next_start import ByteRange, NextStart, Status, compare_bytes
from chaos.labs.audit.one_cut import ObservedCut, ObservedFile

PATH = "kraft/orders-0/00000000000000000000.timeindex"
SAID, HELD = b"entry <b>1</b>" * 20, bytes(280)


def cut_of(tmp_path: Path) -> ObservedCut:
    for copy, content in {"said": SAID, "held": HELD, "now": HELD}.items():
        path = tmp_path / "cut" / copy / "node-1" / PATH
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    return ObservedCut(
        moment="clean-stop",
        directory="cut",
        files=[
            ObservedFile(
                node=1,
                kind="data time index",
                file=compare_bytes(PATH, SAID, HELD),
                outcome=NextStart.TRUSTED,
            )
        ],
        answers=[
            ComparedAnswer(
                question="records <of> orders-0",
                rests_on=("orders-0",),
                acknowledged="5",
                answered="0",
                promised=True,
            )
        ],
        refusal="",
        void="",
        lived_s=20.0,
    )


def test_every_cell_leads_to_the_bytes_that_differ(tmp_path: Path) -> None:
    page = render_audit("What the disks held", [cut_of(tmp_path)], tmp_path)
    links = re.findall(r'href="#([^"]+)"', page)
    assert links == ["clean-stop-data-time-index"]
    assert all(f'id="{link}"' in page for link in links)
    files = re.findall(r'href="(cut/[^"]+)"', page)
    assert {file.split("/")[1] for file in files} == {"said", "held", "now"}
    assert all((tmp_path / file).is_file() for file in files)
    assert f"{Status.ZEROS}, 1 of 1: {NextStart.TRUSTED}" in page
    assert "65 6e 74 72 79 20 3c" in page
    assert "152 bytes more of this range" in page
    assert "<b>" not in page
    assert "records &lt;of&gt; orders-0" in page


def test_a_moment_at_which_nothing_differs_has_its_column(tmp_path: Path) -> None:
    differing = cut_of(tmp_path)
    (file,) = differing.files
    same = replace(file, file=compare_bytes(PATH, SAID, SAID), outcome=None)
    quiet = replace(differing, moment="topic-created", files=[same], answers=[])
    page = render_audit("What the disks held", [differing, quiet], tmp_path)
    assert page.count('<th class="narrow">') == 2
    assert page.count(">same<") == 1


def test_bytes_of_what_ends_early_or_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    part = ByteRange(start=20, end=40)
    assert shown_bytes(path, part) == "no such file"
    path.write_bytes(b"0123456789abcdefghij")
    assert shown_bytes(path, part).splitlines() == [
        "00000010  67 68 69 6a                                      ghij",
        "the file ends at 20",
    ]


def test_a_refusal_without_a_difference_leads_to_the_last_words(tmp_path: Path) -> None:
    found = cut_of(tmp_path)
    (file,) = found.files
    same = replace(file, file=compare_bytes(PATH, SAID, SAID), outcome=None)
    refused = replace(found, files=[same], answers=[], refusal="node <4> exited")
    page = render_audit("What the disks held", [refused, refused], tmp_path)
    assert re.findall(r'href="#([^"]+)"', page) == ["clean-stop-no-file"]
    assert page.count('id="clean-stop-no-file"') == 1
    assert page.count("node &lt;4&gt; exited") == 2
