# The election time-out is drawn for every role that waits for an election, uniformly from [T, 2T);
# T is controller.quorum.election.timeout.ms.
hide fetch-request hang-up pre-vote-request
start n1
timeout n1
timeout n1
timeout n1
----
n1 draw election-timeout=1360ms
n1 unattached epoch=0
after 1360ms:
n1 draw election-timeout=1740ms
n1 prospective epoch=0
after 3100ms:
n1 draw election-timeout=1670ms
n1 unattached epoch=0
n1 prospective epoch=0
after 4770ms:
n1 draw election-timeout=1530ms
n1 unattached epoch=0
n1 prospective epoch=0

quorum 3 election.timeout.ms=200
start n1
timeout n1
timeout n1
timeout n1
----
n1 draw election-timeout=272ms
n1 unattached epoch=0
after 272ms:
n1 draw election-timeout=348ms
n1 prospective epoch=0
after 620ms:
n1 draw election-timeout=334ms
n1 unattached epoch=0
n1 prospective epoch=0
after 954ms:
n1 draw election-timeout=306ms
n1 unattached epoch=0
n1 prospective epoch=0
