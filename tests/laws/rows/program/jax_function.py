"""Rows for ``funcgrad._ops.program.jax_function``."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._engines.xla.function import JaxFunction
from funcgrad._ops.program.jax_function import jax_function_p
from tests.laws.rows._row import Row


def function(*shapes: tuple[int, ...]) -> dict[str, Any]:
    def call(x: Any, y: Any) -> list[Any]:
        return [jnp.sin(x) * y, jnp.sum(x * x), jnp.sum(x > 0)]

    return {"function": JaxFunction(call, [Aval(shape, np.dtype(float)) for shape in shapes], "call")}


DOUBLE = ("float64",)

ROWS = [
    Row(jax_function_p, ((2, 3), (3,)), function((2, 3), (3,)), dtypes=DOUBLE),
    Row(jax_function_p, ((), ()), function((), ()), dtypes=DOUBLE, name="scalars"),
    Row(jax_function_p, ((0, 3), (3,)), function((0, 3), (3,)), dtypes=DOUBLE, name="empty"),
]
