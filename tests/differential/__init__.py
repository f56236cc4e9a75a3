"""The same requests to a cluster of Apache Kafka and to one of our node, and answers compared.

    requests     kinds of requests to brokers, sound ones and ones at the limits, drawn by number
    side         one of the clusters: asked one request at a time, and waited for
    comparison   an answer without what may differ, and in what two of them differ
    batches      records as clients send them, some wrong in one way
    settled      differences that are known, each with the words by which one of the two is right
    several_faults   the errors of requests that have more than one fault
    asking       both sides are asked, request by request

    python -m tests.differential --requests 5000 --seed 1

An answer that differs, and is not settled, ends with exit code 1 and the line that shows it again:
each request depends on what those before it left, so that it is all of them up to that number.
"""
