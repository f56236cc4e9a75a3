"""Chores: side tasks of clients of logs, beside sending and polling.

chore.py                 the interface of a chore
topics.py                alters a configuration, and asks for the quorum's epoch between; creates
                         and deletes topics; asks brokers which topics they know; adds partitions,
                         and moves them between brokers
groups.py                commits offsets of a group; members that join and leave groups; makes
                         transaction coordinators sync their log
records.py               looks up offsets by time; deletes records; each in its own log; asks
                         leaders where the epochs of their logs end
transforming.py          a group transforms records in transactions
transforming_member.py   one member of it, and its output
"""
