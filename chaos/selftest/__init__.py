"""Bugs planted in the nodes, and lying clients and disks, which the judge must find.

suspects.py       what is planted, and which checks must find it; the correct node
trying.py         runs them, and damages the records of valid runs; a run with a disk that lacks one
                  acknowledged record
kill_table.py     which check found which of them, after how many tries
"""
