"""The page of one run: what was judged, which faults hit the cluster, and how it went on.

    run_page.py           puts the page together
    document.py           the frame, the styles, and HTML that escapes foreign strings
    page_tables.py        tables: faults, checks, statistics
    timeline.py           faults, nodes, operations and latency on one axis of time
    lanes.py              the state of each node at every moment; the faults as windows of time
    partition_drawing.py  partitions, drawn; the state of each partition at every moment
    closeup.py            the witness of a violation, and the moments around it
    comparison.py         the page of the sides of scenarios
    svg.py                the SVG of charts
    units.py              numbers with units

`render_page` is a pure function of the sealed run and its judgement. The page needs no script and
loads nothing: charts are inline SVG, drawn from bins and never from raw operations, so a run of any
length gives a page of well under 1 MB. It is made for failing, void and broken-off runs as well:
those are the ones that need a page.

Strings from nodes, clients or files reach the page through `markup`, which escapes everything but
our own markup.
"""

from checkers.page.run_page import render_page

__all__ = ["render_page"]
