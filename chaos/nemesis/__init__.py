"""Hurts a cluster, cures it again, and proves both.

A fault is a value: a kind, a victim that is resolved as it fires (`victims.py`, `aim.py`), and
parameters. Each kind is one class in `kinds/` that says all that there is to say of it; `fault.py`
states what that is, and `docs/reference/faults.md` shows it. A schedule (`script.py`) says when;
it is drawn from a seed and nothing else. A script (`script.py`) says instead what has to be so
before the next fault begins (`awaited.py`). `cuts.py` turns a partition into the links that it
cuts. `nemesis.py` applies faults, takes care that none undoes another (`book.py`), and writes down
start, bit, heal, healed and evidence of each (`book.py`); `proof.py` decides whether one bit. A
fault without evidence makes the run void: a run in which nothing was hurt proves nothing.
"""
