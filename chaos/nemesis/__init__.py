"""Hurts a cluster, cures it again, and proves both.

A fault is a value (`faults.py`): a kind, a target that is resolved as it fires, parameters. A
schedule (`schedule.py`) says when; it is drawn from a seed and nothing else. `grudges.py` turns a
partition into the links that it cuts. `nemesis.py` applies faults one after another and records
start, bit, heal, healed and evidence of each; `evidence.py` decides whether it bit. A fault without
evidence makes the run void: a run in which nothing was hurt proves nothing.
"""
