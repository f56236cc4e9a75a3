"""The same requests to a cluster of Apache Kafka and to one of our node, and answers compared.

    kinds        kinds of requests to brokers, and how often each is asked
    topics       the topics that they speak of
    values       what their fields may hold: values at the limits, and beyond
    model        what both clusters have done so far, as their answers tell
    sound        values by which both do what is asked, after all that
    requests     a request, drawn by its number
    side         one of the clusters: asked one request at a time, and waited for
    comparison   an answer without what may differ, and in what two of them differ
    batches      records as clients send them, some wrong in one way
    settled      differences that are known, each with the words by which one of the two is right
    several_faults   the errors of requests that have more than one fault
    asking       both sides are asked, request by request

    python -m tests.differential --requests 5000 --seed 1

An answer that differs, and is not settled, ends with exit code 1 and the line that shows it again:
each request depends on what those before it left, so that it is all of them up to that number. A
run in which some kind of request was never done by both ends with 3: it says nothing of that kind.
"""
