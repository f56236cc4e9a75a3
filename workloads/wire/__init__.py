"""Kafka's bytes as clients of its logs speak them, by hand and shared with nobody.

fields.py       types of the protocol; an answer that is not one is MalformedAnswerError
header.py       the APIs and the version of each; heads of requests and answers
batch.py        record batches: many records of one shape at a time
produce.py      Produce and InitProducerId
fetch.py        Fetch and ListOffsets
metadata.py     who leads which partition
topics.py       CreateTopics and DeleteTopics
errors.py       which errors prove that nothing happened
"""
