"""Elementwise circular and hyperbolic functions and their inverses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.batch import BatchTracer
from funcgrad._core.trace.derivative import NodeMaker, Recorder
from funcgrad._core.trace.place import bare_value
from funcgrad._core.trace.recorder import Rule
from funcgrad._core.trace.recorder import recorder as written_recorder
from funcgrad._ops.elementwise.arithmetic import abs_p, sqrt_p, squared
from funcgrad._ops.elementwise.cast import imag_p, real_p
from funcgrad._ops.elementwise.cuts import hyperbolic, odd_angle, odd_imaginary, odd_parts
from funcgrad._ops.elementwise.families import Elementwise, elementwise
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.transcendental import exp_p, hypot_p, leg_p
from funcgrad._types import Array, Lax, Value

sin_p = elementwise("sin", "x", numpy=np.sin, xla="sin", maps=[lambda t, x: t * cos_p(x)], flops=10)
cos_p = elementwise("cos", "x", numpy=np.cos, xla="cos", maps=[lambda t, x: t * -sin_p(x)], flops=10)


class _FromResult(Elementwise):
    """The derivative of a function of one operand, by the result alone where that keeps the digits.

    The operand is kept, too, where the result has rounded to a limit: ``1 - y * y`` is 0 from 19 on for ``tanh``.

    Args:
        by_result: the rule that reads ``y``.
        by_operand: the rule that reads ``x`` and ``y``.
        is_rounded: says of a result whether the derivative needs the operand.
        keeps_both: the source of a condition on a NumPy result ``y``, under which tapes do not ask ``is_rounded``.
    """

    __slots__ = ("_by_operand", "_is_rounded", "_keeps_both")

    def __init__(
        self,
        by_result: Rule,
        by_operand: Rule,
        is_rounded: Callable[[Any], bool],
        keeps_both: str,
    ) -> None:
        super().__init__(("x",), [by_result])
        self._by_operand = Elementwise(("x",), [by_operand])
        self._is_rounded, self._keeps_both = is_rounded, keeps_both

    def node_maker(self, primitive: Primitive, active: int) -> NodeMaker:
        usual, exact = super().node_maker(primitive, active), self._by_operand.node_maker(primitive, active)
        is_rounded = self._is_rounded

        def make(trace: Any, primals: Any, nodes: Any, y: Value, params: dict) -> Any:
            return (exact if is_rounded(y) else usual)(trace, primals, nodes, y, params)

        return make

    def recorder(self, primitive: Primitive, active: int, has_params: bool) -> Recorder | None:
        if not active:
            return None
        usual, exact = self.node_source(primitive, active), self._by_operand.node_source(primitive, active)
        made = f"{exact} if {self._keeps_both} or is_rounded(y) else {usual}"
        return written_recorder(
            f"recorder of {primitive.name}", self._operands, made, primitive.numpy, has_params, self._is_rounded
        )

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Value:
        if self._is_rounded(y):
            return self._by_operand.push(primitive, primals, tangents, y, params)
        return super().push(primitive, primals, tangents, y, params)


def _is_complex(y: Value) -> bool:
    return aval_of(y).dtype.kind == "c"


# Where the slope is less, the difference ``1 - y * y`` has lost more than 12 bits: from 4.9 on.
_LEAST_SLOPE = 2.0**-12
_ROUNDED = math.sqrt(1 - _LEAST_SLOPE)
# A search for rounded elements takes 3 us and 0.6 ns per element. Tapes keep both arrays if they have fewer elements.
_MANY = 1 << 16


def _is_saturated(y: Value) -> bool:
    """Return whether an element of ``tanh(x)`` is so close to 1 or -1 that its derivative needs x.

    A staged program has no numbers yet, and a derivative by x would take 1.1 to 1.8 of the time of a training step. So
    it keeps the result alone if it is real; the error is at most the rounding of 1.
    """
    bare = bare_value(y)
    while type(bare) is BatchTracer:
        bare = bare_value(bare._value)
    if isinstance(bare, np.ndarray) and bare.dtype.kind == "f":
        return bare.size > 0 and bool(bare.max() > _ROUNDED or bare.min() < -_ROUNDED)
    return bool(abs(bare) > _ROUNDED) if issubclass(type(bare), np.floating | float) else _is_complex(y)


def _slope_of_exponential(e: Value) -> Any:
    """Return ``1 / cosh(x)**2`` from ``exp(-2 * abs(x))``."""
    return 4 * e / squared(1 + e)


def _tanh_slope(x: Value, y: Value) -> Any:
    """Return ``1 / cosh(x)**2``."""
    side = real_p(x) if _is_complex(x) else x
    near = abs_p(side) < 1
    z = select(near, -1, select(side < 0, x, -x))
    return select(near, 1 - squared(y), _slope_of_exponential(exp_p(z + z)))


def _tanh_map(t: Value, x: Value, y: Value) -> Any:
    if type(y) is not np.ndarray or y.dtype.kind != "f" or not y.ndim or not y.size:
        return t * _tanh_slope(x, y)
    slope = 1 - y * y
    # The method ``argmin`` takes a third of the time of a ufunc's reduction. It finds NaN first, too.
    if not slope.item(slope.argmin()) >= _LEAST_SLOPE:
        far = slope < _LEAST_SLOPE
        slope[far] = _slope_of_exponential(np.exp(-2 * abs(x[far])))
    return t * slope


def _tan_slope(x: Value, y: Value) -> Any:
    """Return ``1 / cos(x)**2`` of complex numbers."""
    side = imag_p(x)
    near = abs_p(side) < 1
    z = select(near, -1, select(side < 0, -x, x) * 1j)
    return select(near, 1 + squared(y), _slope_of_exponential(exp_p(z + z)))


tan_p = elementwise(
    "tan",
    "x",
    numpy=np.tan,
    xla="tan",
    maps=_FromResult(
        lambda t, y: t * (squared(y) + 1),
        lambda t, x, y: t * _tan_slope(x, y),
        _is_complex,
        "y.dtype.kind == 'c'",
    ),
    flops=10,
)


def _plus_one(x: Value) -> Any:
    """Return ``x + 1``, keeping the sign of a zero imaginary part. That sign selects the side of a branch cut."""
    return x - -1


def _arcsin_map(t: Value, x: Value, x_aval: Aval) -> Value:
    if x_aval.dtype.kind == "c":
        return t / (sqrt_p(-(x - 1)) * sqrt_p(_plus_one(x)))
    # The product keeps the digits that 1 - x * x loses near the ends.
    return t / sqrt_p((1 - x) * (1 + x))


def _arccos_map(t: Value, x: Value, x_aval: Aval) -> Value:
    return _arcsin_map(-t, x, x_aval)


arcsin_p = elementwise("arcsin", "x", numpy=np.arcsin, xla=odd_imaginary("asin"), maps=[_arcsin_map], flops=10)
arccos_p = elementwise(
    "arccos", "x", numpy=np.arccos, xla=odd_imaginary("acos", opposite=True), maps=[_arccos_map], flops=10
)
arctan_p = elementwise(
    "arctan", "x", numpy=np.arctan, xla=odd_angle("atan", angle=0), maps=[lambda t, x: t / (x * x + 1)], flops=10
)
arctan2_p = elementwise(
    "arctan2",
    "a b",
    numpy=np.arctan2,
    xla="atan2",
    # A quotient of squares would overflow. So does a quotient of a quotient on XLA, which multiplies the divisors.
    maps=[
        lambda t, a, b: t * (leg_p(b, a) * (1 / hypot_p(a, b))),
        lambda t, a, b: t * (-leg_p(a, b) * (1 / hypot_p(a, b))),
    ],
    flops=15,
)

sinh_p = elementwise("sinh", "x", numpy=np.sinh, xla=hyperbolic("sinh"), maps=[lambda t, x: t * cosh_p(x)], flops=10)
cosh_p = elementwise("cosh", "x", numpy=np.cosh, xla=hyperbolic("cosh"), maps=[lambda t, x: t * sinh_p(x)], flops=10)
tanh_p = elementwise(
    "tanh",
    "x",
    numpy=np.tanh,
    xla="tanh",
    maps=_FromResult(
        lambda t, y: t * (1 - squared(y)),
        _tanh_map,
        _is_saturated,
        f"y.size < {_MANY}",
    ),
    flops=10,
)


def _arcsinh_map(t: Value, x: Value, x_aval: Aval) -> Any:
    # The square of a large number overflows.
    return t / (sqrt_p(_plus_one(x * x)) if x_aval.dtype.kind == "c" else hypot_p(x, 1))


arcsinh_p = elementwise("arcsinh", "x", numpy=np.arcsinh, xla=odd_parts("asinh"), maps=[_arcsinh_map], flops=10)
arccosh_p = elementwise(
    "arccosh",
    "x",
    numpy=np.arccosh,
    xla=odd_imaginary("acosh"),
    # The root of the product overflows, and is on the wrong branch in the left half plane.
    maps=[lambda t, x: t / (sqrt_p(x - 1) * sqrt_p(_plus_one(x)))],
    flops=10,
)
arctanh_p = elementwise(
    "arctanh",
    "x",
    numpy=np.arctanh,
    xla=odd_angle("atanh", angle=1),
    maps=[lambda t, x: t / ((1 - x) * (1 + x))],
    flops=10,
)

# d/du sin(u)/u = u * series(u * u): below |u| = 2 the closed form loses digits, and its derivatives lose more.
_SINC_SERIES_LIMIT = 2.0
_SINC_SLOPE = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 14)]


def _sinc_slope(x: Value) -> Any:
    """Return the derivative of ``sin(pi x) / (pi x)`` by x. Its own derivatives are accurate too."""
    u = x * math.pi
    near = abs_p(u) < _SINC_SERIES_LIMIT
    inner = select(near, u, 0)
    square = inner * inner
    series = _SINC_SLOPE[-1] * square + _SINC_SLOPE[-2]
    for coefficient in _SINC_SLOPE[-3::-1]:
        series = series * square + coefficient
    outer = select(near, _SINC_SERIES_LIMIT, u)
    closed = (cos_p(outer) - sin_p(outer) / outer) / outer
    return math.pi * select(near, inner * series, closed)


def _sinc_xla(lax: Lax, x: Array) -> Array:
    zero = lax.eq(x, lax.full_like(x, 0))
    u = lax.mul(lax.select(zero, lax.full_like(x, 1), x), lax.full_like(x, math.pi))
    return lax.select(zero, lax.full_like(x, 1), lax.div(lax.sin(u), u))


sinc_p = elementwise("sinc", "x", numpy=np.sinc, xla=_sinc_xla, maps=[lambda t, x: t * _sinc_slope(x)], flops=12)
