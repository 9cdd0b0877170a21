"""Rows for ``funcgrad._ops.program.call``."""

from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Graph
from funcgrad._ops.program.call import call_p
from tests.laws.rows._row import Row


def staged(f: Any, *shapes: tuple[int, ...], dtype: str = "float64") -> dict[str, Any]:
    """The parameters of a call: a graph, and a compiler that suits both engines by evaluating it as it is."""
    graph = fg.make_graph(f)(*[Aval(shape, np.dtype(dtype)) for shape in shapes])
    return {"graph": graph, "compiler": evaluate}


def evaluate(graph: Graph) -> Any:
    return graph.evaluate


DOUBLE = ("float64",)

ROWS = [
    Row(call_p, ((2, 3), (3,)), staged(lambda x, y: [np.sin(x) * y, np.sum(y * y)], (2, 3), (3,)), dtypes=DOUBLE),
    Row(call_p, ((3,),), staged(lambda x: [x * x, x > 0], (3,)), dtypes=DOUBLE, name="a-result-without-derivative"),
    Row(call_p, ((),), staged(lambda x: [np.exp(x)], ()), dtypes=DOUBLE, name="scalar"),
    Row(call_p, ((0, 3),), staged(lambda x: [x * x], (0, 3)), dtypes=DOUBLE, name="empty"),
]
