"""Bugs planted in the nodes, and lies of clients and disks, which the judge must find.

suspects.py     what is planted where, and which checks must see it; the correct node beside it
trying.py       runs them, and damages what valid runs recorded
kill_table.py   which check found which of them, after how many tries, and what that amounts to
"""
