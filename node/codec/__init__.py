"""Encodes dataclasses to bytes and decodes them, for wire messages and log records.

A class declares its own encoding, by kio's marks (`fields`): each field its Kafka type, its tag
(KIP-482) if it has one, and the class whether it is flexible. So kio's classes and our own use the
same reader and writer, which are compiled once per class. Input may be arbitrary bytes, so `reader`
trusts no length, counts elements, and skips tagged fields that it does not know. Variable-length
numbers are the same everywhere (`varint`).
"""

from node.codec.fields import MalformedMessage, TooManyElements, UnencodableMessage
from node.codec.reader import read_whole, struct_reader, whole_reader
from node.codec.writer import struct_writer, write_into, write_whole

__all__ = [
    "MalformedMessage",
    "TooManyElements",
    "UnencodableMessage",
    "read_whole",
    "struct_reader",
    "struct_writer",
    "whole_reader",
    "write_into",
    "write_whole",
]
