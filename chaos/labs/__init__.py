"""Studies beside the runs.

audit/        the durability audit: what disks hold when the power fails
model_check/  the quorum's code, explored in every order of events within small bounds
findings.py   findings in Apache Kafka: their page, scripts and evidence
"""
