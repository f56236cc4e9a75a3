"""Dataclasses to bytes and back, for messages on the wire and for records in logs.

A class says of itself how it is encoded, by kio's marks (`fields`): each field its Kafka type, its
tag (KIP-482) if it has one, and the class whether it is flexible. So kio's classes and our own go
through the same reader and writer, which are compiled once a class. What is read may be anything,
so `reader` trusts no length, counts elements, and skips tagged fields that it does not know. A
number of variable length is the same everywhere (`varint`).
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
