"""Q21, Q22, Q23: leadership under faults; each check accepts, rejects and stands aside by hand."""

from dataclasses import replace

from checkers.quorum.controllers import returning_node_disturbs_none
from checkers.quorum.leadership import (
    SECOND,
    a_majority_elects,
    cut_off_leader_resigns,
)
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import NodeTrace, Row, fault, make_run
from tests.support.judged import saw_nothing

CUT_S, HEALED_S = 10, 20
ISOLATED = ["1->2", "2->1", "1->3", "3->1"]


def cut(node: int = 1, links: list[str] | None = None, kind: str = "partition") -> Row:
    """A node cut off from 10 s to 20 s; of node 1 all links, if not said otherwise."""
    row = fault(0, kind, CUT_S * 1000, HEALED_S * 1000)
    return {**row, "nodes": [node], "links": ISOLATED if links is None else links}


def at(seconds: float) -> int:
    return int(seconds * SECOND)


def leader(node: int = 1, epoch: int = 1) -> NodeTrace:
    return NodeTrace(node).start().state("leader", epoch, leader=node, at=at(1))


def append_at(trace: NodeTrace, seconds: float, epoch: int = 1) -> NodeTrace:
    trace.clock = at(seconds)
    return trace.append(0, 0, epoch)


def follower(node: int, epoch: int = 1) -> NodeTrace:
    return NodeTrace(node).start().state("follower", epoch, leader=1, at=at(2))


def test_without_faults_there_is_no_row() -> None:
    run = make_run(traces=[leader()])
    assert saw_nothing(a_majority_elects(run))
    assert saw_nothing(cut_off_leader_resigns(run))
    assert saw_nothing(returning_node_disturbs_none(run))


# --- Q22 ---


def q22(trace: NodeTrace, row: Row | None = None) -> CheckResult | None:
    return cut_off_leader_resigns(make_run(traces=[trace, follower(2)], faults=[row or cut()]))


def test_a_cut_off_leader_that_resigns_in_time() -> None:
    trace = append_at(leader(), 12).state("resigned", 1, leader=1, at=at(13))
    result = q22(append_at(trace, 18))
    assert result is not None
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 1)


def test_a_cut_off_leader_that_leads_on() -> None:
    result = q22(append_at(append_at(leader(), 12), 16))
    assert result is not None
    assert result.verdict is Verdict.INVALID
    assert "node 1 was cut off from the majority but still led epoch 1 after 6.0 s" in (
        result.message
    )
    assert [row["what"] for row in result.witness] == [
        "became leader of epoch 1",
        "no other node reaches it any more: partition of node 1",
        "acts as leader, 6.0 s after the cut",
    ]


def test_a_leader_that_is_still_heard_is_not_judged() -> None:
    one_way = cut(links=["1->2", "1->3"], kind="partition-one-way")
    assert saw_nothing(q22(append_at(leader(), 16), one_way))
    assert saw_nothing(q22(append_at(leader(), 16), cut(links=["2->1"])))


def test_a_cut_that_was_too_short_is_not_judged() -> None:
    short = {**cut(), "t_heal": at(14), "t_healed": at(14.1)}
    assert saw_nothing(q22(append_at(leader(), 13), short))


def test_another_fault_of_the_leader_excuses_it() -> None:
    led = append_at(append_at(leader(), 12), 16)
    for kind, excused in (("clock-rate", True), ("disk-slow", True), ("partition", False)):
        also = {**fault(1, kind, 11_000, 15_000), "nodes": [1]}
        also["links"] = ["1->2"] if kind == "partition" else []
        run = make_run(traces=[led, follower(2)], faults=[cut(), also], faults_overlap=True)
        assert (cut_off_leader_resigns(run).looked_at == 0) is excused, kind


def test_a_leader_has_the_time_that_its_time_outs_give_it() -> None:
    led = append_at(append_at(leader(), 12), 16)
    run = make_run(traces=[led, follower(2)], faults=[cut()], conditions={"fetch_timeout_ms": 3000})
    result = cut_off_leader_resigns(run)
    assert result is not None
    assert result.verdict is Verdict.VALID


# --- Q23 ---


def q23(*traces: NodeTrace) -> CheckResult | None:
    """Node 3 was cut off while node 1 led."""
    links = ["3->1", "1->3", "3->2", "2->3"]
    led = append_at(leader(), 30)
    found = [led, *(append_at(trace, 31) for trace in traces)]
    return returning_node_disturbs_none(
        make_run(traces=found, faults=[cut(3, links)], duration_ns=at(40))
    )


def test_a_node_that_comes_back_and_follows() -> None:
    back = follower(3).state("prospective", 1, at=at(13)).state("follower", 1, leader=1, at=at(21))
    result = q23(back, follower(2))
    assert result is not None
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 1)


def test_a_node_that_comes_back_with_an_epoch_of_its_own() -> None:
    back = follower(3).state("candidate", 2, at=at(13)).state("candidate", 3, at=at(15))
    result = q23(back, follower(2).state("unattached", 3, at=at(21)))
    assert result is not None
    assert result.verdict is Verdict.INVALID
    assert "had raised the epoch from 1 to 3 alone" in result.message
    assert [row.get("node") for row in result.witness] == [1, None, 3, None, 2]


def test_an_election_that_the_others_held_is_nobodys_fault() -> None:
    result = q23(follower(3), follower(2).state("candidate", 2, at=at(15)))
    assert result is not None
    assert result.verdict is Verdict.VALID


def test_a_node_that_comes_back_and_deposes_a_leader_that_all_others_hear() -> None:
    """It asked them, and they would have voted for it: no correct follower says so."""
    back = follower(3).state("prospective", 1, at=at(13)).state("candidate", 2, at=at(21))
    result = q23(back, follower(2).state("unattached", 2, at=at(21.1)))
    assert result is not None
    assert result.verdict is Verdict.INVALID
    assert "though nodes 1, 2 had heard node 1 for" in result.message
    assert [row.get("node") for row in result.witness] == [1, 2, None, 3]


def test_a_node_that_comes_back_when_the_others_do_not_hear_the_leader_either() -> None:
    back = follower(3).state("prospective", 1, at=at(13)).state("candidate", 2, at=at(21))
    torn = follower(2).state("prospective", 1, at=at(17)).state("follower", 1, leader=1, at=at(18))
    result = q23(back, torn)
    assert result is not None
    assert result.verdict is Verdict.VALID


def test_a_node_that_died_is_not_steady() -> None:
    back = follower(3).state("candidate", 2, at=at(21))
    led = append_at(leader(), 30)
    links = ["3->1", "1->3", "3->2", "2->3"]
    traces = [led, append_at(back, 31), follower(2)]
    run = make_run(traces=traces, faults=[cut(3, links)], duration_ns=at(40))
    result = returning_node_disturbs_none(run)
    assert result is not None
    assert result.verdict is Verdict.VALID


def one_link(*traces: NodeTrace) -> CheckResult | None:
    """Only the link between the leader, node 1, and node 3 was cut, and both were hit."""
    row = {**cut(1, ["1->3", "3->1"], "partition-partial"), "nodes": [1, 3]}
    found = [append_at(leader(), 30), *(append_at(trace, 31) for trace in traces)]
    return returning_node_disturbs_none(make_run(traces=found, faults=[row], duration_ns=at(40)))


def test_a_link_to_the_leader_is_no_reason_to_depose_it() -> None:
    asked = follower(3).state("prospective", 1, at=at(13))
    well = one_link(asked, follower(2))
    assert well is not None
    assert (well.verdict, well.looked_at) == (Verdict.VALID, 1)
    greedy = follower(3).state("prospective", 1, at=at(13)).state("candidate", 2, at=at(13.1))
    result = one_link(greedy, follower(2).state("unattached", 2, at=at(13.2)))
    assert result is not None
    assert result.verdict is Verdict.INVALID
    assert "though nodes 1, 2 had heard node 1 for" in result.message


def test_a_leader_that_was_cut_off_may_be_replaced() -> None:
    run = make_run(traces=[append_at(leader(), 30)], faults=[cut()])
    assert saw_nothing(returning_node_disturbs_none(run))


# --- Q21 ---


def commit_at(trace: NodeTrace, seconds: float, epoch: int = 2) -> NodeTrace:
    trace.clock = at(seconds)
    return trace.hwm(5, epoch)


def q21(*traces: NodeTrace, held_s: float = 16) -> CheckResult | None:
    """Node 1 was killed for 16 s."""
    row = {**cut(links=[], kind="kill"), "t_heal": at(CUT_S + held_s)}
    row["t_healed"] = at(CUT_S + held_s + 0.5)
    duration = at(CUT_S + held_s + 2)
    return a_majority_elects(make_run(traces=traces, faults=[row], duration_ns=duration))


def test_the_others_elect_and_commit() -> None:
    result = q21(commit_at(follower(2), 15))
    assert result is not None
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 1)


def test_the_others_collide_for_ever() -> None:
    two = follower(2).state("candidate", 2, at=at(13)).state("candidate", 3, at=at(15))
    result = q21(two, follower(3).state("candidate", 2, at=at(13)))
    assert result is not None
    assert result.verdict is Verdict.INVALID
    assert "3 candidacies failed" in result.message
    assert [row.get("node") for row in result.witness] == [None, 2, 3, 2]


def test_a_commit_that_comes_too_late_or_from_the_dead_does_not_count() -> None:
    late, dead = q21(commit_at(follower(2), 25.5)), q21(commit_at(leader(), 11))
    assert late is not None
    assert late.verdict is Verdict.INVALID
    assert dead is not None
    assert dead.verdict is Verdict.INVALID


def test_a_short_time_is_not_judged() -> None:
    assert saw_nothing(q21(follower(2), held_s=8))


def test_the_others_collide_for_ever_over_slow_links() -> None:
    row = {**cut(links=[], kind="kill"), "t_heal": at(26), "t_healed": at(26.5), "degrades": True}
    traces = [leader(), follower(2), follower(3)]
    result = a_majority_elects(make_run(traces=traces, faults=[row], duration_ns=at(28)))
    assert result.verdict is Verdict.INVALID


def ended_unasked(node: int, seconds: float, *traces: NodeTrace) -> CheckResult:
    """Node 1 was killed for 16 s, and meanwhile another one ended by itself."""
    row = {**cut(links=[], kind="kill"), "t_heal": at(CUT_S + 16), "t_healed": at(CUT_S + 16.5)}
    run = make_run(traces=traces, faults=[row], duration_ns=at(CUT_S + 18))
    end: dict[str, int | str] = {"node": node, "t_ns": at(seconds), "exit_code": 1, "words": ""}
    return a_majority_elects(replace(run, info=replace(run.info, unasked_ends=[end])))


def test_who_ended_by_itself_is_not_up() -> None:
    """That it is not is judged by another check; from its next start on it counts."""
    assert saw_nothing(ended_unasked(2, 11, follower(2), follower(3)))
    again = follower(2)
    again.incarnation += 1
    again.start(at=at(12)).state("follower", 1, leader=1)
    result = ended_unasked(2, 11, again, follower(3))
    assert result.verdict is Verdict.INVALID


def overlapping(*more: Row) -> CheckResult | None:
    """Node 1 was killed for 16 s, nobody else ever led, and meanwhile something else was wrong."""
    down = {**cut(links=[], kind="kill"), "t_heal": at(26), "t_healed": at(26.5)}
    traces = [append_at(leader(), 3), follower(2), follower(3)]
    return a_majority_elects(
        make_run(traces=traces, faults=[down, *more], duration_ns=at(28), faults_overlap=True)
    )


def during(kind: str, node: int, links: list[str] | None = None) -> Row:
    return {**fault(1, kind, 8000, 27_000), "nodes": [node], "links": links or []}


def test_nothing_is_promised_where_a_majority_is_hurt_or_somebody_is_not_well() -> None:
    alone = overlapping()
    assert alone is not None
    assert alone.verdict is Verdict.INVALID
    assert saw_nothing(overlapping(during("pause", 2)))
    assert saw_nothing(overlapping(during("partition", 2, ["2->3"])))
    assert saw_nothing(overlapping(during("flaky-links", 1, ["1->2", "2->1"])))
    assert saw_nothing(overlapping(during("slow-links", 2)))
    assert saw_nothing(overlapping(during("disk-error", 2)))
    jumped = overlapping(during("clock-jump", 2))
    assert jumped is not None
    assert jumped.verdict is Verdict.INVALID


def test_who_keeps_a_link_may_lead_by_it() -> None:
    """Nodes 4 and 5 are apart from 1, but one of them reaches 2: they may have a majority yet."""
    apart = ["4->1", "4->2", "4->3", "5->1", "5->3"]
    row = {**cut(links=apart), "nodes": [4, 5], "t_heal": at(26), "t_healed": at(26.5)}
    traces = [follower(node) for node in (1, 2, 3)]
    assert saw_nothing(a_majority_elects(make_run(traces=traces, faults=[row], nodes=5)))
    whole = {**row, "links": [*apart, "2->5"]}
    found = a_majority_elects(make_run(traces=traces, faults=[whole], nodes=5))
    assert found is not None
    assert found.verdict is Verdict.INVALID
