"""Rows for ``funcgrad._ops.program.effect``."""

from funcgrad._ops.program.effect import effect_p
from tests.laws.rows._row import Row


def look(*xs: object) -> None:
    del xs


ROWS = [Row(effect_p, ((2, 3), ()), {"function": look, "ordered": False}, differentiable=False)]
