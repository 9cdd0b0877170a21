"""Rows for ``funcgrad._ops.linalg.triangular``."""

from typing import Any

import numpy as np

from funcgrad._ops.linalg.triangular import triangular_solve_p
from tests.laws.rows._row import Row

SQUARE, RIGHT = (3, 3), (3, 2)


def params(**given: bool) -> dict[str, Any]:
    names = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    return dict.fromkeys(names, False) | {"left_side": True, "lower": True} | given


def steep(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Elements of size 1, further from zero on the diagonal: a triangle of them is well conditioned."""
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype.kind == "c" else 0)
    return x + 3 * max(1, shape[-1] / 6) * np.eye(shape[-2], shape[-1])


def row(name: str, a: tuple[int, ...] = SQUARE, b: tuple[int, ...] = RIGHT, **options: Any) -> Row:
    given = {key: options.pop(key) for key in params() if key in options}
    return Row(triangular_solve_p, (a, b), params(**given), sample=steep, name=name, **options)


ROWS = [
    row("", complex=True),
    row("upper", lower=False),
    row("transposed", transpose_a=True, complex=True),
    row("adjoint", lower=False, transpose_a=True, conjugate_a=True, complex="only"),
    row("conjugate", conjugate_a=True, complex="only"),
    row("unit-diagonal", unit_diagonal=True),
    row("upper-unit-diagonal", lower=False, transpose_a=True, unit_diagonal=True),
    row("on-the-right", b=(2, 3), left_side=False, complex=True),
    row("upper-on-the-right", b=(2, 3), left_side=False, lower=False, transpose_a=True),
    row("adjoint-on-the-right", b=(2, 3), left_side=False, transpose_a=True, conjugate_a=True, complex="only"),
    row("conjugate-on-the-right", b=(2, 3), left_side=False, conjugate_a=True, complex="only"),
    row("stacked", (2, 3, 3), (2, 3, 2), complex=True),
    row("stacked-on-the-right", (2, 1, 3, 3), (2, 1, 2, 3), left_side=False, lower=False),
    row("stacked-adjoint", (2, 3, 3), (2, 2, 3), left_side=False, transpose_a=True, conjugate_a=True, complex="only"),
    row("stacked-unit-diagonal", (2, 3, 3), (2, 3, 1), lower=False, unit_diagonal=True),
    row("stacked-large", (2, 17, 17), (2, 17, 1), complex=True),
    row("one", (1, 1), (1, 1)),
    row("empty", (0, 0), (0, 2)),
    row("no-right-side", (3, 3), (3, 0)),
    row("empty-stack", (0, 2, 2), (0, 2, 1)),
]
