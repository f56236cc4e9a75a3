"""Every record of Kafka's schemas, in every version, goes through the codec."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.codec import MalformedMessage, read_whole, write_whole
from tests.node.codec.shapes import Shape, kio_bytes, marked_class, values_of

SCHEMAS = Path(__file__).resolve().parents[4] / "shared" / "facts" / "schemas"
pytestmark = pytest.mark.skipif(
    not SCHEMAS.is_dir(), reason="the schemas of Kafka's release are not beside this checkout"
)


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


def every_record() -> list[Any]:
    found = []
    for path in sorted(SCHEMAS.glob("*.json")):
        schema = json.loads(re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE))
        for row in schema["fields"]:
            for struct in schema.get("commonStructs", ()):
                if row["type"] == f"[]{struct['name']}":
                    row["fields"] = struct["fields"]
        for version in _versions(schema["validVersions"]):
            flexible = version in _versions(schema["flexibleVersions"])
            record = _class_of(schema["name"], schema["fields"], version, flexible)
            found.append(pytest.param(record, id=f"{schema['name']}-{version}"))
    return found


def test_the_records_of_partitions_are_among_them() -> None:
    names = {param.id for param in every_record()}
    assert {"PartitionRecord-2", "PartitionChangeRecord-2", "RegisterBrokerRecord-4"} <= names


@pytest.mark.parametrize("record", every_record())
@settings(max_examples=10)
@given(data=st.data())
def test_a_record_is_written_as_kio_would_and_read(record: type[Any], data: st.DataObject) -> None:
    value = data.draw(values_of(record))
    encoded = write_whole(value)
    assert encoded == kio_bytes(value)
    assert read_whole(record, encoded) == value
    for length in range(len(encoded)):
        with pytest.raises(MalformedMessage):
            read_whole(record, encoded[:length])
