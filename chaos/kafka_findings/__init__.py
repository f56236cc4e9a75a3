"""Findings in Apache Kafka, as its maintainers need them (`docs/results/findings.md`).

finding.py       one finding: its section of the page, its script, its evidence in a run
all_findings.py  all of them, a value each
run_excerpt.py   the evidence of a finding in a run: log lines, metadata records, bytes of files

The folder of scripts has steps that use nothing of this project, and their output.
"""
