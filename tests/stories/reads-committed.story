# A read sees what is committed, and nothing that may be lost.
hide draw hang-up begin-quorum-epoch-request fetch
quorum 3 append.linger.ms=0 max.idle.interval.ms=60000
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1 max-wait-ms=0
fetch-request from=n2 to=n1 epoch=1 log=4@1 max-wait-ms=0

alter-configs to=n1 from=alice resource=a interval.ms=1000
describe-configs to=n1 from=bob resource=a
fetch-request from=n2 to=n1 epoch=1 log=4@1 max-wait-ms=0
fetch-request from=n3 to=n1 epoch=1 log=4@1 max-wait-ms=0
fetch-request from=n3 to=n1 epoch=1 log=4@1 max-wait-ms=0
----
n1 append 4 epoch=1 a.interval.ms=1000
n1 flush to 5
n1 -> bob describe-configs a interval.ms=300000

# Once the write is answered, every read sees it.
fetch-request from=n2 to=n1 epoch=1 log=5@1 max-wait-ms=0
describe-configs to=n1 from=bob resource=a
fetch-request from=n2 to=n1 epoch=1 log=5@1 max-wait-ms=0
fetch-request from=n2 to=n1 epoch=1 log=5@1 max-wait-ms=0
----
n1 high-watermark 5
n1 -> alice alter-configs a ok
n1 -> bob describe-configs a interval.ms=1000
