"""Orthogonal polynomials. Rules: DLMF 18.9(iii), by polynomials of the degree below, which are finite everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise.arithmetic import max_p
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.scipys import no_rule, on_host, scipy_special
from funcgrad._types import Value


def _polynomial(name: str, operands: str, slope: Callable[..., Any]) -> Primitive:
    """Declare a family of polynomials. Its slope is ``slope(degree below, *operands)``, and 0 for degree 0."""

    def by_argument(t: Value, n: Value, x: Value) -> Any:
        return t * select(n == 0, 0.0, slope(max_p(n - 1, 0.0), n, x))

    def by_argument_with_a(t: Value, n: Value, a: Value, x: Value) -> Any:
        return t * select(n == 0, 0.0, slope(max_p(n - 1, 0.0), n, a, x))

    def by_argument_with_both(t: Value, n: Value, a: Value, b: Value, x: Value) -> Any:
        return t * select(n == 0, 0.0, slope(max_p(n - 1, 0.0), n, a, b, x))

    def numpy(n: Value, *rest: Any) -> Value:
        # SciPy uses a recurrence for degrees of integer dtype, and hypergeometric functions otherwise.
        degree = np.asarray(n)
        whole = degree.astype(np.int64)
        y = getattr(scipy_special, name)(whole if (whole == degree).all() else degree, *rest)
        return y.astype(np.result_type(n, *rest))

    names = operands.split()
    rule = (by_argument, by_argument_with_a, by_argument_with_both)[len(names) - 2]
    maps = [*[no_rule(name, each) for each in names[:-1]], rule]
    made: list[Primitive] = []
    made.append(elementwise(name, operands, numpy=numpy, xla=on_host(lambda: made[0]), maps=maps, flops=100))
    return made[0]


eval_jacobi_p = _polynomial(
    "eval_jacobi", "n a b x", lambda m, n, a, b, x: 0.5 * (n + a + b + 1) * eval_jacobi_p(m, a + 1, b + 1, x)
)
eval_legendre_p = _polynomial("eval_legendre", "n x", lambda m, n, x: 0.5 * (n + 1) * eval_jacobi_p(m, 1.0, 1.0, x))
eval_gegenbauer_p = _polynomial("eval_gegenbauer", "n a x", lambda m, n, a, x: 2 * a * eval_gegenbauer_p(m, a + 1, x))
eval_chebyt_p = _polynomial("eval_chebyt", "n x", lambda m, n, x: n * eval_chebyu_p(m, x))
eval_chebyu_p = _polynomial("eval_chebyu", "n x", lambda m, n, x: 2 * eval_gegenbauer_p(m, 2.0, x))
eval_hermite_p = _polynomial("eval_hermite", "n x", lambda m, n, x: 2 * n * eval_hermite_p(m, x))
eval_hermitenorm_p = _polynomial("eval_hermitenorm", "n x", lambda m, n, x: n * eval_hermitenorm_p(m, x))
eval_genlaguerre_p = _polynomial("eval_genlaguerre", "n a x", lambda m, n, a, x: -eval_genlaguerre_p(m, a + 1, x))
eval_laguerre_p = _polynomial("eval_laguerre", "n x", lambda m, n, x: -eval_genlaguerre_p(m, 1.0, x))
