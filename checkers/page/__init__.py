"""The page of one run: what was judged, what was done to the cluster, and how it went.

`render_page` is a pure function of the sealed run and its judgement. The page needs no script and
loads nothing: charts are inline SVG, drawn from bins and never from raw operations, so a run of any
length gives a page of well under 1 MB. It is made for failing, void and broken-off runs as well:
those are the ones that need a page.

Strings from nodes, clients or files reach the page through `markup`, which escapes everything but
our own markup.
"""

from checkers.page.run_page import render_page

__all__ = ["render_page"]
