"""Reports over many sealed runs: durability, availability, elections, latency.

    sealed_archive.py  which directories are sealed runs, and which are not; the rows of campaigns;
                       needs no Spark
    ingest.py          the tables of runs, with a run id
    phases.py          before, during and after faults
    fate_counts.py     the fate of each record and write of one run, by fault phase: which are lost
    accounts.py        the kernel mapped over run directories, and its sums
    availability.py    gaps without success, elections after a lost leader, latency
    report_build.py    reads, computes and writes a report
    report_summary.py  the contents of a report as plain values
    report_tables.py   the tables of the page
    charts.py          the charts of the page
    report_page.py     the page
    ledger.py          the ledger of nights: one row a run; needs no Spark
    nights.py          what one night says beside the nights before it
    morning.py         the page of a morning
    session.py         the Spark session; a campaign's seeds spread over a cluster
    java.py            a Java that Spark can start on

The stages are pure DataFrame -> DataFrame functions; `report_build.build` is the one place that
reads, runs and writes. Nothing here imports pyspark before it is needed: `import spark_reports` is
free, and a machine without Java can still run and check.
"""
