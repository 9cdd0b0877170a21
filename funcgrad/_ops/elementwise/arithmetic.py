"""Elementwise arithmetic. Operands have one dtype or are Python scalars; shapes broadcast."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, is_integer
from funcgrad._core.forms import Basic, Forms, Requirement
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._core.trace.jet import Coefficients, Series, quotient, square
from funcgrad._ops.elementwise.cast import cast, conj_p, real_dtype, real_p
from funcgrad._ops.elementwise.cuts import logarithm, odd_imaginary
from funcgrad._ops.elementwise.families import Elementwise, elementwise, predicate
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.layout.depends import product
from funcgrad._types import Array, Lax, Value


class ElementwiseProduct(Elementwise):
    """The derivative of the elementwise product."""

    __slots__ = ()

    is_product = commutes = True


class Quotient(Elementwise):
    """The derivative of ``y = a / b``. The coefficients of a series come from ``b y = a``."""

    __slots__ = ()

    def coefficients(
        self, primitive: Primitive, xs: Sequence[Series], ys: Sequence[Series], params: dict
    ) -> Coefficients:
        del primitive, params
        a, b = xs
        return lambda k: [quotient(k, ys[0], b, a, lambda rest: rest / b[0], operator.mul)]


class Square(Elementwise):
    """The derivative of a square. A series needs half of the products of two different factors."""

    __slots__ = ()

    def coefficients(
        self, primitive: Primitive, xs: Sequence[Series], ys: Sequence[Series], params: dict
    ) -> Coefficients | None:
        del primitive, ys, params
        return lambda k: [square(k, xs[0])]


def _add_xla(lax: Lax, a: Array, b: Array) -> Array:
    """Add; for booleans *or*, as in NumPy."""
    return lax.bitwise_or(a, b) if a.dtype == bool else lax.add(a, b)


def _mul_xla(lax: Lax, a: Array, b: Array) -> Array:
    return lax.bitwise_and(a, b) if a.dtype == bool else lax.mul(a, b)


add_p = elementwise("add", "a b", numpy=np.add, xla=_add_xla, maps=[lambda t: t, lambda t: t], operator=True)
sub_p = elementwise("sub", "a b", numpy=np.subtract, xla="sub", maps=[lambda t: t, lambda t: -t], operator=True)
mul_p = elementwise(
    "mul",
    "a b",
    numpy=np.multiply,
    xla=_mul_xla,
    maps=ElementwiseProduct(("a", "b"), [lambda t, b: t * b, lambda t, a: t * a]),
    operator=True,
    forms=Forms(new_memory=True, depends=product),
)
neg_p = elementwise("neg", "x", numpy=np.negative, xla="neg", maps=[lambda t: -t], operator=True)
div_p = elementwise(
    "div",
    "a b",
    numpy=np.true_divide,
    xla="div",
    maps=Quotient(("a", "b"), [lambda t, b: t / b, lambda t, y, b: t * (-y / b)]),
    operator=True,
)


def _power_map(t: Value, x: Value, exponent: float) -> Value:
    if exponent == 2:
        return t * (2 * x)
    if exponent == 0:
        return 0 * t
    return t * (exponent * x ** (exponent - 1))


class _Power(Square):
    """The derivative of a power. Exponents other than 2 have no rule of their own for series."""

    __slots__ = ()

    def coefficients(
        self, primitive: Primitive, xs: Sequence[Series], ys: Sequence[Series], params: dict
    ) -> Coefficients | None:
        return super().coefficients(primitive, xs, ys, params) if params["exponent"] == 2 else None


def _power_numpy(x: Array, *, exponent: float) -> Array:
    # Products round as NumPy's own fast path does, and the general power takes 20 times as long as two products.
    if exponent == 3:
        return x * x * x
    y = x**exponent
    # A Python float widens ml_dtypes' floats.
    widened = type(exponent) is float and hasattr(x, "dtype") and x.dtype.kind == "V"
    return y.astype(x.dtype) if widened else y


def _power_xla(lax: Lax, x: Array, *, exponent: float) -> Array:
    if issubclass(type(exponent), int):
        return lax.integer_pow(x, exponent)
    return lax.sqrt(x) if exponent == 0.5 else lax.pow(x, lax.full_like(x, exponent))


# A power with a Python number as exponent is a primitive of its own, because its derivative needs no logarithm.
power_p = elementwise(
    "power",
    "x",
    numpy=_power_numpy,
    xla=_power_xla,
    maps=_Power(("x",), [_power_map]),
    flops=4,
    operator=True,
    forms=Forms(basic=Basic.POWER, new_memory=True),
)


def squared(x: Value) -> Value:
    """Return ``x * x``; a trace records one operation of one operand, whose own derivative is one product."""
    return x * x if type(x) is np.ndarray else power_p(x, exponent=2)


def _steep(x: Value, at: Value) -> Value:
    """Return 0 with an infinite derivative where ``at`` holds (``x`` is 0 there).

    The slope of 0 ** 0 is taken as 0 at that point only, so its own derivative is infinite.
    """
    return sqrt_p(select(at, x, 1))


def _pow_base_map(t: Value, a: Value, b: Value, y_aval: Aval) -> Value:
    # A Python exponent has no dtype of its own.
    b = cast(b, y_aval.dtype)
    # At 0 ** 0 the slope is 0; the formula would give 0 * 0 ** -1 = NaN. Other bases keep the exponent b - 1 at b = 0,
    # because the slope has a derivative by b there.
    both = (a == 0) & (b == 0)
    return t * select(both, _steep(b, both), b * pow_log_p(a, select(both, 1, b - 1), degree=0))


def _pow_exponent_map(t: Value, y: Value, y_aval: Aval, a: Value, b: Value) -> Value:
    if issubclass(type(a), int | float | complex | np.generic):
        # A fixed base needs only its logarithm, not the power again; a Python base has no dtype of its own.
        a = cast(a, y_aval.dtype)
        return t * (y * log_p(select(a == 0, 1, a)))
    b = cast(b, y_aval.dtype)
    both = (a == 0) & (b == 0)
    return t * select(both, _steep(a, both), pow_log_p(a, select(both, 1, b), degree=1))


def _pow_log_base_map(t: Value, a: Value, b: Value, y_aval: Aval, degree: int) -> Any:
    if degree == 0:
        return _pow_base_map(t, a, b, y_aval)
    lower, lowest = (pow_log_p(a, b - 1, degree=n) for n in (degree, degree - 1))
    return t * (b * lower + degree * lowest)


def _pow_log_numpy(a: Array, b: Array, *, degree: int) -> Array:
    y = np.power(a, b)
    return y * np.log(np.where(y == 0, 1, a)) ** degree if degree else y


def _pow_log_xla(lax: Lax, a: Array, b: Array, *, degree: int) -> Array:
    y = _inexact_pow_xla(lax, a, b)
    logs = lax.log(lax.select(lax.eq(y, lax.full_like(y, 0)), lax.full_like(y, 1), a))
    return lax.mul(y, lax.integer_pow(logs, degree)) if degree else y


def _inexact_pow_xla(lax: Lax, a: Array, b: Array) -> Array:
    y = lax.pow(a, b)
    if a.dtype.kind != "c":
        return y
    # XLA gives NaN for 0 ** (1 + 2j), because the angle of 0 is undefined. NumPy gives 0 where the real part is
    # positive.
    real = lax.real(b)
    vanishes = lax.bitwise_and(lax.eq(a, lax.full_like(a, 0)), lax.gt(real, lax.full_like(real, 0)))
    return lax.select(vanishes, lax.full_like(y, 0), y)


def _pow_xla(lax: Lax, a: Array, b: Array) -> Array:
    if not is_integer(a.dtype):
        return _inexact_pow_xla(lax, a, b)

    # lax.pow takes no integer base. Square and multiply instead, one bit of the exponent per step.
    def step(_: Any, state: tuple) -> tuple:
        y, a, b = state
        odd = lax.ne(lax.bitwise_and(b, lax.full_like(b, 1)), lax.full_like(b, 0))
        return lax.select(odd, lax.mul(y, a), y), lax.mul(a, a), lax.shift_right_logical(b, lax.full_like(b, 1))

    y = lax.fori_loop(0, 8 * b.dtype.itemsize, step, (lax.full_like(a, 1), a, b))[0]
    if b.dtype.kind == "u":
        return y
    # A call refuses negative exponents, but loops and JAX's transforms cannot: the result there is the integer part.
    zero, one = lax.full_like(a, 0), lax.full_like(a, 1)
    vanishes = lax.bitwise_and(lax.lt(b, lax.full_like(b, 0)), lax.ne(lax.abs(a), one))
    return lax.select(vanishes, zero, y)


pow_p = elementwise(
    "pow",
    "a b",
    numpy=np.power,
    xla=_pow_xla,
    maps=[_pow_base_map, _pow_exponent_map],
    flops=10,
    operator=True,
    forms=Forms(requires=Requirement.NOT_NEGATIVE, new_memory=True),
)
# The derivatives of a power: a ** b * log(a) ** degree. At a = 0 they take their limits, 0 or infinity.
pow_log_p = elementwise(
    "pow_log",
    "a b",
    numpy=_pow_log_numpy,
    xla=_pow_log_xla,
    maps=[_pow_log_base_map, lambda t, a, b, degree: t * pow_log_p(a, b, degree=degree + 1)],
    flops=20,
)
log_p = elementwise("log", "x", numpy=np.log, xla=logarithm("log"), maps=[lambda t, x: t / x], flops=10)
sqrt_p = elementwise("sqrt", "x", numpy=np.sqrt, xla=odd_imaginary("sqrt"), maps=[lambda t, y: t / (2 * y)])
# The root of a sum of squares: a norm, a standard deviation. It has a kink at 0, where the derivative is 0, as that of
# ``abs``. The rule of ``sqrt`` gives infinity there, and the squares below it 0, which makes NaN.
root_of_squares_p = elementwise(
    "root_of_squares",
    "x",
    numpy=np.sqrt,
    xla="sqrt",
    maps=[lambda t, y: t / (2 * select(y == 0, np.inf, y))],
    forms=Forms(expand=lambda x: sqrt_p(x), new_memory=True),
)


def _sign_xla(lax: Lax, x: Array) -> Array:
    """Return the sign; for -0.0 it is 0.0, as in NumPy."""
    y = lax.sign(x)
    return lax.select(lax.eq(x, lax.full_like(x, 0)), lax.full_like(x, 0), y) if x.dtype.kind in "fV" else y


sign_p = elementwise("sign", "x", numpy=np.sign, xla=_sign_xla, maps=CONSTANT)


def _abs_map(t: Value, x: Value, x_aval: Aval, y: Value) -> Value:
    if x_aval.dtype.kind != "c":
        return t * sign_p(x)
    return t * (conj_p(x) / cast(select(y == 0, 1, y), x_aval.dtype))


def _abs_push(t: Value, x: Value, x_aval: Aval, y: Value) -> Value:
    return _abs_map(t, x, x_aval, y) if x_aval.dtype.kind != "c" else real_p(_abs_map(t, x, x_aval, y))


def _abs_xla(lax: Lax, x: Array) -> Array:
    """Return the absolute value.

    A complex number with an infinite part gives infinity, even if the other part is NaN.
    """
    if x.dtype.kind in "ub":
        return x
    y = lax.abs(x)
    if x.dtype.kind != "c":
        return y
    infinite = [lax.eq(lax.abs(part), lax.full_like(y, np.inf)) for part in (lax.real(x), lax.imag(x))]
    return lax.select(lax.bitwise_or(*infinite), lax.full_like(y, np.inf), y)


abs_p = elementwise(
    "abs",
    "x",
    numpy=np.absolute,
    xla=_abs_xla,
    maps=[_abs_map],
    jvps=[_abs_push],
    dtype=lambda x: real_dtype(x.dtype),
    operator=True,
)


def _winner_map(t: Value, x: Value, other: Value, y: Value) -> Value:
    """Return all of ``t`` where ``x`` is the result, and half of it where both operands are equal, as in JAX."""
    return select(x == y, select(other == y, 0.5 * t, t), 0)


_EXTREMUM_MAPS = [lambda t, y, a, b: _winner_map(t, a, b, y), lambda t, y, a, b: _winner_map(t, b, a, y)]


def max_xla(lax: Lax, a: Array, b: Array) -> Array:
    """Return the greater operand. XLA has no ``max`` for booleans."""
    return lax.bitwise_or(a, b) if a.dtype == bool else _extremum_xla(lax, a, b, "max")


def min_xla(lax: Lax, a: Array, b: Array) -> Array:
    """Return the smaller operand."""
    return lax.bitwise_and(a, b) if a.dtype == bool else _extremum_xla(lax, a, b, "min")


def _extremum_xla(lax: Lax, a: Array, b: Array, name: str) -> Array:
    """Return the extremum. As in NumPy, the first operand wins if complex numbers are equal or it is NaN."""
    if a.dtype.kind != "c":
        return getattr(lax, name)(a, b)
    first = lax.bitwise_or(ordered(lax, a, b, "ge" if name == "max" else "le"), lax.ne(a, a))
    return lax.select(first, a, b)


max_p = elementwise("max", "a b", numpy=np.maximum, xla=max_xla, maps=_EXTREMUM_MAPS)
min_p = elementwise("min", "a b", numpy=np.minimum, xla=min_xla, maps=_EXTREMUM_MAPS)


def ordered(lax: Lax, a: Value, b: Value, name: str) -> Value:
    """Compare complex numbers as NumPy does: real parts first, then imaginary parts; NaN compares as false."""
    if {a.dtype.kind, b.dtype.kind} == {"i", "u"}:
        return _ordered_integers(lax, a, b, name)
    if a.dtype.kind != "c" or name in {"eq", "ne"}:
        return getattr(lax, name)(a, b)
    (a_real, a_imag), (b_real, b_imag) = ((lax.real(x), lax.imag(x)) for x in (a, b))
    numbers = lax.bitwise_and(lax.eq(a_imag, a_imag), lax.eq(b_imag, b_imag))
    before = lax.bitwise_and(getattr(lax, name[0] + "t")(a_real, b_real), numbers)
    return lax.bitwise_or(before, lax.bitwise_and(lax.eq(a_real, b_real), getattr(lax, name)(a_imag, b_imag)))


def _ordered_integers(lax: Lax, a: Value, b: Value, name: str) -> Any:
    """Compare a signed and an unsigned integer.

    No dtype holds both; a negative number is less than every unsigned one.
    """
    if a.dtype.kind == "u":
        return _ordered_integers(lax, b, a, _TURNED[name])
    negative = lax.lt(a, lax.full_like(a, 0))
    compared = getattr(lax, name)(lax.convert_element_type(a, lax.canonical_dtype(b.dtype)), b)
    return lax.select(negative, lax.full_like(negative, name in {"lt", "le", "ne"}), compared)


_TURNED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def _ordered_xla(name: str) -> Any:
    return lambda lax, a, b: ordered(lax, a, b, name)


eq_p = predicate("eq", "a b", numpy=np.equal, xla=_ordered_xla("eq"))
ne_p = predicate("ne", "a b", numpy=np.not_equal, xla=_ordered_xla("ne"))
lt_p = predicate("lt", "a b", numpy=np.less, xla=_ordered_xla("lt"))
le_p = predicate("le", "a b", numpy=np.less_equal, xla=_ordered_xla("le"))
gt_p = predicate("gt", "a b", numpy=np.greater, xla=_ordered_xla("gt"))
ge_p = predicate("ge", "a b", numpy=np.greater_equal, xla=_ordered_xla("ge"))
