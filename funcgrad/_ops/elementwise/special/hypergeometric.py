"""Hypergeometric functions, Lambert's W and spherical harmonics. Rules: DLMF 13.3, 15.5, 16.3, 4.13, 14.30."""

from __future__ import annotations

from typing import Any

from funcgrad._core.aval import result_dtype
from funcgrad._ops.elementwise.arithmetic import max_p, sqrt_p
from funcgrad._ops.elementwise.cast import cast, complex_dtype, make_complex, real_p
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.scipys import no_rule, of_scipy, on_host, scipy_special
from funcgrad._ops.elementwise.transcendental import exp_p
from funcgrad._ops.elementwise.trigonometric import cos_p, sin_p
from funcgrad._types import Value

hyp0f1_p = of_scipy("hyp0f1", "v x", [no_rule("hyp0f1", "v"), lambda t, v, x: t * (hyp0f1_p(v + 1, x) / v)])
hyp1f1_p = of_scipy(
    "hyp1f1",
    "a b x",
    [
        no_rule("hyp1f1", "a"),
        no_rule("hyp1f1", "b"),
        lambda t, a, b, x: t * (a / b * hyp1f1_p(a + 1, b + 1, x)),
    ],
)
hyp2f1_p = of_scipy(
    "hyp2f1",
    "a b c x",
    [
        no_rule("hyp2f1", "a"),
        no_rule("hyp2f1", "b"),
        no_rule("hyp2f1", "c"),
        lambda t, a, b, c, x: t * (a * b / c * hyp2f1_p(a + 1, b + 1, c + 1, x)),
    ],
)
hyperu_p = of_scipy(
    "hyperu",
    "a b x",
    [no_rule("hyperu", "a"), no_rule("hyperu", "b"), lambda t, a, b, x: t * (-a * hyperu_p(a + 1, b + 1, x))],
)


def _lambertw_slope(x: Value, y: Value) -> Any:
    """Return ``1 / (exp(w) (1 + w))``.

    If the exponential underflows (other branches, far left), use ``w`` itself.
    """
    lost = real_p(y) < -700
    w = select(lost, 0.0, y)
    z = select(lost, x, 1.0)
    v = select(lost, y, 1.0)
    return select(lost, v / (z * (1 + v)), 1 / (exp_p(w) * (1 + w)))


lambertw_p = elementwise(
    "lambertw",
    "x k",
    numpy=lambda x, k, *, tol: scipy_special.lambertw(x, k, tol),
    xla=on_host(lambda: lambertw_p),
    maps=[lambda t, x, y: t * _lambertw_slope(x, y), None],
    dtype=lambda x, k: x.dtype,
    flops=200,
)


def _polar_slope(n: Value, m: Value, theta: Value, phi: Value) -> Any:
    """Return half the difference of the neighbours given by the ladder operators, which is finite at the poles."""
    turn = make_complex(cos_p(phi), sin_p(phi))
    up, down = (n - m) * (n + m + 1), (n + m) * (n - m + 1)
    upper = sph_harm_y_p(n, m + 1, theta, phi) * sqrt_p(cast(max_p(up, 0), theta.dtype)) / turn
    lower = sph_harm_y_p(n, m - 1, theta, phi) * sqrt_p(cast(max_p(down, 0), theta.dtype)) * turn
    return 0.5 * (upper - lower)


def _azimuth_slope(m: Value, y: Value, theta: Value) -> Any:
    order = cast(m, theta.dtype)
    return y * make_complex(0 * order, order)


sph_harm_y_p = elementwise(
    "sph_harm_y",
    "n m theta phi",
    numpy=lambda n, m, theta, phi: scipy_special.sph_harm_y(n, m, theta, phi),
    xla=on_host(lambda: sph_harm_y_p),
    maps=[
        None,
        None,
        lambda t, n, m, theta, phi: real_p(t * _polar_slope(n, m, theta, phi)),
        lambda t, m, y, theta: real_p(t * _azimuth_slope(m, y, theta)),
    ],
    jvps=[
        None,
        None,
        lambda t, n, m, theta, phi: t * _polar_slope(n, m, theta, phi),
        lambda t, m, y, theta: t * _azimuth_slope(m, y, theta),
    ],
    dtype=lambda n, m, theta, phi: complex_dtype(result_dtype(theta, phi)),
    flops=300,
)
