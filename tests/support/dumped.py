"""What Kafka's DumpLogSegments printed, as batches and records of each file."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

_HEAD = re.compile(r"(\w+): (\S+)")
_RECORD = re.compile(r"\| offset: (\d+) .*?headerKeys: \[\] (.*)")
_NAMED = re.compile(r"(\w+):? (\{.*\})")


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedRecord:
    """`type` and `fields` of a metadata or control record, or the text of another one's value."""

    offset: int
    type: str | None
    fields: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedBatch:
    head: dict[str, str]  # as printed: baseOffset, crc, position ...
    records: list[DumpedRecord] = field(default_factory=list)


def parse(lines: Iterable[str]) -> dict[str, list[DumpedBatch]]:
    """The batches of each file, by its path."""
    found: dict[str, list[DumpedBatch]] = {}
    batches: list[DumpedBatch] = []
    for line in lines:
        if re.match(r"node-\d+/", line):
            batches = found[line] = []
        elif line.startswith("baseOffset: "):
            batches.append(DumpedBatch(head=dict(_HEAD.findall(line))))
        elif match := _RECORD.match(line):
            batches[-1].records.append(_record(int(match[1]), match[2]))
    return found


def _record(offset: int, text: str) -> DumpedRecord:
    _, _, value = text.partition("payload: ")
    if value.startswith("{"):
        told = json.loads(value)
        name = "".join(part.capitalize() for part in told["type"].split("_")[:-1])
        return DumpedRecord(offset=offset, type=name, fields=told["data"], text=value)
    if control := _NAMED.match(text):
        fields = json.loads(control[2])
        return DumpedRecord(offset=offset, type=control[1], fields=fields, text="")
    return DumpedRecord(offset=offset, type=None, fields={}, text=value)
