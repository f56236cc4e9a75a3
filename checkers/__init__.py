"""The judge: from what a run left to a verdict. It reads files, and knows no node and no client.

What is judged:

    history/          the schema that every part records by: operations, observations, tables
    disk/             reads segments, checkpoints and metadata records of any target
    evidence/         what a run left, as one object, and what is missing of it

Checks, by what they judge; `docs/reference/invariants.md` has them all:

    registers/        what clients wrote and read
    log/              what clients sent and polled
    quorum/           elections, the metadata log, its high watermark
    partitions/       leaders, ISR and ELR of partitions, and what their replicas hold
    run/              whether there was enough to judge, and whether the cluster went on

How they are put together:

    check.py          a check as a value
    all_checks.py     the registry of checks, and what checks promise
    conclusion.py     how a check ends: as one row
    verdict.py        verdicts and their order; counts and shares in words
    suite.py          every check that applies to a run, and one sentence
    verdict_file.py   `verdict.json`

And beside them:

    linearizability/  the search for an order of operations
    foreign/          histories that other programs recorded
    page/             the page of one run
    array_types.py    types of arrays of numbers
"""
