"""Numbers that the controller hands out: broker epochs (M3) and producer ids (M5)."""

from collections.abc import Iterator

import pyarrow.compute as pc

from checkers.check import check, of_brokers
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Timeline, epoch_of, node_of
from checkers.evidence.planned import Kind
from checkers.partitions.leaders import NEED
from checkers.verdict import CheckResult, EventValue

BLOCK = 1000  # producer ids in a block


@check(
    "M3-broker-epochs-rise", applies=of_brokers, source="KIP-631", rests_on=(Kind.METADATA_LOGS,)
)
def broker_epochs_rise(evidence: Evidence) -> CheckResult:
    """M3: Broker epochs rise over the whole log, and each record of a broker has its newest one.

    A process that registers again keeps its epoch; records of an earlier process no longer appear
    once a later one has registered. (KIP-631)
    """
    found = evidence.timeline
    if found is None:
        return unread("records about brokers", NEED)
    looked_at, highest = 0, -1
    newest: dict[int, tuple[int, str]] = {}  # node -> epoch and incarnation
    violations = []
    for batch in found.batches:
        for offset, kind, detail in batch.broker_records:
            node, epoch = node_of(detail), epoch_of(detail)
            known, text = newest.get(node), ""
            if kind == "RegisterBroker":
                again = known == (epoch, detail["incarnationId"])
                if not again and known is not None and known[1] == detail["incarnationId"]:
                    text = f"the same process of node {node} registered with broker epoch {epoch}, "
                    text += f"but had {known[0]}"
                elif not again and epoch <= highest and not batch.from_snapshot:
                    text = f"node {node} registered with broker epoch {epoch}, not above {highest}"
                newest[node] = (epoch, detail["incarnationId"])
                highest = max(highest, epoch)
            elif known is None or known[0] != epoch:
                text = f"a {kind} of node {node} has broker epoch {epoch}, but its newest is "
                text += str(known[0]) if known else "none"
            looked_at += not batch.from_snapshot
            if text:
                violations.append(Violation(text, [_record(offset, kind, node, epoch)]))
    return conclude(
        looked_at=looked_at,
        unit="records about brokers",
        violations=violations,
        needs=NEED,
        holds="each registration had a new epoch, and later records name it",
        algorithm="replay of the committed metadata log",
    )


def _record(offset: int, kind: str, node: int, epoch: int) -> dict[str, EventValue]:
    return {"what": kind, "offset": offset, "node": node, "epoch": epoch}


@check(
    "M5-producer-ids-unique", applies=of_brokers, source="KIP-730", rests_on=(Kind.METADATA_LOGS,)
)
def producer_ids_are_unique(evidence: Evidence) -> CheckResult:
    """M5: A block of producer ids is handed out once, and no batch has an id that was not handed
    out.

    Blocks are of 1,000 ids. From ProducerIds records and from the batches on the disks. (KIP-730)
    """
    found = evidence.timeline
    if found is None:
        return unread("blocks of producer ids", NEED)
    next_id = found.producer_ids[-1][1] if found.producer_ids else 0
    return conclude(
        looked_at=len(found.producer_ids),
        unit="blocks of producer ids",
        violations=[*_twice(found), *_unheard_of(evidence, next_id)],
        needs=NEED,
        holds="none was handed out twice, and no other id is on the disks",
        algorithm="neighbours in the metadata log, highest id on the disks",
        nothing="no producer asked for an id",
    )


def _twice(found: Timeline) -> Iterator[Violation]:
    before = 0
    for offset, following in found.producer_ids:
        if following < before + BLOCK:
            text = f"the block of producer ids up to {following}, recorded at offset {offset}, "
            shown: dict[str, EventValue] = {"what": "ProducerIds", "offset": offset}
            yield Violation(
                f"{text}overlaps with one up to {before}", [shown | {"next_id": following}]
            )
        before = max(before, following)


def _unheard_of(evidence: Evidence, following: int) -> Iterator[Violation]:
    batches = evidence.tables["replica_batches"]
    strange = batches.filter(
        pc.and_(batches["crc_ok"], pc.greater_equal(batches["producer_id"], following))
    )
    for row in strange.slice(0, 1).to_pylist():
        text = (
            f"node {row['node']} holds a batch of producer {row['producer_id']} in {row['key']}, "
        )
        names = ("node", "key", "base_offset", "producer_id")
        shown: dict[str, EventValue] = {"what": "on the disk"}
        yield Violation(
            f"{text}but only ids below {following} were handed out",
            [shown | {name: row[name] for name in names}],
        )
