"""Whether there was enough to judge, whether all nodes went on, and whether evidence is whole."""

import random

from checkers.history.events import ACCEPTED
from tests.lies.alteration import BOTH, NOT_GREEN, UNTRACED, legal, lie
from tests.lies.altered import Altered, first
from tests.lies.derived import KAFKAS

QUORUMS = ("partition-leader", "kill-leader")
ANY = ("partition-leader", "last-replica-standing")
SECOND = 1_000_000_000


@lie("answers-well-formed", of=ANY, target=BOTH)
def an_answer_is_malformed(run: Altered, rng: random.Random) -> None:
    """A node answers a request with bytes that end early."""
    run.rows("malformed").append(
        {
            "t": run.info.duration_ns // 2,
            "node": rng.choice(run.nodes),
            "api": "Metadata",
            "problem": "ends early",
            "head": "00",
        }
    )


@legal("answers-well-formed", of=ANY, target=BOTH)
def an_operation_ended_with_its_connection(run: Altered, rng: random.Random) -> None:
    """An operation of unknown fate ended with its connection, not with its time."""
    rng.choice(run.ops(outcome="info", phase="main"))["error"] = "closed: end of stream"


@legal("answers-well-formed", "wrong-requests-refused", of=QUORUMS, target=BOTH)
def an_operation_of_unknown_fate_timed_out(run: Altered, rng: random.Random) -> None:
    """An operation of unknown fate timed out."""
    rng.choice(run.ops(outcome="info", phase="main"))["error"] = "timed-out"


@lie("wrong-requests-refused", of=QUORUMS)
def a_wrong_request_is_accepted(run: Altered, rng: random.Random) -> None:
    """What has to be refused is answered as a success."""
    refused = [row for row in run.rows("ops") if (row["error"] or "").startswith("refused")]
    row = rng.choice(refused)
    row.update(outcome="info", error=f"{ACCEPTED}a config that there is not", process=10**6)


@lie("wrong-requests-refused", of="power-off", target=BOTH)
def another_wrong_request_is_accepted(run: Altered, rng: random.Random) -> None:
    """What has to be refused of any target is answered as a success."""
    refused = [row for row in run.rows("ops") if (row["error"] or "").startswith("refused")]
    row = rng.choice(refused)
    row.update(outcome="info", error=f"{ACCEPTED}a config that there is not", process=10**6)


@lie("nodes-kept-running", of=ANY, target=BOTH)
def a_node_ends_by_itself(run: Altered, rng: random.Random) -> None:
    """A process of a node ended with code 1, and no fault did that to it."""
    end = {"node": rng.choice(run.nodes), "t_ns": 2 * SECOND, "exit_code": 1, "words": "panic"}
    run.inform(unasked_ends=(end,))


@lie("nodes-kept-running", of=ANY, target=BOTH)
def a_step_never_ends(run: Altered, rng: random.Random) -> None:
    """A node was halted amid a step that did not end."""
    end = {
        "node": rng.choice(run.nodes),
        "t_ns": 2 * SECOND,
        "exit_code": 137,
        "words": "",
        "halted": "does not end a step within 20 s of CPU time (life 1, step 7: start)",
    }
    run.inform(unasked_ends=(end,))


@lie("nodes-kept-running", of=ANY, target=BOTH)
def a_node_ends_before_the_proxy_does(run: Altered, rng: random.Random) -> None:
    """A process of a node ended, and a second later the proxy did: that excuses nothing."""
    end = {"node": rng.choice(run.nodes), "t_ns": 2 * SECOND, "exit_code": 1, "words": "panic"}
    failed = {"part": "the proxy", "what": "ended with exit code 137", "t_ns": 3 * SECOND}
    run.inform(unasked_ends=(end,), machinery=failed)


@legal("nodes-kept-running", of=ANY, target=BOTH)
def a_fault_took_a_little_longer(run: Altered, rng: random.Random) -> None:
    """The cure of the last fault was done a millisecond later."""
    run.rows("faults")[-1]["t_healed"] += 1_000_000


@lie("recovers-when-healed", of=ANY, target=BOTH)
def nothing_is_acknowledged_after_the_cure(run: Altered, _: random.Random) -> None:
    """All was healed, and no write was acknowledged within 30 s."""
    run.inform(stuck="no write was acknowledged within 30 s", stuck_for_sure=True)


@legal("recovers-when-healed", of=ANY, target=BOTH)
def a_run_took_a_little_longer(run: Altered, _: random.Random) -> None:
    """The run ended a millisecond later."""
    run.inform(duration_ns=run.info.duration_ns + 1_000_000)


@lie("calm-operations-are-quick", of=("disk-loss", "membership-churn-4"), target=BOTH)
def an_operation_is_slow_in_calm(run: Altered, rng: random.Random) -> None:
    """In calm an operation takes 4 s."""
    over = max(fault["t_healed"] for fault in run.rows("faults"))
    run.inform(duration_ns=run.info.duration_ns + 20 * SECOND)
    base = first(run.ops(f="read", outcome="ok", phase="main"), "nothing was read")
    last = max(row["invoke_index"] for row in run.ops(phase="main"))
    for number in range(100):
        at = over + 15 * SECOND + number * SECOND // 20
        slow = 4 * SECOND if number == 50 else 5_000_000
        row = {
            **base,
            "op_id": 10**6 + number,
            "process": 10**6 + number,
            "t0": at,
            "t1": at + slow,
        }
        row |= {"invoke_index": last + 0.002 * number + 0.1, "value": base["value"]}
        row |= {"complete_index": row["invoke_index"] + 0.001, "f": "read", "outcome": "fail"}
        run.rows("ops").append({**row, "value": None, "error": "error-41"})


@lie("record-complete", of=ANY, target=BOTH, want=NOT_GREEN)
def a_run_broke_off(run: Altered, _: random.Random) -> None:
    """The run did not come to its end."""
    run.inform(finished=False)


@lie("record-complete", of="baseline", target=BOTH, want=NOT_GREEN)
def a_run_had_trouble(run: Altered, _: random.Random) -> None:
    """The harness had trouble before the end of the run."""
    run.inform(finished=False, trouble="the recorder's disk was full")


@legal(
    "record-complete", "evidence-complete", "faults-bit", "workload-succeeded", of=ANY, target=BOTH
)
def a_fault_has_more_to_tell(run: Altered, rng: random.Random) -> None:
    """The evidence of a fault is said in other words."""
    rng.choice(run.rows("faults"))["evidence"] = "it bit"


@lie("workload-succeeded", of=ANY, target=BOTH, want=NOT_GREEN)
def too_little_succeeded(run: Altered, rng: random.Random) -> None:
    """All but 20 operations were refused before the final reads."""
    done = run.ops(outcome="ok", phase="main")
    for row in done[20:]:
        if row["f"] in ("read", "poll"):
            row.update(outcome="fail", value=None, error="timed-out")
        elif row["f"] in ("write", "send", "delete"):
            row.update(outcome="info", error="timed-out", process=10**6 + row["op_id"])
    failed = {row["op_id"] for row in run.ops(f="poll", outcome="fail")}
    lost = {row["op_id"] for row in run.ops(f="send", outcome="info")}
    run.keep("spans", lambda row: row["op_id"] not in failed)
    for span in run.rows("spans"):
        if span["op_id"] in lost:
            span["offset"] = None


@lie("faults-bit", of=ANY, target=BOTH, want=NOT_GREEN)
def a_fault_left_no_evidence(run: Altered, rng: random.Random) -> None:
    """A fault left no evidence that it bit."""
    rng.choice(run.rows("faults")).update(bit=False, evidence=None)


@lie("faults-bit", of=ANY, target=BOTH, want=NOT_GREEN)
def a_planned_kind_never_struck(run: Altered, rng: random.Random) -> None:
    """A kind of fault that was planned is not among the faults."""
    run.inform(fault_kinds=[*run.info.fault_kinds, "torn-tail"])


@lie("evidence-complete", of=ANY, target=BOTH, want=NOT_GREEN)
def clients_counted_more_operations(run: Altered, rng: random.Random) -> None:
    """The last operations of a process are gone, and the order of events has a gap there."""
    run.keep("disks", lambda row: row["node"] != 1)


@lie("evidence-complete", of=ANY, target=BOTH, want=NOT_GREEN)
def an_operation_began_before_the_run(run: Altered, rng: random.Random) -> None:
    """No recorder was there to note it."""
    rng.choice(run.ops(outcome="ok"))["t0"] = -1


@lie("evidence-complete", of=QUORUMS, want=NOT_GREEN)
def a_trace_lacks_its_end(run: Altered, rng: random.Random) -> None:
    """A node was stopped in good order, and its trace does not say so."""
    run.drop_events(lambda row: row["event"] == "n.stop" and row["node"] == 2)


@lie("came-about", of="snapshot-catch-up", want=NOT_GREEN)
def what_a_run_is_about_never_happened(run: Altered, rng: random.Random) -> None:
    """No node traces that it loaded a snapshot."""
    run.drop_events(lambda row: row["event"] == "q.loaded")


@lie("came-about", of="snapshot-catch-up", want=NOT_GREEN)
def a_run_is_about_something_else(run: Altered, rng: random.Random) -> None:
    """The scenario is about something that no node traces."""
    run.inform(to_show=("q.never",))


@lie("came-about", of="snapshot-catch-up", target=UNTRACED, want=NOT_GREEN)
def no_disk_shows_what_a_run_is_about(run: Altered, _: random.Random) -> None:
    """The log of no follower begins behind what was committed when it went."""
    for row in run.where("probes", kind="quorum"):
        row["high_watermark"] += 100_000


@legal("came-about", of=("snapshot-catch-up", "snapshot-catch-up-4"))
def a_snapshot_was_loaded_twice(run: Altered, rng: random.Random) -> None:
    """A run is about what happened, named twice."""
    run.inform(to_show=(*run.info.to_show, *run.info.to_show))


@legal("calm-operations-are-quick", of=("membership-churn", "baseline"), target=BOTH)
def an_operation_takes_twice_as_long(run: Altered, rng: random.Random) -> None:
    """In calm an operation takes twice as long as it did."""
    row = rng.choice(run.ops(f="write", outcome="ok", phase="main"))
    row["t0"] -= row["t1"] - row["t0"]


# --- of two programs, and of what only Apache Kafka has ---


@lie("no-complaint-in-logs", of="two-programs", target=BOTH)
def kafka_logs_an_error(run: Altered, rng: random.Random) -> None:
    """The node of Apache Kafka logs that it could not load a record."""
    line = {"node": KAFKAS, "t": SECOND, "level": "ERROR"}
    text = "Encountered metadata loading fault: Error replaying metadata log record"
    run.rows("log_errors").append({**line, "text": text, "cause": None})


@lie("no-complaint-in-logs", of="two-programs", target=BOTH)
def our_node_cannot_replay(run: Altered, rng: random.Random) -> None:
    """Our node says that its log holds a record that it cannot replay."""
    start = rng.choice(run.events("n.start"))
    run.insert_event({**start, "event": "q.unfit", "offset": 7, "detail": None}, after=start)


@legal("no-complaint-in-logs", of="two-programs", target=BOTH)
def kafka_logs_that_it_was_slow(run: Altered, rng: random.Random) -> None:
    """The node of Apache Kafka logs that an event took long."""
    line = {"node": KAFKAS, "t": SECOND, "level": "ERROR", "cause": None}
    text = "Exceptionally slow controller event createTopics took 2000 ms"
    run.rows("log_errors").append({**line, "text": text})


@lie("each-side-led", "each-side-created-topics", of="two-programs", target=BOTH, want=NOT_GREEN)
def kafka_never_led(run: Altered, rng: random.Random) -> None:
    """No probe was told that the node of Apache Kafka leads."""
    run.keep("probes", lambda row: row["leader"] != KAFKAS)


@legal("each-side-led", "each-side-created-topics", of="two-programs", target=BOTH)
def a_leader_is_told_of_again(run: Altered, rng: random.Random) -> None:
    """A probe was told once more who leads."""
    told = rng.choice(run.where("probes", kind="quorum"))
    run.rows("probes").append({**told, "t0": told["t0"] + 1, "t1": told["t1"] + 1})


@lie("look-ups-find-records", of="looked-up", target=BOTH)
def a_look_up_finds_nothing(run: Altered, rng: random.Random) -> None:
    """A look-up by time is told that there is no record."""
    rng.choice(run.ops(f="look-up"))["value"] = -1


@legal("look-ups-find-records", of="looked-up", target=BOTH)
def a_look_up_failed(run: Altered, rng: random.Random) -> None:
    """A look-up by time got no answer."""
    rng.choice(run.ops(f="look-up")).update(outcome="fail", value=None, error="timed-out")


@lie("no-request-unseats", of="asked-operations", target=BOTH)
def a_request_ends_an_epoch(run: Altered, rng: random.Random) -> None:
    """A request is answered with an unknown error, and then the quorum is in a later epoch."""
    request = rng.choice(run.ops(f="alter-configs"))
    request["error"] = "UNKNOWN_SERVER_ERROR"
    for row in run.ops(f="quorum-epoch"):
        row["value"] += row["t0"] > request["t0"]


@legal("no-request-unseats", of="asked-operations", target=BOTH)
def a_request_fails_and_the_leader_leads_on(run: Altered, rng: random.Random) -> None:
    """A request is answered with an unknown error, and the quorum stays in its epoch."""
    rng.choice(run.ops(f="alter-configs"))["error"] = "UNKNOWN_SERVER_ERROR"


@lie("ended-transactions-are-over", of="transactions", target=BOTH)
def a_transaction_hangs(run: Altered, rng: random.Random) -> None:
    """Committed transactions can be read ten records less far than all records, for seconds."""
    for row in run.ops(f="committed-end"):
        row["value"] -= 10


@legal("ended-transactions-are-over", of="transactions", target=BOTH)
def a_transaction_hangs_for_a_moment(run: Altered, rng: random.Random) -> None:
    """Committed transactions can be read as far as all records two seconds later."""
    for row in run.ops(f="committed-end")[:4]:
        row["value"] -= 10
