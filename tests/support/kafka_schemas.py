"""Kafka's own schemas of records, as classes with the codec's marks."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.codec_shapes import Shape, marked_class

SCHEMAS = Path(__file__).resolve().parents[3] / "shared" / "facts" / "schemas"
# A user's clone has no such directory beside it.
with_schemas = pytest.mark.skipif(
    not SCHEMAS.is_dir(), reason="the schemas of Kafka's release are not beside this checkout"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaRecord:
    """One version of one schema. `number`: the type of a metadata record, -1 of others."""

    name: str
    number: int
    version: int
    record: type[Any]


def _versions(text: str) -> range:
    """`0-2`, `3`, `1+` or `none`."""
    if text == "none":
        return range(0)
    first, dash, last = text.partition("-")
    if text.endswith("+"):
        return range(int(text[:-1]), 2**15)
    return range(int(first), int(last if dash else first) + 1)


def _class_of(name: str, rows: list[dict[str, Any]], version: int, flexible: bool) -> type[Any]:
    shapes = {
        row["name"]: _shape(row, version, flexible)
        for row in rows
        if version in _versions(row.get("versions", "0+"))
    }
    return marked_class(f"{name}{version}", flexible, shapes)


def _shape(row: dict[str, Any], version: int, flexible: bool) -> Shape:
    kafka_type = row["type"].removeprefix("[]")
    array = row["type"].startswith("[]")
    inner: str | type = kafka_type
    if "fields" in row:
        inner = _class_of(kafka_type, row["fields"], version, flexible)
    nullable = version in _versions(row.get("nullableVersions", "none"))
    plain = Shape(inner=inner, array=array, nullable=nullable)
    if version not in _versions(row.get("taggedVersions", "none")):
        return plain
    return replace(plain, tag=row["tag"], default=_default(row, array))


def _default(row: dict[str, Any], array: bool) -> Any:
    match row.get("default"):
        case "null":
            return None
        case None:
            return () if array else {"string": ""}.get(row["type"], 0)
        case text:
            return int(text)


def kafka_records() -> list[KafkaRecord]:
    found = []
    for path in sorted(SCHEMAS.glob("*.json")):
        schema = json.loads(re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE))
        for row in schema["fields"]:
            for struct in schema.get("commonStructs", ()):
                if row["type"] == f"[]{struct['name']}":
                    row["fields"] = struct["fields"]
        number = schema["apiKey"] if schema["type"] == "metadata" else -1
        for version in _versions(schema["validVersions"]):
            flexible = version in _versions(schema["flexibleVersions"])
            record = _class_of(schema["name"], schema["fields"], version, flexible)
            found.append(
                KafkaRecord(name=schema["name"], number=number, version=version, record=record)
            )
    return found
