"""Cuts as rows: n of m, the kernel's own timing apart, void cuts left out."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.labs.audit.matrix import NO_FILE, Varies, always_same, rows_of
from chaos.labs.audit.next_start import ComparedFile, NextStart, Status
from chaos.labs.audit.one_cut import ObservedCut, ObservedFile

KINDS = ("log", "index", "snapshot")
FILES = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from(Status), st.sampled_from(NextStart)),
    max_size=6,
)


def cut(
    files: Sequence[tuple[str, Status, NextStart]],
    moment: str = "first-start",
    void: str = "",
    lived_s: float = 20.0,
) -> ObservedCut:
    return ObservedCut(
        moment=moment,
        directory="cut",
        files=[
            ObservedFile(
                node=1,
                kind=kind,
                file=ComparedFile(path=f"{kind}-{number}", status=status, said=1, held=0),
                outcome=outcome if status is not Status.SAME else None,
            )
            for number, (kind, status, outcome) in enumerate(files)
        ],
        answers=[],
        refusal="",
        void=void,
        lived_s=lived_s,
    )


@pytest.mark.parametrize(
    ("other", "lived_s", "why"),
    [
        ((("index", Status.SAME, NextStart.REBUILT),), 29.9, Varies.PROGRAM),  # it was synced
        ((("index", Status.SAME, NextStart.REBUILT),), 30.0, Varies.KERNEL),
        ((("index", Status.ZEROS, NextStart.TRUSTED),), 90.0, Varies.PROGRAM),  # not written out
        ((), 90.0, Varies.PROGRAM),  # there was no such file
    ],
)
def test_what_is_seen_in_some_cuts_only_is_the_kernels_if_the_others_were_old_enough(
    other: Sequence[tuple[str, Status, NextStart]], lived_s: float, why: Varies
) -> None:
    sometimes = ("index", Status.ZEROS, NextStart.REBUILT)
    rows = rows_of([cut([sometimes], lived_s=99.0), cut(other, lived_s=lived_s)])
    (row,) = [row for row in rows if row.outcome is NextStart.REBUILT]
    assert (row.seen, row.cuts, row.varies) == (1, 2, why)


def test_what_is_seen_in_all_cuts_does_not_vary() -> None:
    always, sometimes = ("log", Status.SHORTER), ("index", Status.ZEROS)
    rows = rows_of(
        [
            cut([(*always, NextStart.LOST), (*sometimes, NextStart.REBUILT)]),
            cut([(*always, NextStart.LOST)]),
        ]
    )
    assert [(row.kind, row.seen, row.cuts, row.varies) for row in rows] == [
        ("log", 2, 2, Varies.NOT),
        ("index", 1, 2, Varies.PROGRAM),
    ]


def test_between_shorter_and_zeros_the_kernel_decides_and_not_about_the_outcome() -> None:
    rows = rows_of(
        [
            cut([("log", Status.SHORTER, NextStart.TRUSTED)]),
            cut([("log", Status.ZEROS, NextStart.TRUSTED)]),
        ]
    )
    assert [(row.status, row.seen, row.varies) for row in rows] == [
        (Status.SHORTER, 1, Varies.NOT),
        (Status.ZEROS, 1, Varies.NOT),
    ]


def test_the_worst_stands_first_within_its_moment() -> None:
    rows = rows_of(
        [cut([("a", Status.OLDER, NextStart.REBUILT), ("b", Status.OLDER, NextStart.TRUSTED)])]
    )
    assert [row.outcome for row in rows] == [NextStart.TRUSTED, NextStart.REBUILT]


def test_a_void_cut_shows_nothing() -> None:
    void = cut([("log", Status.SHORTER, NextStart.LOST)], void="the canary kept its new bytes")
    assert rows_of([void]) == []
    assert always_same([void]) == []


@given(st.lists(st.tuples(st.sampled_from(("one", "two")), FILES, st.booleans()), max_size=6))
def test_every_difference_is_in_one_row_and_every_kind_differs_or_does_not(
    drawn: Sequence[tuple[str, Sequence[tuple[str, Status, NextStart]], bool]],
) -> None:
    cuts = [cut(files, moment, "void" if void else "") for moment, files, void in drawn]
    sound = [each for each in cuts if not each.void]
    rows = rows_of(cuts)
    assert sum(row.files for row in rows) == sum(len(each.differences) for each in sound)
    assert all(1 <= row.seen <= min(row.of_outcome, row.files) for row in rows)
    assert all(row.of_outcome <= row.cuts for row in rows)
    assert len({(row.moment, row.kind, row.status, row.outcome) for row in rows}) == len(rows)
    differing = {row.kind for row in rows}
    assert differing.isdisjoint(always_same(cuts))
    assert differing | set(always_same(cuts)) == {f.kind for each in sound for f in each.files}


def test_a_refusal_without_a_difference_is_a_row_of_no_file() -> None:
    refused = replace(cut([("log", Status.SAME, NextStart.REBUILT)]), refusal="node 4 exited")
    blamed = replace(cut([("log", Status.SHORTER, NextStart.REFUSES)]), refusal="node 4 exited")
    rows = rows_of([refused, refused, blamed])
    assert [(row.kind, row.status, row.outcome, row.seen, row.files) for row in rows] == [
        ("log", Status.SHORTER, NextStart.REFUSES, 1, 1),
        (NO_FILE, Status.SAME, NextStart.REFUSES, 2, 0),
    ]
    assert rows[1].varies is Varies.PROGRAM
