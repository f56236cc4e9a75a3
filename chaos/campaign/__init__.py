"""Many simulated runs, one per seed: what failed, what the faults covered, the smallest example.

    conduct.py       runs a campaign, from its seeds to its page, in several processes
    job.py           one seed, from its plan to its row, whatever fails on the way
    coverage.py      which faults struck in which role and state; fingerprints of failures
    summary.py       all rows together, and the verdict of a campaign
    recorded_run.py  a recorded run: as a plan, as a narrative, compared with another one
    shrinker.py      shrinks a failing plan while it fails alike
    shrinking.py     `kraft-chaos shrink`: runs the shrinker and keeps the smallest run
    comparing.py     `kraft-chaos compare`: runs the sides of scenarios and compares them

Rows and summaries are pure values; only `job`, `conduct`, `shrinking` and `comparing` run anything.
"""
