"""What brokers do and trace, who may lead, and how soon clients are answered."""

import random
from collections import Counter

from tests.lies.alteration import BOTH, legal, lie
from tests.lies.altered import Altered, NotHere, Row, detail, first, set_detail

_SECOND = 1_000_000_000
_NO_LEADER = -1
_ROLL = "controlled-shutdown-roll"
_LRS = "last-replica-standing"

# --- what brokers trace ---


def _silence(run: Altered, event: str, node: int) -> None:
    if not run.drop_events(lambda row: row["event"] == event and row["node"] == node):
        raise NotHere(f"node {node} traced no {event}")


def _a_node(run: Altered, rng: random.Random, event: str) -> int:
    nodes = sorted({row["node"] for row in run.events(event)})
    if not nodes:
        raise NotHere(f"nobody traced {event}")
    return int(rng.choice(nodes))


@lie("brokers-trace-what-they-do", of=(_ROLL, _LRS))
def a_node_never_says_that_it_leads(run: Altered, rng: random.Random) -> None:
    """One node, whatever it does, leaves no line of p.role."""
    _silence(run, "p.role", _a_node(run, rng, "p.role"))


@lie("brokers-trace-what-they-do", of=(_ROLL, _LRS))
def a_node_tells_of_no_isr(run: Altered, rng: random.Random) -> None:
    """One node leaves no line of p.isr."""
    _silence(run, "p.isr", _a_node(run, rng, "p.isr"))


@lie("brokers-trace-what-they-do", of=(_ROLL, _LRS))
def a_node_tells_of_no_high_watermark(run: Altered, rng: random.Random) -> None:
    """One node leaves no line of p.hwm."""
    _silence(run, "p.hwm", _a_node(run, rng, "p.hwm"))


@lie("brokers-trace-what-they-do", of=(_ROLL, _LRS))
def a_node_tells_of_nobody_that_joins(run: Altered, rng: random.Random) -> None:
    """One node leaves no line of p.join."""
    _silence(run, "p.join", _a_node(run, rng, "p.join"))


@lie("brokers-trace-what-they-do", of=(_ROLL, _LRS))
def a_node_tells_nothing_of_its_life(run: Altered, rng: random.Random) -> None:
    """One node leaves no line of b.life."""
    _silence(run, "b.life", _a_node(run, rng, "b.life"))


@lie("brokers-trace-what-they-do", of=(_ROLL, _LRS))
def a_node_tells_of_nothing_that_it_replays(run: Altered, rng: random.Random) -> None:
    """One node leaves no line of c.record."""
    _silence(run, "c.record", _a_node(run, rng, "c.record"))


@lie("brokers-trace-what-they-do", of="unclean-leader")
def a_cut_is_not_traced(run: Altered, _: random.Random) -> None:
    """No follower says that it cut its log."""
    if not run.drop_events(lambda row: row["event"] == "p.truncate"):
        raise NotHere("nobody cut anything")


@lie("brokers-trace-what-they-do", of=(_ROLL, _LRS))
def one_mark_is_not_traced(run: Altered, rng: random.Random) -> None:
    """Of all lines of a high watermark those of a stretch of 0.3 s are not there."""
    marks = run.events("p.hwm")
    begin = rng.choice(marks[: len(marks) // 2])["t"]
    end = begin + 300_000_000
    run.drop_events(lambda row: row["event"] == "p.hwm" and begin <= row["t"] <= end)


@lie("brokers-trace-what-they-do", of=(_ROLL, _LRS))
def a_broker_calls_itself_unfenced(run: Altered, rng: random.Random) -> None:
    """In a broker epoch in which nobody unfenced it: the record of that is another one."""
    found = [r for r in run.records("BrokerRegistrationChange") if detail(r).get("fenced") == -1]
    offsets: dict[int, set[int]] = {}
    for each in found:
        offsets.setdefault(detail(each)["brokerEpoch"], set()).add(each["offset"])
    row = rng.choice([r for r in found if len(offsets[detail(r)["brokerEpoch"]]) == 1])
    run.change_record(row["offset"], "BrokerRegistrationChange", fenced=None)


@legal("brokers-trace-what-they-do", of=(_ROLL, _LRS))
def a_client_hears_of_nothing(run: Altered, rng: random.Random) -> None:
    """A send that was acknowledged had no answer, as far as its client knows."""
    op = rng.choice(run.ops(f="send", outcome="ok", phase="main"))
    op.update(outcome="info", error="closed")
    for span in run.spans_of(op):
        span["offset"] = None


@legal("brokers-trace-what-they-do", of=(_ROLL, _LRS))
def nobody_tells_of_requests_without_answers(run: Altered, _: random.Random) -> None:
    """They are told of to whoever looks for the reason of an error; no promise rests on it."""
    run.drop_events(lambda row: row["event"] == "n.unanswered")


# --- clean shutdowns ---


def _restarted(run: Altered) -> list[list[Row]]:
    """Of processes that named a clean shutdown, the lines of b.life."""
    lives: dict[tuple[int, str], list[Row]] = {}
    for row in run.events("b.life"):
        lives.setdefault((row["node"], row["incarnation"]), []).append(row)
    found = [rows for rows in lives.values() if detail(rows[0])["previous"] != _NO_LEADER]
    if not found:
        raise NotHere("no broker was shut down cleanly")
    return found


@lie("E6-clean-as-vouched", of=(_ROLL, "slow-roll"))
def a_broker_names_another_life(run: Altered, rng: random.Random) -> None:
    """It claims a clean shutdown of a broker epoch that it never vouched for."""
    for row in rng.choice(_restarted(run)):
        set_detail(row, previous=detail(row)["previous"] + 1)


@lie("E6-clean-as-vouched", of=(_ROLL, "slow-roll"))
def a_broker_forgets_what_it_vouched_for(run: Altered, rng: random.Random) -> None:
    """It was told to stop, vouched for its logs, and names nothing when it is back."""
    for row in rng.choice(_restarted(run)):
        set_detail(row, previous=_NO_LEADER)


@legal("E6-clean-as-vouched", of=(_ROLL, "slow-roll"))
def a_broker_skips_its_recovery(run: Altered, _: random.Random) -> None:
    """It has nothing to recover, and does not say that it does."""
    run.drop_events(lambda row: row["event"] == "b.life" and row["state"] == "recovery")


@legal("E6-clean-as-vouched", of=(_ROLL, "slow-roll"))
def a_broker_vouches_twice(run: Altered, rng: random.Random) -> None:
    """For the same logs, in the same broker epoch."""
    line = rng.choice(run.events("b.life", state="vouching"))
    run.insert_event(dict(line), line)


# --- who may lead ---


def _changes(run: Altered) -> list[Row]:
    """Of partitions, on the first disk, in order."""
    rows = run.records("PartitionChange")
    node = min(row["node"] for row in rows)
    return [row for row in rows if row["node"] == node]


def _leaderless(run: Altered) -> list[Row]:
    found = [row for row in _changes(run) if detail(row).get("leader") == _NO_LEADER]
    if not found:
        raise NotHere("no partition was without a leader")
    return found


_LEADERLESS = ("blackout-brokers", "fenced-last-leader")


@lie("eligible-are-elected", of=_LEADERLESS, target=BOTH)
def nobody_is_elected_any_more(run: Altered, rng: random.Random) -> None:
    """Who comes back and may lead does not: the elections behind are not there."""
    gone = rng.choice(_leaderless(run))
    of = detail(gone)["topicId"], detail(gone)["partitionId"]

    def is_later(row: Row) -> bool:
        if row["type"] != "PartitionChange" or row["offset"] <= gone["offset"]:
            return False
        return (detail(row)["topicId"], detail(row)["partitionId"]) == of

    run.erase_records(is_later)


@lie("eligible-are-elected", of=("partition-brokers", "power-off-brokers"), target=BOTH)
def a_leader_goes_for_no_reason(run: Altered, _: random.Random) -> None:
    """Behind all else a partition has no leader any more, and its ISR is whole."""
    at = detail(_changes(run)[-1])
    last = max(row["offset"] for row in _changes(run))
    free = [offset for offset in run.noops() if offset > last]
    if not free:
        raise NotHere("nothing behind the last change")
    said = {"partitionId": at["partitionId"], "topicId": at["topicId"], "leader": _NO_LEADER}
    run.put_record(free[0], "PartitionChange", said)


@legal(
    "eligible-are-elected",
    "last-known-leader-led",
    "can-be-led-again",
    of=_LEADERLESS,
    target=BOTH,
)
def the_metadata_log_goes_on(run: Altered, _: random.Random) -> None:
    """A batch that says nothing stands at its end, on every controller's disk."""
    nodes = sorted({row["node"] for row in run.rows("log_batches")})
    run.append_to_metadata_log(nodes, "NoOp")


@legal(
    "eligible-are-elected",
    "last-known-leader-led",
    "can-be-led-again",
    "E3-eligible-are-kept",
    of=_LEADERLESS,
    target=BOTH,
)
def an_elr_in_another_order(run: Altered, rng: random.Random) -> None:
    """The members of an ELR are named the other way round."""
    named = [r for r in _changes(run) if len(detail(r).get("eligibleLeaderReplicas") or ()) > 1]
    if not named:
        raise NotHere("no ELR of two")
    row = rng.choice(named)
    elr = detail(row)["eligibleLeaderReplicas"]
    run.change_record(row["offset"], "PartitionChange", eligibleLeaderReplicas=elr[::-1])


def _name_last(run: Altered, row: Row, named: list[int] | None) -> None:
    """Also in what brokers told."""
    was = detail(row)["lastKnownElr"]
    run.change_record(row["offset"], "PartitionChange", lastKnownElr=named)
    for probe in run.where("probes", kind="partition"):
        if probe["last_known_elr"] == was:
            probe["last_known_elr"] = named or []


def _naming(run: Altered, rng: random.Random) -> Row:
    found = [row for row in _leaderless(run) if detail(row).get("lastKnownElr")]
    if not found:
        raise NotHere("nobody was named as the last leader")
    return rng.choice(found)


@lie("last-known-leader-led", of=_LEADERLESS, target=BOTH)
def another_one_is_named_as_the_last_leader(run: Altered, rng: random.Random) -> None:
    """It had not led last."""
    row = _naming(run, rng)
    _name_last(run, row, [detail(row)["lastKnownElr"][0] % 3 + 1])


@lie("last-known-leader-led", of=_LEADERLESS, target=BOTH)
def two_are_named_as_the_last_leader(run: Altered, rng: random.Random) -> None:
    """The last leader, and another one."""
    row = _naming(run, rng)
    leader = detail(row)["lastKnownElr"][0]
    _name_last(run, row, [leader, leader % 3 + 1])


def _emptied(run: Altered) -> list[Row]:
    """Changes that left the ISR empty, and named what may lead then."""
    found = [row for row in _changes(run) if detail(row).get("isr") == []]
    if not found:
        raise NotHere("no ISR was ever empty")
    return found


@lie("can-be-led-again", of="fenced-last-leader", target=BOTH)
def what_may_lead_is_cleared_while_the_isr_is_empty(run: Altered, rng: random.Random) -> None:
    """As when min.insync.replicas of a topic changes: a ClearElr stands behind, before the next
    change of the partition."""
    row = rng.choice(_emptied(run))
    names = {detail(each)["topicId"]: detail(each)["name"] for each in run.records("Topic")}
    topic = detail(row)["topicId"]
    run.put_record(run.noops(row["offset"])[0], "ClearElr", {"topicName": names[topic]})


@lie("can-be-led-again", of=("fenced-last-leader", _LRS), target=BOTH)
def no_last_leader_is_named_when_nothing_else_is_left(run: Altered, rng: random.Random) -> None:
    """The last member leaves the ISR, and neither joins the ELR nor is the last known leader."""
    row = rng.choice(_emptied(run))
    run.change_record(
        row["offset"], "PartitionChange", eligibleLeaderReplicas=[], lastKnownElr=[_NO_LEADER]
    )


@legal("can-be-led-again", of=("fenced-last-leader", _LRS), target=BOTH)
def the_elr_of_another_topic_is_cleared(run: Altered, _: random.Random) -> None:
    """A ClearElr of a topic that is not there stands at the log's end, on every disk."""
    nodes = sorted({row["node"] for row in run.rows("log_batches")})
    run.append_to_metadata_log(nodes, "ClearElr", detail='{"topicName":"another"}')


@lie("E3-eligible-are-kept", of=_LRS, target=BOTH)
def an_eligible_replica_is_lost_on_the_way(run: Altered, rng: random.Random) -> None:
    """It leaves the ISR, which is too small then, and does not join the ELR."""
    left = [row for row in _changes(run) if detail(row).get("eligibleLeaderReplicas")]
    row = rng.choice([each for each in left if detail(each).get("isr") is not None])
    run.change_record(row["offset"], "PartitionChange", eligibleLeaderReplicas=[])


@lie("E3-eligible-are-kept", of=_LRS, target=BOTH)
def a_clean_registration_drops_its_broker(run: Altered, _: random.Random) -> None:
    """What a power cut was is a stop in good order, and the broker names the life before; the
    registration takes it out of the ELR all the same."""
    cut = first(run.where("faults", unclean=True), "no process ended uncleanly")
    cut.update(kind="stop", unclean=False, may_lose=False, evidence="stopped")
    kinds = sorted({fault["kind"] for fault in run.rows("faults")})
    run.inform(fault_kinds=tuple(kinds))
    [node] = cut["nodes"]
    lives: dict[str, list[Row]] = {}
    for row in run.events("b.life", node=node):
        lives.setdefault(row["incarnation"], []).append(row)
    if len(lives) > 1:  # it traces
        before, after = list(lives.values())[:2]
        for row in after:
            set_detail(row, previous=max(line["epoch"] for line in before))


@legal("E3-eligible-are-kept", of=_LRS, target=BOTH)
def a_broker_leaves_the_elr_by_a_kill(run: Altered, _: random.Random) -> None:
    """What a power cut was is a kill: that leaves no file that vouches for the logs either."""
    cut = first(run.where("faults", unclean=True), "no process ended uncleanly")
    cut.update(kind="kill", may_lose=False, evidence="the process is gone by SIGKILL")
    kinds = sorted({fault["kind"] for fault in run.rows("faults")})
    run.inform(fault_kinds=tuple(kinds))


# --- how soon clients are answered ---


def _in_calm(
    run: Altered, rng: random.Random, *, behind_ns: int = 3 * _SECOND // 2, **equal: object
) -> Row:
    """An operation that was quick, some time behind the first success (1.5 s if nothing is said),
    and a second before the first fault or the end of the load."""
    ended = [row["t1"] for row in run.ops(outcome="ok", phase="main")]
    begin = min(ended) + behind_ns
    faults = [row["t_start"] for row in run.rows("faults")]
    end = min([*faults, max(ended)])
    found = [
        row
        for row in run.ops(outcome="ok", phase="main", **equal)
        if begin < row["t0"] and row["t1"] < end - _SECOND
    ]
    if not found:
        raise NotHere("nothing was done in calm")
    return rng.choice(found)


@lie("calm-operations-are-quick", of="baseline", target=BOTH)
def a_read_waits_in_calm(run: Altered, rng: random.Random) -> None:
    """It takes 1.5 s more, until the end of the load at most."""
    row = _in_calm(run, rng, behind_ns=5 * _SECOND // 2, f="read")
    row["t0"] -= 3 * _SECOND // 2
    _not_before_the_first(run, row)


@lie("calm-operations-are-quick", of="baseline", target=BOTH)
def a_write_waits_in_calm(run: Altered, rng: random.Random) -> None:
    """Nothing was done to anybody, and it took half a second."""
    _in_calm(run, rng, behind_ns=5 * _SECOND // 2, f="write")["t0"] -= _SECOND // 2


def _not_before_the_first(run: Altered, row: Row) -> None:
    row["t0"] = max(row["t0"], min(each["t0"] for each in run.ops()))


@legal("calm-operations-are-quick", of="baseline", target=BOTH)
def an_operation_in_calm_is_a_little_slow(run: Altered, rng: random.Random) -> None:
    """By 50 ms."""
    _in_calm(run, rng)["t0"] -= 50_000_000


@legal("calm-operations-are-quick", of="kill-leader", target=BOTH)
def an_operation_waits_while_the_leader_is_off(run: Altered, rng: random.Random) -> None:
    """It was asked for before, and is answered by the next leader."""
    fault = first(run.where("faults", ends_process=True), "no process was ended")
    later = [
        row
        for row in run.ops(outcome="ok", phase="main")
        if fault["t_bit"] < row["t0"] < fault["t_healed"]
    ]
    if not later:
        raise NotHere("nothing succeeded meanwhile")
    rng.choice(later)["t0"] = fault["t_bit"]


@lie("answered-when-committed", of=("baseline", "disk-loss"))
def a_register_is_answered_by_a_time_out(run: Altered, rng: random.Random) -> None:
    """A write is answered a second after it was committed."""
    _in_calm(run, rng, f="write")["t1"] += _SECOND


@lie("answered-when-committed", of=(_LRS, "partition-brokers"))
def a_send_is_answered_by_a_time_out(run: Altered, rng: random.Random) -> None:
    """A send to all replicas in sync is answered a second after all have what was sent."""
    sent = Counter(span["op_id"] for span in run.where("spans", sent=True, acks=-1))
    waited = {op for op, spans in sent.items() if spans == 1}
    calm = [_in_calm(run, rng, behind_ns=_SECOND // 2, f="send") for _ in range(50)]
    rng.choice([row for row in calm if row["op_id"] in waited])["t1"] += _SECOND


@lie("answered-when-committed", of=(_LRS, "partition-brokers"))
def a_poll_is_answered_by_a_time_out(run: Altered, rng: random.Random) -> None:
    """A consumer is given half a second later what was there when it asked, or came meanwhile."""
    given = {span["op_id"] for span in run.where("spans", sent=False)}
    found = [row for row in run.ops(f="poll", outcome="ok", phase="main") if row["op_id"] in given]
    begin = min(row["t1"] for row in found) + _SECOND
    end = min(row["t_start"] for row in run.rows("faults")) - _SECOND
    rng.choice([row for row in found if begin < row["t0"] < end])["t1"] += _SECOND // 2


@legal("answered-when-committed", of=("baseline", "disk-loss"))
def a_register_is_answered_a_little_late(run: Altered, rng: random.Random) -> None:
    """By a tenth of a second."""
    _in_calm(run, rng, f="write")["t1"] += _SECOND // 10


@legal("answered-when-committed", of=(_LRS, "partition-brokers"))
def a_send_is_answered_a_little_late(run: Altered, rng: random.Random) -> None:
    """By a tenth of a second."""
    _in_calm(run, rng, behind_ns=_SECOND // 2, f="send")["t1"] += _SECOND // 10


# --- leaders that are left ---


def _departures(run: Altered) -> list[tuple[Row, Row]]:
    """Lines of followers that stood for election next, each with the line in which they do."""
    last: dict[str, Row] = {}
    found = []
    for row in run.events("q.state"):
        before = last.get(row["incarnation"])
        if before is not None and before["state"] == "follower" and row["state"] == "prospective":
            found.append((before, row))
        last[row["incarnation"]] = row
    if not found:
        raise NotHere("no follower stood for election")
    return found


@lie("heard-leader-is-kept", of=("kill-leader", "partition-leader"))
def a_leader_is_left_that_was_heard(run: Altered, rng: random.Random) -> None:
    """Its follower had an answer 0.3 s before, as it says itself."""
    _, stood = rng.choice(_departures(run))
    set_detail(stood, silent_ns=300_000_000)


@lie("heard-leader-is-kept", of=("kill-leader", "partition-leader"))
def a_leader_is_said_to_have_resigned(run: Altered, rng: random.Random) -> None:
    """Its follower had just begun to follow it, and says that it was told; the leader had not
    resigned, by its own trace."""
    followed, stood = rng.choice(_departures(run))
    leader, epoch = followed["leader"], followed["epoch"]
    set_detail(stood, silent_ns=-1)
    run.drop_events(
        lambda row: (
            row["event"] in ("q.state", "c.resign")
            and row["node"] == leader
            and row["epoch"] == epoch
            and row["state"] in ("resigned", None)
        )
    )
    for row in run.events("n.start", node=leader, epoch=epoch):
        row["leader"] = _NO_LEADER
    followed["t"] = stood["t"] - _SECOND // 2


@legal("heard-leader-is-kept", of=("kill-leader", "partition-leader"))
def a_leader_was_silent_for_longer(run: Altered, rng: random.Random) -> None:
    """By 0.2 s, by its follower's clock."""
    departures = [d for d in _departures(run) if detail(d[1]).get("silent_ns", -1) > 0]
    if not departures:
        raise NotHere("every leader that was left had resigned")
    _, stood = rng.choice(departures)
    set_detail(stood, silent_ns=detail(stood)["silent_ns"] + 200_000_000)


@legal("heard-leader-is-kept", of=("kill-leader", "partition-leader"))
def a_follower_had_no_answer_yet(run: Altered, rng: random.Random) -> None:
    """For all the time that it followed, longer than a time-out."""
    long = [d for d in _departures(run) if d[1]["t"] - d[0]["t"] > 2 * _SECOND]
    if not long:
        raise NotHere("nobody followed for so long")
    set_detail(rng.choice(long)[1], silent_ns=-1)
