"""Many simulated runs, one a seed: what they found, how much they hurt, the least that shows it.

    conduct.py       a campaign from its seeds to its page
    job.py, row.py   one seed, from its plan to its row, whatever happens on the way
    workers.py       seeds spread over processes, which may die
    standing.py      the roles of nodes at a moment of a run, and the state of the quorum
    fingerprint.py   what failed: check, anomaly, role; runs that fail alike are one finding
    coverage.py      what was struck, in which role and state; and what never was
    summary.py       all rows together, and the verdict of a campaign
    recorded_run.py  a recorded run as a plan
    ddmin.py, shrinker.py, shrinking.py   ever less of a failing run, while it fails alike
    narrative.py     what is left, for a person

Rows and summaries are pure values; only `job`, `workers` and `shrinking` run anything.
"""
