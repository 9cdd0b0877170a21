"""Taylor mode: each value carries the coefficients of a power series in one parameter ``t``.

``x = x[0] + x[1] t + x[2] t**2 + ...``, up to the order of the trace. A primitive computes the series of its results by
one of four rules, from its derivative alone:

- linear in the series together (add, reshape, a product with a constant): each coefficient is pushed as a tangent;
- a product (mul, matmul, convolution): ``y[k] = sum_j a[j] b[k - j]``;
- rules of their own for quotients, linear systems and primitives that hold graphs: ``coefficients`` of the derivative;
- all others: the rule for tangents holds along the curve, ``y' = push(x'; x, y)``. It runs once, on series. Then
  ``k y[k] = y'[k - 1]``, which needs only lower coefficients of ``y``.

The last rule makes the known recurrences out of the derivatives. For ``exp``, ``y' = x' y`` gives
``k y[k] = sum_j j x[j] y[k - j]``. Coefficients are computed when they are first read, because ``y`` is not complete
while its rule runs. An application that occurs twice in rules has one series: the derivative of the sine asks for the
cosine of the same series, whose derivative asks for the sine.

Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition (2008), section 13.2 and table 13.2; Bettencourt,
Johnson and Duvenaud, *Taylor-mode automatic differentiation for higher-order derivatives in JAX* (2019).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.bind import Trace, Tracer, bind, next_serial
from funcgrad._core.graph.same import NUMBERS, same_value
from funcgrad._core.trace.derivative import CONSTANT, is_linear_in
from funcgrad._core.trace.forward import PrimalTracer
from funcgrad._core.trace.kept import copied
from funcgrad._types import Value
from funcgrad.tree import register_leaf

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

# Returns coefficient ``k`` of each result, ``None`` for zero; called for 1, 2, ... in this order.
Coefficients = Callable[[int], Sequence[Any]]


class Series:
    """The coefficients of one value. Each is computed when it is first read; ``None`` is zero."""

    __slots__ = ("_slope", "_source", "known")

    def __init__(self, known: Sequence[Any], source: Callable[[int], Any] | None = None) -> None:
        """``source`` returns coefficient ``k``; without it the coefficients after ``known`` are zero."""
        self.known = list(known)
        self._source = source
        self._slope: Series | None = None

    def __getitem__(self, k: int) -> Any:
        known = self.known
        while len(known) <= k:
            known.append(None if self._source is None else self._source(len(known)))
        return known[k]

    def up_to(self, k: int) -> list[Any]:
        """Return the coefficients from 0 to ``k``."""
        self[k]
        return self.known if len(self.known) == k + 1 else self.known[: k + 1]

    @property
    def is_constant(self) -> bool:
        """Whether all coefficients that are known are zero, but for the first, and there are no others."""
        return self._source is None and all(x is None for x in self.known[1:])

    @property
    def order(self) -> int:
        """The highest order of the coefficients that are known."""
        return len(self.known) - 1

    def ended(self) -> Series:
        """Return the series of the known coefficients alone."""
        return Series(self.known)

    def slope(self, zeros_like: Callable[[Any], Any]) -> Series:
        """Return the series of the derivative by ``t``."""
        if self._slope is None:
            first = zeros_like(self[0]) if self[1] is None else self[1]
            self._slope = Series([first], lambda k: None if self[k + 1] is None else self[k + 1] * (k + 1))
        return self._slope


@register_leaf
class JetTracer(PrimalTracer):
    """A value and its series."""

    __slots__ = ()
    _held = ("_value", "_series", "_serial")

    _series = vars(Tracer)["_node"]

    def __init__(self, trace: Trace, series: Series) -> None:
        self._owner = trace
        self._value = series[0]
        self._series = series
        self._serial = next_serial()


class JetTrace(Trace):
    """Runs each primitive on the primals and computes the coefficients of its results."""

    transform = "jet"
    binds_primals = True

    def __init__(
        self,
        order: int,
        zeros_like: Callable[[Any], Any],
        scope_of: Callable[[Sequence[Any]], AbstractContextManager[Any]] = lambda values: nullcontext(),
    ) -> None:
        """``scope_of`` returns the mode in which rules run on given values, if some are not NumPy's."""
        super().__init__()
        self.order = order
        self.zeros_like = zeros_like
        self._scope_of = scope_of
        # The applications of one operation of the function, and of those in the rules that it needs, by primitive and
        # series of the operands.
        self._seen: dict[tuple[Any, ...], list[_SeriesApplication]] | None = None

    def input(self, value: Value, terms: Sequence[Any]) -> JetTracer:
        return JetTracer(self, Series([value, *terms]))

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        if hooked and not self.direct:
            return self.apply_hooked(primitive, operands, params)
        values = [x._value if self._owns(x) else x for x in operands]
        if primitive.derivative is CONSTANT:
            return bind(primitive, tuple(values), params)
        if self._seen is not None:
            # A rule applies it. Its coefficients are computed one by one, as far as they are needed.
            return self._results(primitive, self._application(primitive, operands, params))
        self._seen = {}
        try:
            with self._scope_of(values):
                application = self._application(primitive, operands, params)
                for series, k in itertools.product(application.results, range(1, self.order + 1)):
                    series[k]
        finally:
            self._seen = None
        return self._results(primitive, application)

    def _owns(self, x: Value) -> bool:
        return type(x) is JetTracer and x._owner is self

    def _results(self, primitive: Primitive, application: _SeriesApplication) -> Any:
        whole = self._seen is None
        results = [y.ended() for y in application.results] if whole else application.results
        ys = [y[0] if y.is_constant else JetTracer(self, y) for y in results]
        return ys if primitive.multiple_results else ys[0]

    def _application(self, primitive: Primitive, operands: tuple, params: dict) -> _SeriesApplication:
        """Return the application, the same one for the same operands."""
        assert self._seen is not None
        series = [x._series if self._owns(x) else None for x in operands]
        inside = bool(self._seen)
        if inside:
            # Rules read plain arrays later. A rule of the user may write to them.
            operands = tuple([copied(x) if type(x) is np.ndarray else x for x in operands])
        application = _SeriesApplication(self, primitive, operands, series, params)
        alike = self._seen.setdefault((primitive, *map(id, series)), [])
        for other in alike:
            if application.is_same(other):
                return other
        alike.append(application)
        application.begin(0 if inside else self.order)
        return application


class _SeriesApplication:
    """One application of a primitive, with the series of its operands (``None``: a constant) and of its results."""

    def __init__(
        self, trace: JetTrace, primitive: Primitive, operands: tuple, series: Sequence[Series | None], params: dict
    ) -> None:
        self.trace, self.primitive, self.params = trace, primitive, params
        self.operands, self.series = operands, series
        self.active = [i for i, x in enumerate(series) if x is not None]
        # A series for each operand, also for constants.
        self.whole = [Series([x]) if s is None else s for s, x in zip(series, operands, strict=True)]
        self.results: list[Series] = []

    def is_same(self, other: _SeriesApplication) -> bool:
        """Return whether another application of the primitive to the same series has the same constants."""
        pairs = [(x, y) for s, x, y in zip(self.series, self.operands, other.operands, strict=True) if s is None]
        return all(_is_same_constant(x, y) for x, y in pairs) and same_value(self.params, other.params)

    def begin(self, order: int) -> None:
        """Compute the values of the results, and choose the rule for their coefficients.

        ``order`` is that up to which all coefficients of the operands are known.
        """
        derivative = self.primitive.derivative
        if hasattr(derivative, "jets"):
            values, coefficients = derivative.jets(self.whole, order, self.params)
        else:
            found = bind(self.primitive, self.at(0), self.params)
            values = found if self.primitive.multiple_results else [found]
            coefficients = self._rule(values)
        later: list[Sequence[Any]] = [values]

        def source(i: int, k: int) -> Any:
            # Results are read one after the other; each coefficient is computed for all of them at once.
            if k == len(later):
                later.append(coefficients(k))
            return _in_dtype_of(values[i], later[k][i])

        self.results += [Series([y], lambda k, i=i: source(i, k)) for i, y in enumerate(values)]

    def at(self, k: int) -> tuple:
        """Return coefficient ``k`` of each operand, with ``None`` for zero."""
        constants = self.operands if k == 0 else [None] * len(self.operands)
        return tuple([x if s is None else s[k] for s, x in zip(self.series, constants, strict=True)])

    def _rule(self, values: Sequence[Any]) -> Coefficients:
        derivative = self.primitive.derivative
        if is_linear_in(derivative, self.active):
            return lambda k: self._pushed(values, k)
        if getattr(derivative, "is_product", False):
            return lambda k: [self._product(k)]
        if hasattr(derivative, "coefficients"):
            found = derivative.coefficients(self.primitive, self.whole, self.results, self.params)
            if found is not None:
                return found
        return self._along_the_curve()

    def _pushed(self, values: Sequence[Any], k: int) -> Sequence[Any]:
        """Push the coefficients of the operands as tangents."""
        tangents = list(self.at(k))
        if all(x_dot is None for x_dot in tangents):
            return [None] * len(values)
        derivative, primals = self.primitive.derivative, self.at(0)
        if self.primitive.multiple_results:
            return derivative.jvp(self.primitive, primals, tangents, self.params)[1]
        return [derivative.push(self.primitive, primals, tangents, values[0], self.params)]

    def _product(self, k: int) -> Any:
        """Return the sum over all ways to divide the order among the factors."""
        factors = [self.whole[i].up_to(k) for i in self.active]
        if len(factors) == 2 and factors[0] is factors[1] and getattr(self.primitive.derivative, "commutes", False):
            return _square(k, factors[0])
        if len(factors) == len(self.operands) == 2:
            return _sum_of_products(self.primitive, factors[0], factors[1], self.params)
        total = None
        for parts in _divisions(k, len(factors)):
            chosen = [coefficients[part] for coefficients, part in zip(factors, parts, strict=True)]
            if all(x is not None for x in chosen):
                term = bind(self.primitive, self._with(chosen), self.params)
                total = term if total is None else total + term
        return total

    def _with(self, values: Sequence[Any]) -> tuple:
        """Return the operands with these values in place of the active ones."""
        given = dict(zip(self.active, values, strict=True))
        return tuple([given.get(i, x) for i, x in enumerate(self.operands)])

    def _along_the_curve(self) -> Coefficients:
        slopes: list[list[Any]] = []

        def coefficients(k: int) -> list[Any]:
            if not slopes:
                slopes.append(self._slopes())
            return [_divided(self._coefficient(slope, k - 1), k) for slope in slopes[0]]

        return coefficients

    def _slopes(self) -> list[Any]:
        """Return the derivatives of the results by ``t``, from the rule for tangents applied to series."""
        trace, derivative = self.trace, self.primitive.derivative
        primals = tuple(
            [x if s is None else JetTracer(trace, s) for s, x in zip(self.series, self.operands, strict=True)]
        )
        zeros_like = trace.zeros_like
        tangents = [None if s is None else JetTracer(trace, s.slope(zeros_like)) for s in self.series]
        if self.primitive.multiple_results:
            return derivative.jvp(self.primitive, primals, tangents, self.params)[1]
        y = JetTracer(trace, self.results[0])
        return [derivative.push(self.primitive, primals, tangents, y, self.params)]

    def _coefficient(self, slope: Value, k: int) -> Any:
        if type(slope) is JetTracer and slope._owner is self.trace:
            return slope._series[k]
        return None if k else slope


def _is_same_constant(x: Value, y: Value) -> bool:
    return x is y or (isinstance(x, (*NUMBERS, np.ndarray)) and same_value(x, y))


def _sum_of_products(primitive: Primitive, a: Sequence[Any], b: Sequence[Any], params: dict) -> Any:
    total = None
    for x, y in zip(a, reversed(b), strict=True):
        if x is not None and y is not None:
            term = bind(primitive, (x, y), params)
            total = term if total is None else total + term
    return total


def _square(k: int, x: Sequence[Any]) -> Any:
    """Return coefficient ``k`` of ``x * x``, in half of the products."""
    pairs = [(x[j], x[k - j]) for j in range((k + 1) // 2)]
    terms = [a * b for a, b in pairs if a is not None and b is not None]
    total = None
    if terms:
        total = sum(terms[1:], terms[0]) * 2
    if k % 2 == 0 and x[k // 2] is not None:
        middle = x[k // 2] * x[k // 2]
        total = middle if total is None else total + middle
    return total


def square(k: int, x: Series) -> Any:
    """Return coefficient ``k`` of ``x * x``."""
    return _square(k, x.up_to(k))


def _divisions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Return all tuples of ``parts`` numbers with the sum ``total``."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _divisions(total - first, parts - 1):
            yield first, *rest


def quotient(
    k: int, y: Series, b: Series, a: Series, divide: Callable[[Any], Any], multiply: Callable[[Any, Any], Any]
) -> Any:
    """Return coefficient ``k`` of the solution of ``b y = a``: ``b[0] y[k] = a[k] - b[1] y[k - 1] - ...``.

    Args:
        k: the order.
        y: the solution.
        b: the divisor.
        a: the dividend.
        divide: returns the solution for a dividend and the divisor ``b[0]``.
        multiply: returns the product of a coefficient of ``b`` and one of ``y``.
    """
    rest = a[k]
    for j in range(1, k + 1):
        if b[j] is not None and y[k - j] is not None:
            term = multiply(b[j], y[k - j])
            rest = -term if rest is None else rest - term
    return None if rest is None else divide(rest)


def _divided(x: Value, k: int) -> Any:
    return x if x is None or k == 1 else x / k


def _in_dtype_of(y: Value, x: Value) -> Any:
    """Return a coefficient in the dtype of the value: rules widen bare arrays of ml_dtypes' floats."""
    dtype = getattr(y, "dtype", None)
    return x.astype(dtype) if x is not None and dtype is not None and dtype.kind == "V" and x.dtype != dtype else x
