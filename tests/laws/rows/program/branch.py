"""Rows for ``funcgrad._ops.program.branch``."""

from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Graph
from funcgrad._ops.program.branch import Branches, While, cond_p, while_p
from tests.laws.rows._row import Row


def graph(f: Any, *shapes: tuple[int, ...]) -> Graph:
    return fg.make_graph(f)(*[Aval(shape, np.dtype(float)) for shape in shapes])


def branches(*shapes: tuple[int, ...]) -> dict[str, Any]:
    true = graph(lambda x, y: [np.sin(x) * y, np.sum(y)], *shapes)
    return {"branches": Branches(true, graph(lambda x, y: [x * x, np.sum(np.exp(x))], *shapes))}


def doubled(shape: tuple[int, ...]) -> dict[str, Any]:
    """Double the carry until it is greater than a limit."""
    condition = graph(lambda limit, x: [np.sum(x * x) < limit], (), shape)
    return {"loop": While(condition, graph(lambda factor, x: [x * (2 + factor * factor)], (), shape), 1, 1)}


DOUBLE = ("float64",)
FORWARD_ONLY = "while_loop has no reverse mode; tests/_transforms/control/test_loops.py holds its forward mode"


def branch(name: str, condition: bool, shape: tuple[int, ...]) -> Row:
    params = branches(shape, shape)
    return Row(cond_p, (np.array(condition), shape, shape), params, dtypes=DOUBLE, reads_values=True, name=name)


ROWS = [
    branch("true", True, (2, 3)),
    branch("false", False, (2, 3)),
    branch("empty", False, (0,)),
    Row(while_p, (np.array(9.0), (), (3,)), doubled((3,)), dtypes=DOUBLE, elsewhere=FORWARD_ONLY),
    Row(while_p, (np.array(9.0), (), ()), doubled(()), dtypes=DOUBLE, elsewhere=FORWARD_ONLY, name="scalar"),
]
