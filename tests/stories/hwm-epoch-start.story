# Records of older epochs are committed only together with this epoch's LeaderChange (KAFKA-12619;
# Raft, figure 8): a majority that has all before it commits nothing.
hide draw hang-up begin-quorum-epoch-request fetch fetch-request controller
disk n1 epoch=1 log=1,1
elect n1

fetch-request from=n2 to=n1 epoch=2 log=2@1
fetch-request from=n3 to=n1 epoch=2 log=2@1
----

fetch-request from=n2 to=n1 epoch=2 log=3@2 connection=2
----
n1 high-watermark 3
