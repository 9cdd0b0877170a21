"""The ufuncs that are operators of Python, as text.

Each expression gives the ufunc's result, to the bit, where the operands have one floating dtype. This holds for NumPy's
numbers, for Python's floats, and in compiled loops. (On Python's floats, a division by zero raises.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

OPERATORS: dict[Any, str] = {
    np.add: "{} + {}",
    np.subtract: "{} - {}",
    np.multiply: "{} * {}",
    np.true_divide: "{} / {}",
    np.negative: "-{}",
    np.greater: "{} > {}",
    np.greater_equal: "{} >= {}",
    np.less: "{} < {}",
    np.less_equal: "{} <= {}",
    np.equal: "{} == {}",
    np.not_equal: "{} != {}",
}
