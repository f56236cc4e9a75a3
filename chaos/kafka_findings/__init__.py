"""What was seen in Apache Kafka, as its maintainers need it (`docs/results/findings.md`).

finding.py       one finding: its section of the page, its script, what shows it in a run
all_findings.py  all of them, a value each
run_excerpt.py   what one run shows of a finding: log lines, metadata records, bytes of files

In the folder of scripts stand steps that use nothing of this project, and what they printed.
"""
