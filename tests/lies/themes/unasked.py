"""What controllers do unasked: topics, configurations and features, and what they excuse by it."""

import random

from tests.lies.alteration import BOTH, legal, lie
from tests.lies.altered import NO_RECORD, Altered, NotHere, Row, detail, first, set_detail

MINIMUM, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
ELR = "eligible.leader.replicas.version"
TOPIC, BROKER = 2, 4  # resource types
GROWING = ("last-replica-standing", "power-off-brokers")
CHANGING = "ghost-topic"  # topics come and go, and min ISR changes


def configure(
    run: Altered, offset: int, kind: int, resource: str, name: str, value: str | None
) -> None:
    """A Config record in the place of a NoOp."""
    run.put_record(offset, "Config", resource_type=kind, resource=resource, name=name, value=value)


def some_noop(run: Altered, rng: random.Random) -> int:
    """Behind all that was made at first."""
    made = max(row["offset"] for row in run.records("Partition"))
    later = run.noops(after=made)
    return rng.choice(later or run.noops()[-1:])


def loads_topic(run: Altered) -> str:
    return f"{run.info.load['prefix']}-0"


def is_config_of(row: Row, topic: str, name: str) -> bool:
    told = (row["type"], row["resource_type"], row["resource"], row["name"])
    return told == ("Config", TOPIC, topic, name)


# --- configurations ---


@lie("configs-as-asked-for", of=GROWING, target=BOTH)
def min_isr_is_lowered_unasked(run: Altered, rng: random.Random) -> None:
    """The controller sets min.insync.replicas of a topic to 1 in the middle of the log."""
    configure(run, some_noop(run, rng), TOPIC, loads_topic(run), MINIMUM, "1")


@lie("configs-as-asked-for", of=GROWING, target=BOTH)
def a_configuration_is_forgotten(run: Altered, _: random.Random) -> None:
    """The min.insync.replicas with which a topic was made is in no log."""
    topic = loads_topic(run)
    if not run.erase_records(lambda row: is_config_of(row, topic, MINIMUM)):
        raise NotHere("it was made without")


@lie("configs-as-asked-for", of=CHANGING, target=BOTH)
def what_was_acknowledged_last_is_not_in_force(run: Altered, _: random.Random) -> None:
    """The last change of the brokers' min.insync.replicas was acknowledged, and is in no log."""
    last = max(row["offset"] for row in run.records("Config", resource_type=BROKER))
    run.erase_records(lambda row: row["offset"] == last)


@legal("configs-as-asked-for", of=CHANGING, target=BOTH)
def a_change_that_timed_out_was_not_made(run: Altered, _: random.Random) -> None:
    """Of the last change of the brokers' min.insync.replicas nobody knows, and it is in no log."""
    last = max(row["offset"] for row in run.records("Config", resource_type=BROKER))
    run.erase_records(lambda row: row["offset"] == last)
    asked = max(run.ops(f="set-min-isr", outcome="ok"), key=lambda row: row["invoke_index"])
    asked.update(outcome="info", error="timed out")


@legal("configs-as-asked-for", of=GROWING, target=BOTH)
def a_controller_writes_down_what_brokers_were_set_to(run: Altered, _: random.Random) -> None:
    """With eligible leader replicas it writes the min.insync.replicas of all brokers (KIP-966)."""
    least = run.info.settings["min_isr"]
    configure(run, run.noops()[0], BROKER, "", MINIMUM, least)


# --- topics ---


@lie("topics-as-asked-for", of=(CHANGING, "power-off-brokers"), target=BOTH)
def a_topic_has_one_replica(run: Altered, rng: random.Random) -> None:
    """A topic that was asked for with three replicas is made with one."""
    made = rng.choice(run.records("Partition"))
    for row in run.records("Partition", offset=made["offset"]):
        told = detail(row)
        one = told["replicas"][0]
        directories = told["directories"][:1]
        set_detail(row, replicas=[one], isr=[one], leader=one, directories=directories)


@lie("topics-as-asked-for", of=(CHANGING, "power-off-brokers"), target=BOTH)
def a_topic_has_no_partition(run: Altered, rng: random.Random) -> None:
    """A topic that was acknowledged has its Topic record, and no Partition."""
    made = rng.choice(run.records("Partition"))
    topic = detail(made)["topicId"]
    run.erase_records(
        lambda row: row["type"].startswith("Partition") and detail(row)["topicId"] == topic
    )


@lie("topics-as-asked-for", of=GROWING, target=BOTH)
def a_topic_is_made_unasked(run: Altered, rng: random.Random) -> None:
    """A topic stands in the log for which no client had asked."""
    made = {"name": "strange", "topicId": "AAAAAAAAAAAAAAAAAAAASQ"}
    run.put_record(some_noop(run, rng), "Topic", made)


@legal("topics-as-asked-for", of=CHANGING, target=BOTH)
def an_answer_to_a_creation_was_lost(run: Altered, rng: random.Random) -> None:
    """A topic is there, and the client that asked for it was told nothing."""
    created = [row for row in run.ops(f="create-topic") if "deleted" in row["key"]]
    rng.choice(created).update(outcome="info", error="timed out")


@legal("topics-as-asked-for", of=CHANGING, target=BOTH)
def a_creation_is_refused(run: Altered, rng: random.Random) -> None:
    """A client asks for one more topic, which is refused and is not there."""
    ops = run.rows("ops")
    last = max(row["complete_index"] or 0 for row in ops if row["phase"] == "main")
    like = rng.choice(run.ops(f="create-topic", phase="main"))
    refused = {**like, "op_id": 1 + max(row["op_id"] for row in ops), "process": 1_000_000}
    refused |= {"key": "append-refused", "outcome": "fail", "error": "error-38"}
    ops.append(refused | {"invoke_index": last + 0.1, "complete_index": last + 0.2})


# --- features ---


@lie("features-as-asked-for", of=GROWING, target=BOTH)
def a_feature_is_off_from_the_first(run: Altered, _: random.Random) -> None:
    """The cluster was formatted with eligible leader replicas, and the log says level 0."""
    for row in run.records("FeatureLevel", name=ELR):
        row["value"] = "0"


@lie("features-as-asked-for", of=GROWING, target=BOTH)
def a_feature_is_downgraded_unasked(run: Altered, rng: random.Random) -> None:
    """In the middle of the log the level of eligible leader replicas falls to 0."""
    run.put_record(some_noop(run, rng), "FeatureLevel", name=ELR, value="0")


@lie("features-as-asked-for", of=GROWING, target=BOTH)
def a_feature_is_forgotten(run: Altered, _: random.Random) -> None:
    """The level of eligible leader replicas is in no log."""
    for row in run.records("FeatureLevel", name=ELR):
        row.update(type="NoOp", **NO_RECORD)


@legal("features-as-asked-for", of=GROWING, target=BOTH)
def a_level_is_set_again(run: Altered, rng: random.Random) -> None:
    """A level is finalized once more, as it was."""
    level = first(run.records("FeatureLevel", name=ELR), "no level")["value"]
    run.put_record(some_noop(run, rng), "FeatureLevel", name=ELR, value=level)


@legal("features-as-asked-for", of=GROWING, target=BOTH)
def the_version_of_metadata_is_set_again(run: Altered, rng: random.Random) -> None:
    """The same of metadata.version."""
    name = "metadata.version"
    level = first(run.records("FeatureLevel", name=name), "no level")["value"]
    run.put_record(some_noop(run, rng), "FeatureLevel", name=name, value=level)


# --- what is excused by it ---


def stopped_in_good_order(run: Altered) -> None:
    """Kills spend nothing: their victims were told to stop, and did."""
    for row in run.where("faults", kind="kill"):
        row.update(kind="stop", unclean=False)


@lie("log-durability", "P10-leaders-hold-acknowledged", of="all-unclean", target=BOTH)
def one_loss_is_excused_by_a_min_isr_of_its_own(run: Altered, _: random.Random) -> None:
    """One replica of three lost its disk's cache, and the log says min.insync.replicas=1."""
    stopped_in_good_order(run)
    for row in run.records("Config", name=MINIMUM):
        row["value"] = "1"


@lie("log-durability", "P10-leaders-hold-acknowledged", of="all-unclean", target=BOTH)
def one_loss_is_excused_by_a_min_isr_that_is_lowered_later(run: Altered, _: random.Random) -> None:
    """The same, and clients lower the brokers' min.insync.replicas after the loss."""
    stopped_in_good_order(run)
    run.inform(load={**run.info.load, "configs": {}})
    topic = loads_topic(run)
    run.erase_records(lambda row: is_config_of(row, topic, MINIMUM))
    end = max(row["t_healed"] for row in run.rows("faults"))
    ask_for_min_isr(run, "1", end + 1_000_000)


def ask_for_min_isr(run: Altered, value: str, at_ns: int) -> None:
    """A client asks for it at some time, which is acknowledged a millisecond later; it is the last
    change that the metadata log has."""
    ops = run.rows("ops")
    before = [row for row in ops if row["t0"] <= at_ns]
    index = max(row["invoke_index"] for row in before)
    asked = dict.fromkeys(ops[0]) | {"op_id": 1 + max(row["op_id"] for row in ops)}
    asked |= {"process": 1_000_001, "f": "set-min-isr", "key": "cluster", "value": int(value)}
    asked |= {"outcome": "ok", "node": 1, "phase": "main", "t0": at_ns, "t1": at_ns + 1_000_000}
    ops.append(asked | {"invoke_index": index + 0.1, "complete_index": index + 0.2})
    configure(run, run.noops()[-1], BROKER, "", MINIMUM, value)


@legal("log-durability", "P10-leaders-hold-acknowledged", of="all-unclean", target=BOTH)
def as_many_as_min_isr_were_lost(run: Altered, rng: random.Random) -> None:
    """One of the brokers that were killed was stopped in good order: two are still too many."""
    rng.choice(run.where("faults", kind="kill")).update(kind="stop", unclean=False)


@legal("log-durability", "P10-leaders-hold-acknowledged", of="unclean-leader", target=BOTH)
def unclean_elections_were_asked_for_by_their_full_name(run: Altered, _: random.Random) -> None:
    """The brokers' files say unclean.leader.election.enable=true: it is what was asked for."""
    settings = {name: value for name, value in run.info.settings.items() if name != "unclean"}
    run.inform(settings={**settings, UNCLEAN: "true"})


@lie("log-durability", "E8-nobody-else-is-elected", of="unclean-leader", target=BOTH)
def an_unclean_election_is_excused_by_a_configuration_of_its_own(
    run: Altered, _: random.Random
) -> None:
    """Nobody asked for unclean elections; the log says unclean.leader.election.enable=true."""
    run.inform(settings={**run.info.settings, "unclean": "off"})
    configure(run, run.noops()[0], TOPIC, loads_topic(run), UNCLEAN, "true")


@lie(
    "P17-acknowledged-with-min-isr",
    "P8-shown-with-min-isr",
    of="power-off-brokers",
)
def more_was_promised_than_the_log_says(run: Altered, _: random.Random) -> None:
    """Clients asked for a min ISR of 3, the log says 2, and two acknowledge."""
    run.inform(load={**run.info.load, "configs": {MINIMUM: "3"}})


@lie(
    "P17-acknowledged-with-min-isr",
    "P8-shown-with-min-isr",
    of="last-replica-standing",
    target=BOTH,
)
def the_isr_never_grows_again(run: Altered, _: random.Random) -> None:
    """The last leader acknowledges and shows records, and its ISR is itself alone to the end."""
    elected = max(
        (row for row in run.records("PartitionChange") if detail(row).get("leader", -1) > 0),
        key=lambda row: int(row["offset"]),
    )
    gone = run.erase_records(
        lambda row: row["type"] == "PartitionChange" and row["offset"] > elected["offset"]
    )
    if not gone:
        raise NotHere("the ISR did not grow again")
    newest = max(row["epoch"] for row in run.where("probes", kind="partition"))
    for row in run.where("probes", kind="partition", epoch=newest):
        row["isr"] = [detail(elected)["leader"]]


@legal(
    "P17-acknowledged-with-min-isr",
    "P8-shown-with-min-isr",
    of="hwm-under-min-isr",
    target=BOTH,
)
def less_was_promised_than_brokers_were_set_to(run: Altered, _: random.Random) -> None:
    """The min ISR of all brokers is 3; the topic was asked for with 2, and has 2."""
    run.inform(settings={**run.info.settings, "min_isr": "3"})
    for row in run.records("Config", resource_type=BROKER, resource="", name=MINIMUM):
        row["value"] = "3"


@legal(
    "P17-acknowledged-with-min-isr",
    "P8-shown-with-min-isr",
    of="last-replica-standing",
    target=BOTH,
)
def an_acknowledgement_came_late(run: Altered, rng: random.Random) -> None:
    """An answer took 3 ms longer."""
    rng.choice(run.ops(f="send", outcome="ok", phase="main"))["t1"] += 3_000_000
