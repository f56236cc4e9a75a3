"""Many simulated runs, one a seed: what they found, how much they hurt, the least that shows it.

    conduct.py                 a campaign from its seeds to its page; seeds spread over processes,
                               which may die
    job.py                     one seed, from its plan to its row, whatever happens on the way
    coverage.py                the roles of nodes at a moment of a run, and the state of the
                               quorum; what failed: check, anomaly, role; runs that fail alike are
                               one finding; what was struck, in which role and state; and what
                               never was
    summary.py                 all rows together, and the verdict of a campaign
    recorded_run.py            a recorded run as a plan; what is left, for a person
    shrinker.py, shrinking.py  ever less of a failing run, while it fails alike

Rows and summaries are pure values; only `job`, `conduct` and `shrinking` run anything.
"""
