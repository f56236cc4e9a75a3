"""Where a voter says that it listens."""

from hypothesis import given
from hypothesis import strategies as st

from node.ids import Endpoint, why_not_taken

LIKE_HOSTS = st.text(alphabet=st.sampled_from("ab1.:-_%\0 é☃[]*/\ud800"), max_size=300)
LONG_LABELS = st.lists(st.integers(0, 70).map("h".__mul__), max_size=8).map(".".join)


@given(host=LIKE_HOSTS | LONG_LABELS | st.text(max_size=300))
def test_a_host_that_is_taken_can_be_looked_up(host: str) -> None:
    """As `socket.getaddrinfo` does it: without a NUL, in the encoding of names."""
    if why_not_taken([Endpoint(name="CONTROLLER", host=host, port=1)]) is None:
        assert host.encode("idna")
        assert "\0" not in host
