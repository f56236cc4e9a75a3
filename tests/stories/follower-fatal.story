# To truncate below what is committed would lose it: the node dies of it.
hide draw hang-up
begin-quorum-epoch-request from=n2 to=n1 epoch=3
fetch-response from=n2 to=n1 records=3,3 hwm=2

fetch-response from=n2 to=n1 diverging=1@3
----
n1 dies: truncation to LogPosition(epoch=3, offset=1) below 2
