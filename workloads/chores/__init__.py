"""Chores: side tasks of clients of logs, beside sending and polling.

chore.py                 the interface of a chore
all_chores.py            the chores by name
altering_configs.py      alters a configuration, and asks for the quorum's epoch between
asking_epochs.py         asks leaders where the epochs of their logs end
deleting_topics.py       creates and deletes topics; asks brokers which topics they know
groups.py                commits offsets of a group; members that join and leave groups
records.py               looks up offsets by time; deletes records; each in its own log
reshaping_topics.py      adds partitions, and moves them between brokers
syncing_coordinators.py  makes transaction coordinators sync their log
transforming.py          a group transforms records in transactions
transforming_member.py   one member of it, and its output
"""
