"""The leader of a partition and the controller, in every order (`tests/support/isr_orders.py`)."""

from chaos.bugs.broker_catalogue import LEADER_MUTATIONS
from chaos.bugs.planted import planted_by
from tests.support.isr_orders import search

DEPTH = 6  # steps; 7 are of 75,000 worlds


def test_who_may_yet_lead_has_what_was_shown_in_every_order() -> None:
    fault, worlds = search(DEPTH)
    assert fault is None
    assert worlds > 20_000


def test_an_answer_that_overtakes_the_metadata_log_is_seen_to_show_too_much() -> None:
    assert list(LEADER_MUTATIONS) == ["P-TOLD-ISR"]
    with planted_by("P-TOLD-ISR").planted():
        fault, _ = search(DEPTH)
    assert fault is not None
    assert "min ISR becomes" in fault
    assert "the leader replays" not in fault, "it is the shortest way"
