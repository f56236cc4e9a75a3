"""The harness: it makes clusters, injects faults, records what clients see, and has it judged.

The definition of a run:

    scenario.py, scenarios/     scenarios, as values
    nemesis/                    faults, their schedules and victims, and the evidence of each
    conditions.py               time-outs of nodes, their network and disks
    trial.py                    all that a seed decides
    combined_roles.py           scripts that combined nodes cannot run
    plan.py                     the plan of a run; plan_json.py, plan_line.py, planning.py: to and
    from run.json, and to and from a command line

The course of a run:

    launch.py                   from a plan to a verdict
    runtimes.py, cluster/       make clusters
    runner.py                   one run, and its clean-up whatever happens
    experiment.py               load and faults on a running cluster
    phases.py, progress.py      the current phase, and progress lines
    probes.py, watches.py       requests of the harness itself to nodes
    clock.py, interrupt.py, starvation.py   time, signals, and whether the machine was busy

The files of a run:

    rundir.py                   the directory
    recorder.py                 events, as they happen
    collection.py, container_files.py, inventory.py, last_words.py   logs and disks
    versions.py                 versions of everything that took part
    seal.py, spans.py           sealed tables
    judging.py                  verdict.json, the page, repro.sh
    checking.py, foreign_files.py, foreign_disks.py   judging again; foreign files

Many runs:

    campaign/                   one run for each seed
    comparing.py                a scenario's sides
    audit/                      power cuts at given moments, and the disks after them
    selftest/, mutations/, controls/   planted bugs and lies, which the judge must find
    model_check/                every order of events of a small quorum

About Apache Kafka:

    kafka_findings/             findings, for its maintainers

For people:

    cli.py, commands/           `kraft-chaos`
    terminal.py                 verdicts on a terminal
    playground.py, injected.py  a cluster to play with
    examination.py, installation.py, setup/   what a machine has, and installing what it lacks
    releases.py                 releases of Apache Kafka
    operator_errors.py, os_errors.py   errors with a next step for the operator
"""
