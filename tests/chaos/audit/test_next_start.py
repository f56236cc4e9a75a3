"""Which difference is blamed for what, and what files are."""

from collections.abc import Sequence

import pytest

from chaos.labs.audit.moment import ComparedAnswer
from chaos.labs.audit.next_start import (
    ComparedFile,
    Difference,
    NextStart,
    Status,
    is_of_the_node,
    kind_of,
    outcomes,
)

LOG = "kraft/orders-0/00000000000000000000.log"
OFFSET_INDEX = "kraft/orders-0/00000000000000000000.index"
TIME_INDEX = "kraft/orders-0/00000000000000000000.timeindex"
OTHER_LOG = "kraft/bills-0/00000000000000000000.log"
BOOTSTRAP = "kraft/bootstrap.checkpoint"


def difference(path: str, *, now_as_held: bool = False, node: int = 1) -> Difference:
    file = ComparedFile(path=path, status=Status.ZEROS, said=12, held=0)
    kind = kind_of(path, "kafka")
    return Difference(node=node, file=file, kind=kind, now_as_held=now_as_held)


def became(
    differences: Sequence[Difference], answers: Sequence[ComparedAnswer], refusal: str
) -> dict[str, NextStart]:
    """On one node."""
    found = outcomes(differences, answers, refusal)
    return {path: outcome for (_, path), outcome in found.items()}


def answer(answered: str, *, promised: bool, rests_on: str = "orders-0") -> ComparedAnswer:
    return ComparedAnswer(
        question="records",
        rests_on=(rests_on,),
        acknowledged="5",
        answered=answered,
        promised=promised,
    )


@pytest.mark.parametrize(
    ("path", "name", "log"),
    [
        (LOG, "data log segment", "orders-0"),
        (TIME_INDEX, "data time index", "orders-0"),
        ("kraft/a-1-2/leader-epoch-checkpoint", "data leader-epoch-checkpoint", "a-1-2"),
        ("kraft/__consumer_offsets-2/00000000000000000007.log", "offsets log segment",
         "__consumer_offsets-2"),
        ("kraft/orders-0.0123abcd-delete/00000000000000000000.log", "deleted data log segment",
         "orders-0"),
        ("kraft/__cluster_metadata-0/00000000000000000010-0000000001.checkpoint",
         "metadata snapshot", "__cluster_metadata-0"),
        ("kraft/meta.properties", "meta.properties", ""),
        ("kraft/what-nobody-knows", "other file", ""),
    ],
)  # fmt: skip
def test_what_a_file_is(path: str, name: str, log: str) -> None:
    found = kind_of(path, "kafka")
    assert (found.name, found.log) == (name, log)


def test_indexes_of_our_own_node_can_be_made_anew() -> None:
    """So a damaged one is blamed for no answer that its log gives."""
    for path, name in ((TIME_INDEX, "time index"), (OFFSET_INDEX, "offset index")):
        found = kind_of(path, "node")
        assert (found.name, found.kind.derived) == (f"data {name}", True)
    assert kind_of("kraft/index-checksums", "node").name == "index checksums"


def test_the_mark_of_our_own_node_is_known() -> None:
    path = "kraft/__cluster_metadata-0/flushed-00000000000000000012"
    assert kind_of(path, "node").name == "metadata flush mark"


@pytest.mark.parametrize("path", [".kraft-chaos-canary", "lost+found/x"])
def test_the_harness_and_the_file_system_have_files_too(path: str) -> None:
    assert not is_of_the_node(path)
    assert is_of_the_node(f"kraft/{path}")


def test_right_answers_make_a_difference_harmless() -> None:
    found = became(
        [difference(LOG), difference(TIME_INDEX, now_as_held=True)],
        [answer("5", promised=True)],
        "",
    )
    assert found == {LOG: NextStart.REBUILT, TIME_INDEX: NextStart.IGNORED}


@pytest.mark.parametrize(
    ("promised", "outcome"), [(True, NextStart.TRUSTED), (False, NextStart.LOST)]
)
def test_a_changed_answer_accuses_the_file_if_it_was_promised(
    promised: bool, outcome: NextStart
) -> None:
    assert became([difference(TIME_INDEX)], [answer("0", promised=promised)], "") == {
        TIME_INDEX: outcome
    }


def test_an_index_is_not_blamed_where_its_log_is_damaged_itself() -> None:
    found = became([difference(LOG), difference(TIME_INDEX)], [answer("0", promised=True)], "")
    assert found == {LOG: NextStart.TRUSTED, TIME_INDEX: NextStart.REBUILT}


def test_an_index_is_not_blamed_where_the_log_of_another_replica_is_damaged() -> None:
    """Whichever of them leads is the one that is asked."""
    found = outcomes(
        [difference(LOG, node=1), difference(TIME_INDEX, node=2)], [answer("0", promised=True)], ""
    )
    assert found == {(1, LOG): NextStart.TRUSTED, (2, TIME_INDEX): NextStart.REBUILT}


def test_the_file_of_another_log_is_not_blamed() -> None:
    found = became([difference(OTHER_LOG)], [answer("0", promised=True)], "")
    assert found == {OTHER_LOG: NextStart.REBUILT}


def test_an_answer_may_rest_on_all_logs_of_a_topic() -> None:
    state = "kraft/__transaction_state-2/00000000000000000000.log"
    told = answer("0", promised=True, rests_on="__transaction_state")
    assert became([difference(state)], [told], "") == {state: NextStart.TRUSTED}


def test_a_refusal_is_blamed_on_the_file_that_it_speaks_of() -> None:
    words = "No FeatureLevelRecord for metadata.version was found in the bootstrap metadata"
    found = became([difference(LOG), difference(BOOTSTRAP)], [], words)
    assert found == {LOG: NextStart.UNDECIDED, BOOTSTRAP: NextStart.REFUSES}


def test_a_refusal_that_speaks_of_no_file_is_blamed_on_all() -> None:
    found = became([difference(LOG), difference(BOOTSTRAP)], [], "Segmentation fault")
    assert set(found.values()) == {NextStart.REFUSES}
