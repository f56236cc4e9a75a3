# Voters change only while all who replicate the log know of voters by their directories (KIP-856,
# "Compatibility, Deprecation, and Migration Plan").
quorum 3 dynamic
hide persist state flush begin-quorum-epoch-request
elect n1

# An observer that says no directory id does not.
fetch-request from=n2 to=n1 epoch=1 log=3@1 max-wait-ms=0
fetch-request from=n7: to=n1 epoch=1 max-wait-ms=0
remove-voter n3 to=n1
add-voter n4 to=n1
----
n1 high-watermark 3
n1 -> n2 fetch records=none hwm=3 epoch=1 leader=n1
n1 controller active, replayed to 3
n1 -> n7 fetch records=0-2 hwm=3 epoch=1 leader=n1
n1 -> client remove-voter UNSUPPORTED_VERSION (35): node 7 fetches without a directory id: it knows no voters by directory; upgrade it first
n1 -> client add-voter UNSUPPORTED_VERSION (35): node 7 fetches without a directory id: it knows no voters by directory; upgrade it first

# It is started anew in a version that says it. Nothing is in the way any more.
wait 10ms
fetch-request from=n7 to=n1 epoch=1 max-wait-ms=0
remove-voter n3 to=n1
fetch-request from=n2 to=n1 epoch=1 log=4@1 max-wait-ms=0
----
after 10ms:
n1 -> n7 fetch records=0-2 hwm=3 epoch=1 leader=n1
n1 append 3 epoch=1 voters n1,n2
n1 high-watermark 4
n1 -> n2 fetch records=none hwm=4 epoch=1 leader=n1
n1 -> client remove-voter ok
