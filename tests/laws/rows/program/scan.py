"""Rows for ``funcgrad._ops.program.scan``."""

from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad._core.aval import Aval
from funcgrad._ops.program.scan import Loop, scan_p
from tests.laws.rows._row import Row


def loop(f: Any, *shapes: tuple[int, ...], **options: Any) -> dict[str, Any]:
    """The parameters of a scan whose body takes operands of these shapes."""
    return {"loop": Loop(fg.make_graph(f)(*[Aval(shape, np.dtype(float)) for shape in shapes]), **options)}


def cell(w: Any, c: Any, x: Any) -> list[Any]:
    c = np.tanh(w * c + x)
    return [c, c * w]


def product(c: Any, x: Any) -> list[Any]:
    return [c * x]


DOUBLE = ("float64",)
SHAPES = ((3,), (3,), (3,))

ROWS = [
    Row(scan_p, ((3,), (3,), (4, 3)), loop(cell, *SHAPES, constants=1, carry=1, length=4), dtypes=DOUBLE),
    Row(
        scan_p,
        ((3,), (3,), (4, 3)),
        loop(cell, *SHAPES, constants=1, carry=1, length=4, reverse=True, unroll=2),
        dtypes=DOUBLE,
        name="reverse",
    ),
    Row(
        scan_p,
        ((), (5,)),
        loop(product, (), (), constants=0, carry=1, length=5),
        dtypes=DOUBLE,
        name="scalar",
    ),
    Row(
        scan_p,
        ((2,), (0, 2)),
        loop(product, (2,), (2,), constants=0, carry=1, length=0),
        dtypes=DOUBLE,
        name="no-steps",
    ),
    Row(
        scan_p, ((2, 3),), loop(lambda x: [x * x], (3,), constants=0, carry=0, length=2), dtypes=DOUBLE, name="no-carry"
    ),
]
