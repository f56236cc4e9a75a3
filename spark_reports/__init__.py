"""What many sealed runs say together: durability, availability, elections, latency.

    ingest         which directories are sealed runs, and which are not; tables with a run id
    durability     every written value: acknowledged, lost, recovered, unexpected, undecided
    availability   gaps without success, elections after a lost leader, latency by sketches
    render         one self-contained page
    campaign       seeds of simulated runs, mapped by a function that is handed in

The stages are pure DataFrame -> DataFrame functions; `report.build` is the one place that reads,
runs and writes. Nothing here imports pyspark before it is needed: `import spark_reports` is free,
and a machine without Java can still run and check.
"""
