"""Array types, by their contents: the columns that checks compute on."""

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Kinds = NDArray[np.int8]  # members of a small closed set
Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
Texts = NDArray[np.object_]  # None where there is no text
