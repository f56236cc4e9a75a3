"""One record less on a disk that Apache Kafka wrote: nothing on it is wrong, and it is accused."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from chaos.run.judging import judge_directory
from chaos.scenarios.controls import NothingToDropError
from chaos.selftest.trying import without_its_record_at_the_leader
from checkers.disk import read_disks
from checkers.history.events import HistoryKind
from checkers.history.sealed_run import write_run_info
from checkers.history.store import read_run
from checkers.verdict import Judgement, Verdict
from tests.support.histories import make_run
from tests.support.kafka_disks import unpack

LEADER_HOLDS = ("P10-leaders-hold-acknowledged", "P13-reads-are-stored")


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("recorded")
    unpack("4.3.1", directory)
    return directory


def recorded(directory: Path, disks: Path) -> Path:
    """The run of clients that were told of all that these disks hold, and read it at the end."""
    (directory / "disks").symlink_to(disks)
    tables = read_disks(directory / "disks")
    rows = tables["replica_spans"].to_pylist()
    records = tables["log_records"].to_pylist()
    names = {each["topicId"]: each["name"] for each in details(records, "Topic")}
    gone = {names[each["topicId"]] for each in details(records, "RemoveTopic")}
    kept = [one for row in rows if row["key"].startswith("kept-") for one in singly(row)]
    unique = {one["value"]: one for one in reversed(kept)}  # letters were sent more than once
    told = sorted(unique.values(), key=lambda row: (row["key"], row["offset"]))
    events = [event for name in sorted(names.values()) for event in asked("create-topic", name)]
    events += [event for name in sorted(gone) for event in asked("delete-topic", name)]
    events += [event for row in told for event in (*sent(row), *polled(row))]
    numbered = [event | {"i": number, "t": number} for number, event in enumerate(events)]
    lines = b"".join(orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE) for event in numbered)
    (directory / "events-ops.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(lines))
    roles = {str(node): "broker,controller" for node in (1, 2, 3)}
    settings = {"replication": "3", "min_isr": "2", "elr": "on"}
    run = make_run(history=HistoryKind.LOG, nodes=3, roles=roles, settings=settings)
    write_run_info(directory, run.info)
    return directory


def singly(span: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The records of a span, each as one."""
    return [
        {**span, "offset": span["offset"] + n, "value": span["value"] + n, "records": 1}
        for n in range(span["records"])
    ]


def details(records: Sequence[Mapping[str, Any]], type_: str) -> list[dict[str, Any]]:
    """What one node's records of a type say."""
    mine = [row for row in records if row["node"] == records[0]["node"]]
    return [json.loads(row["detail"]) for row in mine if row["type"] == type_]


def asked(f: str, topic: str) -> list[dict[str, Any]]:
    head = {"p": 2, "f": f, "k": topic, "v": None, "n": -1, "ph": "main"}
    return [{**head, "type": "invoke"}, {"p": 2, "type": "ok", "v": None, "e": None}]


def sent(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    head = {"p": 0, "f": "send", "k": row["key"], "v": None, "n": -1}
    span = [row["key"], None, row["value"], row["records"], None, None]
    how = {"ph": "main", "a": -1, "x": False}
    done = [row["key"], row["offset"], row["value"], row["records"], None, None]
    return [
        {**head, **how, "type": "invoke", "s": [span]},
        {"p": head["p"], "type": "ok", "v": None, "e": None, "s": [done]},
    ]


def polled(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    head = {"p": 1, "f": "poll", "k": row["key"], "v": None, "n": -1, "ph": "final"}
    span = [row["key"], row["offset"], row["value"], row["records"], row["epoch"], None]
    return [
        {**head, "type": "invoke"},
        {"p": 1, "type": "ok", "v": None, "e": None, "s": [span]},
    ]


def accusers(judgement: Judgement) -> set[str]:
    return {row.check for row in judgement.results if row.verdict is Verdict.INVALID}


def test_one_record_less_at_the_leader(tmp_path: Path, disks: Path) -> None:
    run, copy = tmp_path / "run", tmp_path / "copy"
    run.mkdir()
    before = judge_directory(recorded(run, disks), page=False)
    assert accusers(before) == set()
    assert Verdict.ERROR not in {row.verdict for row in before.results}, before.sentence
    assert {*LEADER_HOLDS} <= {row.check for row in before.results}
    removed = without_its_record_at_the_leader(run, copy)
    after = judge_directory(copy, page=False)
    others = {"P11-replicas-agree", "P18-acknowledged-everywhere"}
    assert {*LEADER_HOLDS, *others} == accusers(after)
    (accusation,) = (row for row in after.results if row.check == LEADER_HOLDS[0])
    assert f"{removed.key}, offset {removed.offset}: " in accusation.message
    assert f"the disk of node {removed.node}, the last leader" in accusation.message
    assert {row["problem"] for row in read_run(copy).tables["replicas"].to_pylist()} == {None}


def test_where_nothing_was_acknowledged_nothing_can_be_taken_away(
    tmp_path: Path, disks: Path
) -> None:
    recorded(tmp_path, disks)
    (tmp_path / "events-ops.jsonl.zst").unlink()
    judge_directory(tmp_path, page=False)
    with pytest.raises(NothingToDropError, match="acknowledged no record"):
        without_its_record_at_the_leader(tmp_path, tmp_path / "copy")
