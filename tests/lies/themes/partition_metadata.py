"""What the metadata log holds of brokers, topics and partitions."""

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.lies.alteration import BOTH, UNTRACED, legal, lie
from tests.lies.altered import Altered, NotHere, Row, detail, first, set_detail

STANDING = "last-replica-standing"
STORM = "isr-shrink-storm"
BASES = ("last-replica-standing", "isr-shrink-storm")
ELIGIBLE = ("last-replica-standing", "fenced-last-leader")


def on_one_disk(run: Altered, *types: str) -> list[Row]:
    """The records of these types, in the log's order, each once."""
    node = run.rows("log_records")[0]["node"]
    return [row for row in run.where("log_records", node=node) if row["type"] in types]


class Change(NamedTuple):
    """A PartitionChange: what it says, and the partition's state before and after it."""

    row: Row
    told: dict[str, Any]
    before: dict[str, Any]
    after: dict[str, Any]


def states(run: Altered) -> Iterator[Change]:
    """Each PartitionChange of the log."""
    known: dict[tuple[str, int], dict[str, Any]] = {}
    for row in on_one_disk(run, "Partition", "PartitionChange"):
        told = detail(row)
        which = (told["topicId"], told["partitionId"])
        before = known.get(which, {})
        after = {**before, **told}
        known[which] = after
        if row["type"] == "PartitionChange":
            yield Change(row, told, before, after)


def chosen(run: Altered, rng: random.Random, wanted: Callable[[Change], bool]) -> Change:
    """One change that is wanted."""
    found = list(filter(wanted, states(run)))
    if not found:
        raise NotHere("no such change of a partition")
    return rng.choice(found)


def eligible(state: dict[str, Any]) -> list[int]:
    return list(state.get("eligibleLeaderReplicas") or [])


def silence_probes(run: Altered) -> None:
    """What brokers answered of partitions says nothing else than the altered log."""
    for row in run.where("probes", kind="partition"):
        row.update(isr=None, elr=None, last_known_elr=None, leader=None, epoch=None)


@lie("P1-one-leader-per-epoch", of=BASES, target=BOTH)
def a_replica_holds_an_epoch_without_a_leader(run: Altered, rng: random.Random) -> None:
    """Batches on disks are of an epoch of which the log never heard."""
    key = run.rows("replica_batches")[0]["key"]
    top = max(row["epoch"] for row in run.where("replica_batches", key=key))
    for row in run.where("replica_batches", key=key, epoch=top):
        row["epoch"] = top + 7


@lie("P2-leader-in-isr", of=BASES, target=BOTH)
def a_leader_is_not_in_the_isr(run: Altered, rng: random.Random) -> None:
    """An ISR is told without the broker that leads."""
    row, _, _, after = chosen(run, rng, lambda c: len(c.told.get("isr", ())) > 1)
    run.change_record(
        row["offset"], row["type"], isr=[n for n in after["isr"] if n != after["leader"]]
    )


@lie("P3-only-active-brokers-lead", of=ELIGIBLE, target=BOTH)
def a_fenced_broker_joins_the_isr(run: Altered, rng: random.Random) -> None:
    """A broker that is fenced is in an ISR that is told."""
    for row, _, _, after in states(run):
        fenced = _fenced_at(run, row["offset"]) & set(after["replicas"])
        out = sorted(fenced - set(after["isr"]) - set(eligible(after)))
        if out and "isr" in detail(row):
            run.change_record(row["offset"], row["type"], isr=[*after["isr"], rng.choice(out)])
            return
    raise NotHere("nobody was fenced as an ISR changed")


def _fenced_at(run: Altered, offset: int) -> set[int]:
    fenced: set[int] = set()
    for row in on_one_disk(run, "RegisterBroker", "BrokerRegistrationChange"):
        if row["offset"] < offset:
            told = detail(row)
            if row["type"] == "RegisterBroker" or told.get("fenced") == 1:
                fenced.add(told["brokerId"])
            elif told.get("fenced") == -1:
                fenced.discard(told["brokerId"])
    return fenced


@lie("E1-isr-elr-disjoint", of=ELIGIBLE, target=BOTH)
def a_broker_is_in_isr_and_elr(run: Altered, rng: random.Random) -> None:
    """A member of the ISR is eligible besides."""
    row, _, _, after = chosen(run, rng, lambda c: bool(eligible(c.after) and c.told.get("isr")))
    run.change_record(
        row["offset"], row["type"], eligibleLeaderReplicas=[*eligible(after), after["isr"][0]]
    )


@lie("E2-elr-below-min-isr", of=BASES, target=BOTH)
def an_elr_stands_beside_a_whole_isr(run: Altered, rng: random.Random) -> None:
    """An ISR of two, which is min ISR, leaves the third replica eligible."""
    row, _, _, after = chosen(
        run, rng, lambda c: len(c.told.get("isr", ())) == 2 and not eligible(c.after)
    )
    out = [node for node in after["replicas"] if node not in after["isr"]]
    run.change_record(row["offset"], row["type"], eligibleLeaderReplicas=out)


@lie("E3-eligible-are-kept", of=ELIGIBLE, target=BOTH)
def an_eligible_replica_goes_missing(run: Altered, rng: random.Random) -> None:
    """A replica that leaves an ISR below min ISR does not become eligible."""
    row, _, _, _ = chosen(run, rng, lambda c: len(eligible(c.after)) > len(eligible(c.before)))
    run.change_record(row["offset"], row["type"], eligibleLeaderReplicas=[])


@lie("E4-elr-joined-from-isr", of=ELIGIBLE, target=BOTH)
def a_replica_is_eligible_from_nowhere(run: Altered, rng: random.Random) -> None:
    """A replica that was not in the ISR becomes eligible."""
    row, _, before, after = chosen(
        run,
        rng,
        lambda c: (
            len(eligible(c.after)) > len(eligible(c.before))
            and len(c.before["isr"]) + len(eligible(c.before)) < len(c.before["replicas"])
        ),
    )
    out = [n for n in after["replicas"] if n not in before["isr"] and n not in eligible(after)]
    run.change_record(row["offset"], row["type"], eligibleLeaderReplicas=[*eligible(after), out[0]])


@lie(
    "E5-unclean-registration-drops",
    "E6-lost-bytes-are-not-clean",
    of=("last-replica-standing", "unclean-leader-registered"),
    target=BOTH,
)
def one_that_lost_its_power_stays_eligible(run: Altered, rng: random.Random) -> None:
    """A broker registers after a power cut and stays in the ELR."""
    row, _, before, _ = chosen(
        run, rng, lambda c: len(eligible(c.after)) < len(eligible(c.before)) and "isr" not in c.told
    )
    run.change_record(row["offset"], row["type"], eligibleLeaderReplicas=eligible(before))


@lie("E7-elr-elected-with-empty-isr", of=STANDING, target=BOTH)
def an_eligible_replica_is_elected_beside_an_isr(run: Altered, rng: random.Random) -> None:
    """A member of the ELR is elected and the last member of the ISR stays in it."""
    row, _, _, after = chosen(
        run, rng, lambda c: c.told.get("leader", -1) > 0 and c.told["leader"] in eligible(c.before)
    )
    other = next(node for node in after["replicas"] if node != after["leader"])
    run.change_record(row["offset"], row["type"], isr=[after["leader"], other])


@lie("E8-nobody-else-is-elected", of=STANDING, target=BOTH)
def an_outsider_is_elected(run: Altered, rng: random.Random) -> None:
    """A replica that is neither in the ISR nor eligible is elected."""
    row, _, before, after = chosen(
        run, rng, lambda c: c.told.get("leader", -1) > 0 and c.told["leader"] in eligible(c.before)
    )
    out = [n for n in after["replicas"] if n not in before["isr"] and n not in eligible(before)]
    node = out[0] if out else None
    if node is None:
        raise NotHere("every replica was eligible")
    run.change_record(row["offset"], row["type"], leader=node, isr=[node])


@lie("E9-unclean-leader-recovers", of="unclean-leader", target=BOTH)
def an_unclean_leader_does_not_recover(run: Altered, rng: random.Random) -> None:
    """A leader that was elected uncleanly is not RECOVERING."""
    row, _, _, _ = chosen(run, rng, lambda c: c.told.get("leaderRecoveryState") == 1)
    run.change_record(row["offset"], row["type"], leaderRecoveryState=None)


@lie("E9-unclean-leader-recovers", of="unclean-leader", target=BOTH)
def an_unclean_leader_has_others_in_its_isr(run: Altered, rng: random.Random) -> None:
    """A leader that was elected uncleanly keeps another replica in its ISR."""
    row, _, _, after = chosen(run, rng, lambda c: c.told.get("leaderRecoveryState") == 1)
    other = next(node for node in after["replicas"] if node != after["leader"])
    run.change_record(row["offset"], row["type"], isr=[after["leader"], other])


@lie("E11-elr-alone-keeps-epoch", of=ELIGIBLE, target=BOTH)
def an_elr_that_changes_alone_raises_the_epoch(run: Altered, rng: random.Random) -> None:
    """An ELR changes alone, and the leader is named anew, by which its epoch rises."""
    row, _, before, _ = chosen(
        run,
        rng,
        lambda c: (
            eligible(c.after) != eligible(c.before)
            and "isr" not in c.told
            and "leader" not in c.told
        ),
    )
    run.change_record(row["offset"], row["type"], leader=before["leader"])


@lie("M3-broker-epochs-rise", of=ELIGIBLE, target=BOTH)
def a_broker_epoch_goes_back(run: Altered, rng: random.Random) -> None:
    """A broker that registers again has an epoch below its first one."""
    rows = on_one_disk(run, "RegisterBroker")
    again = [
        r
        for i, r in enumerate(rows)
        if detail(r)["brokerId"] in {detail(x)["brokerId"] for x in rows[:i]}
    ]
    old = detail(rng.choice(again))["brokerEpoch"]
    for type_ in ("RegisterBroker", "BrokerRegistrationChange"):
        for row in run.records(type_):
            if detail(row)["brokerEpoch"] == old:
                set_detail(row, brokerEpoch=2)


@lie("M5-producer-ids-unique", of=BASES, target=BOTH)
def a_block_is_handed_out_twice(run: Altered, rng: random.Random) -> None:
    """A block of producer ids is handed out to two brokers."""
    rows = on_one_disk(run, "ProducerIds")
    if len(rows) < 2:
        raise NotHere("one block only")
    before, again = rows[0], rows[1]
    for row in run.records("ProducerIds", offset=again["offset"]):
        set_detail(row, nextProducerId=detail(before)["nextProducerId"])


@lie("M6-acknowledged-topics-committed", of=BASES, target=BOTH)
def an_acknowledged_topic_is_in_no_log(run: Altered, rng: random.Random) -> None:
    """One more topic was acknowledged as created, and no log has it."""
    made = first(run.ops(f="create-topic", outcome="ok"), "no topic was created")
    last = max(row["complete_index"] or 0 for row in run.rows("ops"))
    process = max(row["process"] for row in run.rows("ops")) + 1
    again = {**made, "op_id": 10**6, "process": process, "key": "never-made"}
    run.rows("ops").append({**again, "invoke_index": last + 0.1, "complete_index": last + 0.2})


@lie("deleted-topics-are-gone", of=("partition-brokers", "ghost-topic"), target=BOTH)
def a_deleted_topic_changes(run: Altered, rng: random.Random) -> None:
    """A partition of a topic that was deleted is changed after that."""
    removed = rng.choice(on_one_disk(run, "RemoveTopic"))
    later = [offset for offset in run.noops() if offset > removed["offset"]]
    if not later:
        raise NotHere("no NoOp behind a deletion")
    change = {"partitionId": 0, "topicId": detail(removed)["topicId"], "isr": [1]}
    run.put_record(later[0], "PartitionChange", change)


@lie("reassigned-when-in-sync", of=STANDING, target=UNTRACED)
@lie("reassigned-when-in-sync", of=STORM, target=BOTH)
def a_reassignment_ends_too_early(run: Altered, rng: random.Random) -> None:
    """A reassignment is done while one of the replicas that are left is not in the ISR."""
    row, _, _, after = chosen(
        run, rng, lambda c: len(c.told.get("isr", ())) == 2 and len(c.after["replicas"]) == 3
    )
    gone = [node for node in after["replicas"] if node not in after["isr"]]
    earlier = [o for o in run.noops() if o < row["offset"]]
    which = {name: after[name] for name in ("topicId", "partitionId")}
    run.put_record(earlier[-1], "PartitionChange", {**which, "removingReplicas": [after["isr"][1]]})
    run.change_record(
        row["offset"],
        row["type"],
        replicas=[after["leader"], *gone],
        removingReplicas=[],
        isr=[after["leader"]],
    )


@lie("reassigned-when-in-sync", of=STANDING, target=UNTRACED)
@lie("reassigned-when-in-sync", of=STORM, target=BOTH)
def a_reassignment_ends_as_it_begins(run: Altered, rng: random.Random) -> None:
    """One record moves a partition to two replicas, one of which is not in the ISR."""
    row, _, _, after = chosen(
        run, rng, lambda c: len(c.told.get("isr", ())) == 2 and len(c.after["replicas"]) == 3
    )
    gone = [node for node in after["replicas"] if node not in after["isr"]]
    replicas = [after["leader"], *gone]
    run.change_record(row["offset"], row["type"], replicas=replicas, isr=[after["leader"]])


@lie("P18-reassignments-end", of=BASES, target=BOTH)
def a_reassignment_never_ends(run: Altered, rng: random.Random) -> None:
    """At the end, with all replicas in the ISR, one of them is still to be removed."""
    *_, (row, _, _, after) = states(run)
    leaves = next(node for node in after["replicas"] if node != after["leader"])
    run.change_record(row["offset"], row["type"], removingReplicas=[leaves])


@lie("brokers-know-the-topics", of="ghost-topic", target=BOTH)
def a_broker_knows_a_deleted_topic(run: Altered, rng: random.Random) -> None:
    """A broker says that it knows a topic that was deleted long before."""
    rng.choice(run.ops(f="describe-topic", outcome="ok", value=0))["value"] = 1


@lie("brokers-know-the-topics", of="ghost-topic", target=BOTH)
def a_broker_lacks_a_topic(run: Altered, rng: random.Random) -> None:
    """A broker does not know a topic that was created, while it knows later ones."""
    known = run.ops(f="describe-topic", outcome="ok", value=1)
    rng.choice(known[: len(known) // 2])["value"] = 0


@legal("brokers-know-the-topics", of="ghost-topic", target=BOTH)
def a_question_for_a_topic_failed(run: Altered, rng: random.Random) -> None:
    """One question for a topic got no answer."""
    rng.choice(run.ops(f="describe-topic", outcome="ok")).update(
        outcome="fail", value=None, error="timed-out"
    )


@legal("brokers-know-the-topics", "deleted-topics-are-gone", of="ghost-topic", target=BOTH)
def a_deletion_timed_out(run: Altered, rng: random.Random) -> None:
    """The last deletion of a topic was not acknowledged, and done."""
    last = run.ops(f="delete-topic", outcome="ok")[-1]
    last.update(outcome="info", error="timed-out", process=10**6)


@legal(
    "P1-one-leader-per-epoch",
    "P2-leader-in-isr",
    "P3-only-active-brokers-lead",
    "E1-isr-elr-disjoint",
    "E2-elr-below-min-isr",
    "E3-eligible-are-kept",
    "E4-elr-joined-from-isr",
    "E5-unclean-registration-drops",
    "E6-lost-bytes-are-not-clean",
    "E7-elr-elected-with-empty-isr",
    "E8-nobody-else-is-elected",
    "E11-elr-alone-keeps-epoch",
    "M3-broker-epochs-rise",
    "M5-producer-ids-unique",
    "M6-acknowledged-topics-committed",
    "reassigned-when-in-sync",
    "P18-reassignments-end",
    of=BASES,
    target=BOTH,
)
@legal("E9-unclean-leader-recovers", of="unclean-leader", target=BOTH)
@legal("deleted-topics-are-gone", of="partition-brokers", target=BOTH)
def an_isr_is_told_in_another_order(run: Altered, rng: random.Random) -> None:
    """An ISR names the same replicas in another order, in the log and in what brokers answer."""
    row, _, _, after = chosen(run, rng, lambda c: len(c.told.get("isr", ())) > 1)
    run.change_record(row["offset"], row["type"], isr=after["isr"][::-1])


@legal("M5-producer-ids-unique", "M3-broker-epochs-rise", of=BASES, target=UNTRACED)
def a_block_is_larger(run: Altered, rng: random.Random) -> None:
    """The last block of producer ids that was handed out has a thousand more."""
    last = on_one_disk(run, "ProducerIds")[-1]
    block = detail(last)["nextProducerId"] + 1000
    run.change_record(last["offset"], "ProducerIds", nextProducerId=block)
