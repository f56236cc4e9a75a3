# A write is answered when its records are committed.
hide draw hang-up begin-quorum-epoch-request fetch
quorum 3 append.linger.ms=0 max.idle.interval.ms=60000
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1
fetch-request from=n2 to=n1 epoch=1 log=4@1

alter-configs to=n1 resource=a interval.ms=1000
----
n1 append 4 epoch=1 a.interval.ms=1000
n1 flush to 5

fetch-request from=n2 to=n1 epoch=1 log=5@1
----
n1 high-watermark 5
n1 -> client alter-configs a ok

# Writes that come within the linger share a batch and a flush.
quorum 3 append.linger.ms=25 max.idle.interval.ms=60000
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1
wait 25ms
fetch-request from=n2 to=n1 epoch=1 log=4@1

alter-configs to=n1 from=alice resource=a interval.ms=1000
wait 10ms
alter-configs to=n1 from=bob resource=b interval.ms=2000
wait 15ms
----
after 25ms:
n1 append 4-5 epoch=1 a.interval.ms=1000 b.interval.ms=2000
n1 flush to 6

fetch-request from=n2 to=n1 epoch=1 log=6@1
----
n1 high-watermark 6
n1 -> alice alter-configs a ok
n1 -> bob alter-configs b ok

# A decision sees what was decided before, committed or not.
alter-configs to=n1 resource=a set metrics=x
wait 5ms
alter-configs to=n1 resource=a append metrics=y
wait 20ms
----
after 25ms:
n1 append 6-7 epoch=1 a.metrics=x a.metrics=x,y
n1 flush to 8

# What cannot be is refused at once, and nothing is written.
alter-configs to=n1 resource=a interval.ms=5
wait 50ms
----
n1 -> client alter-configs a INVALID_CONFIG (40)

# An idle controller writes a no-op every 500 ms.
quorum 3 append.linger.ms=0
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1

wait 1200ms
----
after 500ms:
n1 append 4 epoch=1 no-op
n1 flush to 5
after 1000ms:
n1 append 5 epoch=1 no-op
n1 flush to 6

# Unless that is 0: then it writes none (Kafka's meaning of metadata.max.idle.interval.ms=0).
quorum 3 append.linger.ms=0 max.idle.interval.ms=0
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1

wait 1200ms
----
