"""Reports over many sealed runs: durability, availability, elections, latency.

    sealed_archive which directories are sealed runs, and which are not
    ingest         their tables, with a run id
    fate_counts    of one run: the fate of each record and write, by fault phase (a kernel)
    accounts       the kernel mapped over run directories; sums by scenario, side, version, phase
    write_fates    the same for registers in SQL: the second opinion
    availability   gaps without success, elections after a lost leader, latency by sketches
    report_page    one self-contained page
    spread         seeds of simulated runs, mapped by the caller's function

The stages are pure DataFrame -> DataFrame functions; `report_build.build` is the one place that
reads, runs and writes. Nothing here imports pyspark before it is needed: `import spark_reports` is
free, and a machine without Java can still run and check.
"""
