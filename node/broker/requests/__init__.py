"""What clients and followers ask a broker for, and how it answers.

produce.py         Produce: what a leader appends, and when it answers; ids for producers
fetch.py           Fetch: what a leader returns, and what it learns from followers
fetch_sessions.py  fetch sessions (KIP-227)
offsets.py         ListOffsets and OffsetForLeaderEpoch
descriptions.py    Metadata, DescribeCluster, DescribeTopicPartitions, DescribeLogDirs
forwarding.py      requests forwarded to the active controller; topic auto-creation
"""
