"""Compare derivatives with finite differences: `check_grads`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._core.bind import is_engine_value
from funcgrad._core.tracebacks import folded
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._public import publish
from funcgrad._transforms.base.arguments import argument_name, check_callable, differentiable_leaves, name_of, taken
from funcgrad._transforms.base.own import call_with_own
from funcgrad._transforms.derivative.forward import jvp
from funcgrad._transforms.derivative.reverse import vjp
from funcgrad._types import Array, ArrayLike
from funcgrad.errors import GradientMismatchError
from funcgrad.tree import flatten, flatten_with_path, key_path_str, unflatten

__all__ = ["check_grads"]

Arrays = list[Any]
FlatFunction = Callable[..., Arrays]

_MODES = {"fwd": "jvp", "rev": "vjp"}
# The error of a five-point difference is step**4 by truncation and 1e-16 / step by rounding. At this step they are
# about equal.
_STEP = 2e-4
_RTOL = 1e-6
_ATOL = 1e-8


@folded
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
) -> None:
    """Check the derivatives of a function against central differences, up to an order.

    Each leaf of each argument is varied alone, then all of them together, along a random direction ``x_dot``. Then

        jvp(f)(x, x_dot)               must be  f'  =  (f(x + h x_dot) - f(x - h x_dot)) / 2h,
        Re sum(vjp(f)(x, y_bar) x_dot) must be  Re sum(y_bar f'),      for a random y_bar

    The difference is in fact the five-point one, of error ``h**4``. For a higher order, the functions ``jvp(f)(.,
    x_dot)`` and ``vjp(f)(., y_bar)`` are checked in the same way, in all combinations of modes. The directions are the
    same in every call.

    Args:
        f: a function of pytrees of arrays that returns a pytree; results of integer or boolean dtype are not compared.
        args: its arguments, floats or complex. They are converted to double precision and stay on their engine; ``f``
            must keep the precision, and be smooth near the point.
        order: the highest order of derivative to check, at least 1.
        modes: ``"fwd"`` for `jvp`, ``"rev"`` for `vjp`, or both.
        eps: the step ``h``, in units of the arguments; 2e-4 unless given.
        atol: absolute error allowed, in units of the result; 1e-8 times the largest value of ``f``, at least 1e-8,
            unless given.
        rtol: error allowed relative to the expected derivative's largest element, dimensionless; 1e-6 unless given.

    Raises:
        GradientMismatchError: a derivative is wrong. It is an ``AssertionError`` and names the argument, the mode, the
            order, and the values found and expected.
        NotDifferentiableError: an argument is of integer or boolean dtype.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.check_grads(lambda x, y: np.sum(x * y) / x[0], (np.array([1.0, 2.0]), 3.0), order=2)
        >>> fg.check_grads(lambda x: x * fg.stop_gradient(x), (3.0,))
        Traceback (most recent call last):
        funcgrad.errors.GradientMismatchError: check_grads: order 1, fwd (jvp) of <lambda>, argument 0 (x) varied: ...

    Source: the signature is that of ``jax.test_util.check_grads``; the differences are in Abramowitz and Stegun (1964),
    table 25.2. It differs from JAX's function: arguments are converted to double precision, and leaves are varied one
    by one.
    """
    check_callable("check_grads", f)
    if not isinstance(args, tuple | list):
        raise TypeError(
            f"check_grads: args is a {type(args).__name__}; needed a tuple with all positional arguments. Write "
            "(x,) for one."
        )
    for name, value in {"eps": eps, "atol": atol, "rtol": rtol}.items():
        if value is not None and (isinstance(value, str) or not value >= 0 or (name == "eps" and value == 0)):
            raise ValueError(
                f"check_grads: {name} is {value!r}; needed a number that is not negative. Omit it to use the default."
            )
    if not isinstance(order, int) or not order >= 1:
        raise ValueError(f"check_grads: order is {order!r}; needed an int of at least 1.")
    unknown = [mode for mode in modes if mode not in _MODES]
    if unknown or not modes:
        raise ValueError(f"check_grads: modes is {modes!r}; needed a sequence of 'fwd' and 'rev'.")
    flat, xs, paths = _flattened(f, args)
    checker = _Checker(tuple(modes), paths, _STEP if eps is None else eps, atol, _RTOL if rtol is None else rtol)
    checker.check(flat, xs, name_of(f), 1, order)


def _flattened(f: Callable[..., Any], args: Sequence[Any]) -> tuple[FlatFunction, Arrays, list[str]]:
    """Return ``f`` as a function of flat leaves in double precision, the leaves, and their names for messages."""
    for number, arg in enumerate(args):
        differentiable_leaves("check_grads", f, number, arg)
    leaves, treedef = flatten(tuple(args))
    paths = [
        f"{argument_name(f, number).removesuffix(f' of {name_of(f)}')}{key_path_str(path)}"
        for number, arg in enumerate(args)
        for path, _ in flatten_with_path(arg)[0]
    ]

    def flat(*xs: Any) -> Arrays:
        ys = map(taken, flatten(f(*unflatten(treedef, list(xs))))[0])
        return [y for y in ys if is_inexact(aval_of(y).dtype)]

    flat.__name__ = name_of(f)
    return flat, [_doubled(x) for x in leaves], paths


def _doubled(x: ArrayLike) -> Array:
    dtype = np.dtype(complex if aval_of(x).dtype.kind == "c" else float)
    return cast(x if hasattr(x, "dtype") else np.asarray(x), dtype)


class _Checker:
    """The settings of one `check_grads` call, and its random numbers."""

    def __init__(self, modes: tuple[str, ...], paths: list[str], step: float, atol: float | None, rtol: float) -> None:
        self.modes = modes
        self.paths = paths
        self.step = step
        self.atol = atol
        self.rtol = rtol
        self.rng = np.random.default_rng(0)

    def check(self, f: FlatFunction, xs: Arrays, name: str, level: int, order: int) -> None:
        """Check the first derivative of ``f``, then the derivatives of its derivatives, up to the order."""
        ys = [np.asarray(y) for y in _values(f, xs)]
        y_bars = [self._direction(y) for y in ys]
        pullback = vjp(f, *xs)[1] if "rev" in self.modes else None
        x_bars = list(pullback(y_bars)) if pullback is not None else []
        atol = self.atol if self.atol is not None else _ATOL * max([1.0, *(_size(y) for y in ys)])
        for label, x_dots in self._directions(xs):
            y_dots = self._difference(f, xs, x_dots)
            where = f"of {name}, {label} varied"
            if "fwd" in self.modes:
                self._compare_tangents(f"order {level}, fwd (jvp) {where}", jvp(f, xs, x_dots)[1], y_dots, atol)
            if "rev" in self.modes:
                pairs = _pairing(x_bars, x_dots), _pairing(y_bars, y_dots)
                size = _pairing([abs(y_bar) for y_bar in y_bars], [abs(y_dot) for y_dot in y_dots])
                self._compare(
                    f"order {level}, rev (vjp) {where}: the cotangent paired with the direction", *pairs, size, atol
                )
        if level < order:
            self._check_derivatives(f, xs, y_bars, name, level, order)

    def _check_derivatives(
        self, f: FlatFunction, xs: Arrays, y_bars: Arrays, name: str, level: int, order: int
    ) -> None:
        x_dots = [self._direction(x) for x in xs]
        derivatives = {
            "fwd": lambda *xs: list(jvp(f, xs, x_dots)[1]),
            "rev": lambda *xs: list(vjp(f, *xs)[1](y_bars)),
        }
        for mode in self.modes:
            self.check(derivatives[mode], xs, f"{_MODES[mode]}({name})", level + 1, order)

    def _direction(self, x: ArrayLike) -> np.ndarray:
        shape, dtype = x.shape, np.dtype(x.dtype)
        parts = self.rng.normal(size=(2, *shape))
        return np.asarray(parts[0] + 1j * parts[1] if dtype.kind == "c" else parts[0], dtype)

    def _directions(self, xs: Arrays) -> list[tuple[str, Arrays]]:
        """Return a direction for each leaf alone, then one for all leaves together."""
        whole = [self._direction(x) for x in xs]
        zeros = [np.zeros_like(x_dot) for x_dot in whole]
        alone = [(path, [*zeros[:i], whole[i], *zeros[i + 1 :]]) for i, path in enumerate(self.paths)]
        return alone if len(xs) == 1 else [*alone, ("all arguments", whole)]

    def _difference(self, f: FlatFunction, xs: Arrays, x_dots: Arrays) -> Arrays:
        def at(t: int) -> Arrays:
            return _values(f, [add_p(x, t * self.step * x_dot) for x, x_dot in zip(xs, x_dots, strict=True)])

        values = zip(at(-2), at(-1), at(1), at(2), strict=True)
        return [
            (8 * (np.asarray(d) - np.asarray(c)) - (np.asarray(e) - np.asarray(b))) / (12 * self.step)
            for b, c, d, e in values
        ]

    def _compare_tangents(self, what: str, got: Arrays, expected: Arrays, atol: float) -> None:
        for number, (y_dot, difference) in enumerate(zip(got, expected, strict=True)):
            result = f" of result {number}" if len(expected) > 1 else ""
            y_dot = np.asarray(y_dot)  # noqa: PLW2901  (a jax.Array on the XLA engine)
            error = abs(y_dot - difference)
            if error.size:
                worst = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
                place = f" at {tuple(int(i) for i in worst)}" if worst else ""
                self._compare(
                    f"{what}: the tangent{result}{place}", y_dot[worst], difference[worst], _size(difference), atol
                )

    def _compare(self, what: str, got: Any, expected: Any, size: float, atol: float) -> None:
        """Raise for a difference above the tolerance, or for NaN."""
        allowed = atol + self.rtol * size
        if not abs(got - expected) <= allowed:
            raise GradientMismatchError(
                f"check_grads: {what} is {got:.9g}, and differences give {expected:.9g}. They differ by "
                f"{abs(got - expected):.2g}, where {allowed:.2g} is allowed (atol + rtol * {size:.3g}). If f is "
                "smooth near the point, a derivative rule that it uses is wrong, or the function stops a part of the "
                "gradient."
            )


def _values(f: FlatFunction, xs: Arrays) -> Arrays:
    """Return the value of ``f``: called directly on NumPy arrays, and traced for the arrays of another engine."""
    return list(vjp(f, *xs)[0]) if any(is_engine_value(x) for x in xs) else call_with_own(f, tuple(xs), {})


def _pairing(bars: Arrays, dots: Arrays) -> float:
    """Return ``Re(sum(bar * dot))``: a cotangent applied to a tangent, without conjugation."""
    return float(sum(np.sum(np.real(np.asarray(bar) * dot)) for bar, dot in zip(bars, dots, strict=True)))


def _size(y: np.ndarray) -> float:
    return float(np.max(abs(y), initial=0.0))


__dir__ = publish(__name__)
