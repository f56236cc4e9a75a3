"""The harness: it makes clusters, hurts them, records what clients see, and has it judged.

What a run is:

    scenario.py, scenarios/     what a cluster is put through, as values
    nemesis/                    faults, when and to whom, and the proof that they bit
    conditions.py               what nodes are told to wait for, and what they live in
    trial.py                    all that a seed decides
    combined_roles.py           what brokers that are controllers as well cannot be put through
    plan.py                     what a run is to be; plan_json.py, plan_line.py, planning.py:
                                to and from run.json, and to and from a command line

How it goes:

    launch.py                   from a plan to a verdict
    runtimes.py, cluster/       where clusters come from
    runner.py                   one run, and its end whatever happens
    experiment.py               what clients and nemesis do to a cluster that stands
    phases.py, progress.py      how far it has come
    probes.py, watches.py       what the harness asks nodes itself
    clock.py, interrupt.py, starvation.py   time, signals, and whether the machine was busy

What it leaves:

    rundir.py                   the directory
    recorder.py                 what happens, while it happens
    collection.py, container_files.py, inventory.py, last_words.py   logs and disks
    versions.py                 of what it was made
    seal.py, spans.py           typed tables of it
    judging.py                  verdict.json, the page, repro.sh
    checking.py, foreign_files.py, foreign_disks.py   judged again, and what others left

Many runs:

    campaign/                   one a seed
    comparing.py                a scenario's sides
    audit/                      power cuts at given moments, and what disks hold then
    selftest/, mutations/, controls/   planted bugs and lies, which the judge must find
    model_check/                every order of events of a small quorum

Of Apache Kafka:

    kafka_findings/             what was seen, for its maintainers

For people:

    cli.py, commands/           `kraft-chaos`
    terminal.py                 how verdicts look
    playground.py, injected.py  a cluster to play with
    examination.py, installation.py, setup/   what a machine has, and bringing up what it lacks
    releases.py                 Apache Kafka's
    operator_errors.py, os_errors.py   what an operator can do something about
"""
