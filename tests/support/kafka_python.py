"""kafka-python, where tests use it as others would."""

import pytest

# It leaves sockets behind by which it could not connect.
LEAVES_SOCKETS = (
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.usefixtures("collected"),
)
