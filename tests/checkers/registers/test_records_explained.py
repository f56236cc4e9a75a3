"""A record that nobody asked for is a node's invention, or a hole in the history."""

from checkers.registers.requests import records_were_asked_for
from checkers.verdict import Verdict
from tests.support.histories import config_record, leader_change, make_run, write

OPS = [write(1, 0, 1), write(2, 2, None), write(3, 4, 5, outcome="fail")]
RECORDS = [leader_change(1, 0, 1, 1), config_record(1, 1, "r-0", 1), config_record(2, 1, "r-0", 1)]


def test_each_record_was_asked_for() -> None:
    """Also by a write of which nobody knows whether it happened, and by one that was refused:
    that a refused one happened is durability's to say."""
    strays = [config_record(1, 2, "r-0", 2), config_record(2, 2, "r-0", 3)]
    result = records_were_asked_for(make_run(ops=OPS, records=[*RECORDS, *strays]))
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 4)


def test_a_record_that_nobody_wrote_is_shown() -> None:
    """The same value of another key, and a value of nobody, in a tail that was never committed."""
    strays = [config_record(1, 2, "b", 1), config_record(3, 9, "r-0", 7)]
    result = records_were_asked_for(make_run(ops=OPS, records=[*RECORDS, *strays]))
    assert (result.verdict, result.count) == (Verdict.INVALID, 2)
    assert result.message == "no write asked for b = 1 on node 1 (and 1 more)"
    assert [(event["key"], event["offset"]) for event in result.witness] == [("b", 2), ("r-0", 9)]


def test_a_history_that_is_cut_explains_it() -> None:
    strays = [*RECORDS, config_record(1, 2, "b", 1)]
    for cut in (
        make_run(ops=OPS, records=strays, truncated=("events-ops: a frame",)),
        make_run(ops=OPS, records=strays, finished=False),
    ):
        result = records_were_asked_for(cut)
        assert result.verdict is Verdict.UNKNOWN
        assert "the history is cut" in result.message


def test_disks_without_records_show_nothing() -> None:
    assert records_were_asked_for(make_run(ops=OPS)).verdict is Verdict.UNKNOWN
