"""The values of all elements of a named axis."""

import numpy as np

from funcgrad._core.trace.batch import NamedAxis
from funcgrad._ops.index.named_axis import all_gather_p
from tests.laws.rows._row import Row

ELSEWHERE = "outside of a mapping an element has no others; tests/_transforms/test_named_axis.py compares it with JAX"

ROWS = [Row(all_gather_p, ((3,), np.array(1)), {"axis": NamedAxis("i", 4)}, elsewhere=ELSEWHERE)]
