"""Injects faults into a cluster, cures them, and proves both.

    fault.py       the interface of a kind of fault; a fault's parameters as words; victims drawn
                   from a seed
    kinds/         every kind of fault, one class each; shown in `docs/reference/faults.md`
    victims.py     victims as values
    aim.py         resolves a victim to nodes when its fault fires
    abilities.py   what a cluster must be able to do for a fault
    script.py      when faults fire: schedules drawn from a seed, and scripts
    awaited.py     conditions that a script waits for
    recorded.py    schedules as JSON; faults that can be injected by name
    nemesis.py     applies a schedule or a script, and records every fault
    book.py        the faults in progress, so that none undoes another; the log of faults
    proof.py       puts the evidence of several nodes and links together
    manual.py      generates `docs/reference/faults.md`

A fault is a value: a kind, a victim and parameters. For each fault, its start, bit, heal, healed
and evidence are recorded; what proves a fault is decided in `chaos.cluster.fault_evidence`. A fault
without evidence makes the run void: a run in which nothing was hurt proves nothing.
"""
