"""What brokers trace of their partitions, their lives and the records that they replay."""

import random

from tests.lies.alteration import legal, lie
from tests.lies.altered import Altered, NotHere, Row, detail, first, set_detail
from tests.lies.themes.elections import process_of

ROLL = "controlled-shutdown-roll"
ROLLS = ("controlled-shutdown-roll", "slow-roll")
STANDING = "last-replica-standing"


def of_partition(row: Row) -> tuple[int, str, str, int, int]:
    told = detail(row)
    return row["node"], row["incarnation"], told["topic"], told["index"], row["epoch"]


def moves(run: Altered, at_least: int) -> list[Row]:
    """The moves of one leader's high watermark in one epoch, which has so many."""
    found: dict[tuple[int, str, str, int, int], list[Row]] = {}
    for row in run.events("p.hwm"):
        found.setdefault(of_partition(row), []).append(row)
    for rows in found.values():
        if len(rows) >= at_least:
            return rows
    raise NotHere("no leader moved its high watermark so often")


@lie("P6-isr-as-committed", of=ROLLS)
def a_leader_goes_by_another_isr(run: Altered, rng: random.Random) -> None:
    """A leader takes an ISR for committed that the metadata log never had."""
    row = rng.choice(run.events("p.isr"))
    set_detail(row, isr=[*detail(row)["isr"][:1], {"id": 9}])


@lie("P7-maximal-isr-holds-all", of=ROLLS)
def a_high_watermark_passes_a_follower(run: Altered, rng: random.Random) -> None:
    """A high watermark rises although its followers have nothing."""
    row = rng.choice([row for row in run.events("p.hwm") if row["hwm"] > 10])
    set_detail(row, ends=[{**end, "end": 0} for end in detail(row)["ends"]])


@lie("P8-moved-with-min-isr", of=(STANDING, "controlled-shutdown-roll"))
def a_high_watermark_rises_with_an_isr_of_one(run: Altered, rng: random.Random) -> None:
    """A leader knew all along of an ISR of itself alone, and its high watermark rose."""
    for row in run.events("p.isr"):
        told = detail(row)
        set_detail(row, isr=told["isr"][:1], maximal=told["maximal"][:1])


@lie("P12-high-watermark-rises", of=ROLLS)
def a_leaders_high_watermark_goes_down(run: Altered, rng: random.Random) -> None:
    """A leader's high watermark goes down within its epoch."""
    rows = moves(run, 6)
    rows[4]["hwm"] = rows[1]["hwm"] - 1


@lie("P12-high-watermark-rises", of=ROLLS)
def a_high_watermark_passes_its_own_log(run: Altered, rng: random.Random) -> None:
    """A leader's high watermark is behind the end of its own log."""
    row = rng.choice(run.events("p.hwm"))
    row["hwm"] = row["log_end"] + 5


@lie("P18-high-watermark-keeps-up", of=ROLLS)
def a_high_watermark_stays_behind(run: Altered, rng: random.Random) -> None:
    """A leader moves its high watermark by one less than all hold who are in the ISR."""
    row = rng.choice([row for row in moves(run, 10)[3:] if row["hwm"] > 3])
    row["hwm"] -= 1
    told = detail(row)
    ends = [{**end, "end": row["log_end"], "active": 1} for end in told["ends"]]
    set_detail(row, ends=ends)


@lie("P16-no-committed-record-cut", of=(STANDING, "stranded-leader"))
def a_follower_cuts_off_what_was_committed(run: Altered, rng: random.Random) -> None:
    """A follower cuts off all from offset 10 on."""
    first(run.events("p.truncate"), "nobody cut anything off")["log_end"] = 10


@legal("P16-no-committed-record-cut", of=(STANDING, "stranded-leader"))
def a_follower_cuts_off_nothing_once_more(run: Altered, rng: random.Random) -> None:
    """A follower cuts off its log a second time at the same offset."""
    row = first(run.events("p.truncate"), "nobody cut anything off")
    run.insert_event(dict(row), after=row)


@lie("P4-joined-by-this-life", of=ROLLS)
def a_broker_joins_by_its_former_life(run: Altered, rng: random.Random) -> None:
    """A leader lets a broker join by the broker epoch before its last one."""
    row = rng.choice(run.events("p.join"))
    set_detail(row, broker_epoch=detail(row)["broker_epoch"] - 1)


@lie("P5-joined-with-all", of=ROLLS)
def a_broker_joins_without_all(run: Altered, rng: random.Random) -> None:
    """A leader lets a broker join that has nothing."""
    rng.choice([row for row in run.events("p.join") if row["hwm"] > 0])["offset"] = 0


@legal("P4-joined-by-this-life", "P5-joined-with-all", of=ROLLS)
def a_broker_joins_with_a_record_more(run: Altered, rng: random.Random) -> None:
    """A broker that joins has one record more than its leader asked for."""
    rng.choice(run.events("p.join"))["offset"] += 1


@legal("P4-joined-by-this-life", "P5-joined-with-all", of=ROLLS)
def a_leader_asks_twice_for_a_broker(run: Altered, rng: random.Random) -> None:
    """A leader traces twice that a broker is to join."""
    row = rng.choice(run.events("p.join"))
    run.insert_event(dict(row), after=row)


@lie("E6-clean-as-vouched", of=ROLLS)
def nobody_vouched_for_a_clean_end(run: Altered, rng: random.Random) -> None:
    """Brokers register as cleanly shut down, and their last processes had vouched for nothing."""
    run.drop_events(lambda row: row["event"] == "b.life" and row["state"] == "vouching")


@lie("M1-replayed-as-committed", of=ROLLS)
def a_broker_leaves_a_record_out(run: Altered, rng: random.Random) -> None:
    """A broker replays all records but one in the middle."""
    rows = run.events("c.record", node=1)
    inner = [
        row
        for before, row, behind in zip(rows, rows[1:], rows[2:], strict=False)
        if process_of(before) == process_of(row) == process_of(behind)
    ]
    gone = rng.choice(inner)
    run.drop_events(lambda row: row is gone)


@lie("P18-heard-brokers-are-kept", of=("held-up-controller", "held-up-controller-4"))
def a_broker_that_is_heard_is_fenced(run: Altered, rng: random.Random) -> None:
    """The controller fences a broker to which nothing happened."""
    hurt = {node for fault in run.rows("faults") for node in fault["nodes"]}
    node = rng.choice([each for each in (1, 2, 3) if each not in hurt])
    epoch = next(
        detail(row)["brokerEpoch"]
        for row in run.records("RegisterBroker")
        if detail(row)["brokerId"] == node
    )
    offset = run.noops()[-1]
    run.put_record(
        offset,
        "BrokerRegistrationChange",
        {"brokerId": node, "brokerEpoch": epoch, "fenced": 1},
    )
    for broker in (1, 2, 3):
        last = run.events("c.record", node=broker)[-1]
        replayed = {**last, "offset": offset, "detail": None}
        set_detail(replayed, record="BrokerRegistrationChange")
        run.insert_event(replayed, after=last)


@lie("P18-brokers-are-let-in", of=ROLLS)
def a_broker_is_never_let_in(run: Altered, rng: random.Random) -> None:
    """The last process of a broker never gets beyond starting, for 30 s of a longer run."""
    node = rng.choice((1, 2, 3))
    last = run.events("n.start", node=node)[-1]
    run.drop_events(
        lambda row: (
            row["event"] == "b.life"
            and process_of(row) == process_of(last)
            and row["state"] != "starting"
        )
    )
    stop = [row for row in run.events("n.stop", node=node) if process_of(row) == process_of(last)]
    run.inform(duration_ns=run.info.duration_ns + 30_000_000_000)
    for row in stop:
        row["t"] += 30_000_000_000


@lie("P18-silent-brokers-are-fenced", of=("lost-together", "lost-together-4"))
def a_broker_that_is_off_is_not_fenced(run: Altered, rng: random.Random) -> None:
    """No record fences any broker although one was off for longer than its session."""
    for row in run.records("BrokerRegistrationChange"):
        if detail(row).get("fenced") == 1:
            set_detail(row, fenced=None)


@legal(
    "P6-isr-as-committed",
    "P7-maximal-isr-holds-all",
    "P8-moved-with-min-isr",
    "P12-high-watermark-rises",
    "P18-high-watermark-keeps-up",
    of=ROLLS,
)
def a_leader_tells_its_followers_in_another_order(run: Altered, rng: random.Random) -> None:
    """A leader traces the ends of its followers in another order."""
    row = rng.choice(run.events("p.hwm"))
    set_detail(row, ends=detail(row)["ends"][::-1])


@legal(
    "E6-clean-as-vouched",
    "M1-replayed-as-committed",
    "P18-brokers-are-let-in",
    "P18-silent-brokers-are-fenced",
    of=ROLLS,
)
@legal("P18-silent-brokers-are-fenced", of=("lost-together", "lost-together-4"))
@legal("P18-heard-brokers-are-kept", of=("ghost-topic", "held-up-controller"))
def a_broker_says_twice_how_it_lives(run: Altered, rng: random.Random) -> None:
    """A broker traces its state once more, unchanged."""
    row = rng.choice(run.events("b.life", state="running"))
    run.insert_event(dict(row), after=row)
