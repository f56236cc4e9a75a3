"""A night of runs: one command for a CI job, and the rows that the morning reads.

    settings.py   a team's own defaults, from `kraft-chaos.toml`
    plan.py       what a night runs, in its order; slots; few combinations that have every pair
    running.py    one slot, from its choices to a row of the ledger
    night.py      the files of a night: what is planned, what is done, what goes on
    carry_out.py  lanes that run slots until the budget ends; how many runs go on at a time
    forms.py      what CI shows: text, Markdown, JUnit XML

Order: canaries, which the judge must accuse; the stories of scenarios with sides; the reds of the
last seven nights; what tells more of tonight's new reds; a matrix; then fresh seeds until the
budget ends. A row lands in a file of its own as its run ends; the ledger gets all of them as one
part, when the night ends or is stopped. A night that was killed goes on with `--resume`: what has a
row is not run again, and what has none is.
"""
