"""The ways in which a call is made on traced values: eagerly, on the NumPy engine, on XLA; and its derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.trace.place import settled
from tests.own_tests.targets import Target
from tests.own_tests.trees import copied, is_number, leaves, mapped

Pullback = Callable[[list[Any]], tuple[Any, ...]]


class Call(NamedTuple):
    """A call as the test made it, with copies of its arguments, and what NumPy or SciPy did.

    ``changed`` says whether the call wrote into its arguments; ``after`` are the arguments then.
    """

    target: Target
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any = None
    error: Exception | None = None
    changed: bool = False
    after: Any = None

    @property
    def expected(self) -> Any:
        return (self.result, self.after) if self.changed else self.result

    @property
    def is_method_of_plain(self) -> bool:
        """Whether it is a method of an array that stays plain eagerly: NumPy's methods do not ask their arguments."""
        return self.target.name.startswith("ndarray.") and not self.is_differentiated(self.args[0])

    def is_traced(self, x: Any) -> bool:
        """Whether a leaf of the arguments becomes traced."""
        return is_number(x) or (self.target.takes_numbers and type(x) in (float, complex))

    def is_differentiated(self, x: Any) -> bool:
        """Whether a leaf of the arguments becomes traced where floats and complex numbers do."""
        return self.is_traced(x) and np.asarray(x).dtype.kind in "fc"


def _run(call: Call, chosen: Callable[[Any], bool], xs: tuple[Any, ...]) -> Any:
    """The call with ``xs`` in the place of the chosen leaves; one array in two places stays one."""
    rest = iter(xs)
    given: dict[int, Any] = {}

    def put(x: Any) -> Any:
        if not chosen(x):
            return x
        if type(x) is not np.ndarray:
            return next(rest)
        if id(x) not in given:
            given[id(x)] = next(rest)
        return given[id(x)]

    args, kwargs = mapped(put, copied((call.args, call.kwargs)))
    result = mapped(_together, call.target.ours(*args, **kwargs))
    return (result, (args, kwargs)) if call.changed else result


def _together(y: Any) -> Any:
    """An array of objects, which NumPy's own code makes of traced values, as one traced array."""
    if type(y) is np.ndarray and y.dtype == object and any(map(fg.is_traced, y.ravel().tolist())):
        return fnp.asarray(y)
    return y


def is_written(call: Call, after: Any) -> bool:
    """Whether the call wrote into its arguments, and NumPy says what stands there afterwards."""
    if any(name.startswith("overwrite") for name in call.kwargs):
        return False
    pairs = zip(leaves(after), leaves((call.args, call.kwargs)), strict=True)
    return any(type(x) is np.ndarray and (x.shape != y.shape or x.tobytes() != y.tobytes()) for x, y in pairs)


def inputs(call: Call, chosen: Callable[[Any], bool]) -> list[Any]:
    """The leaves that become traced, each array once, in memory of their own."""
    found, seen = [], set()
    for x in leaves((call.args, call.kwargs)):
        if chosen(x) and not (type(x) is np.ndarray and id(x) in seen):
            seen.add(id(x))
            found.append(x.copy(order="K") if type(x) is np.ndarray else x)
    return found


def precision(call: Call) -> int:
    """The bytes of the narrowest float among the arguments, at most 8."""
    dtypes = [np.asarray(x).dtype for x in inputs(call, call.is_differentiated)]
    return min([8, *[dtype.itemsize // (2 if dtype.kind == "c" else 1) for dtype in dtypes]])


def eagerly(call: Call) -> tuple[Any, Pullback, list[Any]]:
    """The result in which floats were traced in reverse mode, the pullback, and the results that it pulls from."""
    result: Any = None

    def run(*xs: Any) -> list[Any]:
        nonlocal result
        result = _run(call, call.is_differentiated, xs)
        return [settled(y) for y in leaves(result) if fg.is_traced(y) and _has_derivative(y)]

    outputs, pullback = fg.vjp(run, *inputs(call, call.is_differentiated))
    values = iter(outputs)
    plain = mapped(lambda y: (next(values) if _has_derivative(y) else _plain(y)) if fg.is_traced(y) else y, result)
    return plain, pullback, outputs


def _has_derivative(y: Any) -> bool:
    return np.dtype(y.dtype).kind in "fc"


def _plain(y: Any) -> Any:
    return np.asarray(fg.stop_gradient(y))


def staged(call: Call, engine: str) -> Any:
    """The result of the call compiled, in which all numbers were abstract."""
    result: Any = None

    def run(*xs: Any) -> list[Any]:
        nonlocal result
        result = _run(call, call.is_traced, xs)
        return [y for y in leaves(result) if _comes_out(y)]

    values = iter(fg.jit(run, engine=engine)(*inputs(call, call.is_traced)))
    return mapped(lambda y: next(values) if _comes_out(y) else y, result)


def _comes_out(y: Any) -> bool:
    return fg.is_traced(y) or (isinstance(y, np.ndarray | np.generic) and y.dtype.kind in "biufc")


def is_smooth_type(call: Call, outputs: list[Any]) -> bool:
    """Whether differences can say what the derivative is: all numbers are of 64 bits and few."""
    xs = inputs(call, call.is_differentiated)
    kinds = {np.asarray(x).dtype.char for x in xs}
    if any(np.asarray(y).dtype.char not in "dD" for y in outputs):
        return False
    return bool(xs) and kinds <= {"d", "D"} and sum(np.size(x) for x in xs) <= 200


def derivative_difference(call: Call, pullback: Pullback, outputs: list[Any]) -> str | None:
    """Text where the derivative along a random direction is not that of differences, which have to agree first.

    Raises:
        LookupError: the differences of several steps do not agree, so that they say nothing.
    """
    rng = np.random.default_rng(0)
    xs = inputs(call, call.is_differentiated)
    if not all(np.all(np.isfinite(x)) for x in (*xs, *outputs)) or not all(map(_is_moderate, xs)):
        raise LookupError("arguments or results are infinite, huge or tiny")
    ways = [_random(rng, x) * np.where(np.asarray(x) == 0, 1.0, np.abs(x)) for x in xs]
    weights = [_random(rng, y) for y in outputs]
    plain = call._replace(target=call.target._replace(ours=call.target.theirs))

    def at(step: float) -> np.ndarray:
        """Each result times its weight, beside this step along the direction."""
        moved = tuple([x + step * way for x, way in zip(xs, ways, strict=True)])
        found = [y for y in leaves(_run(plain, call.is_differentiated, moved)) if _is_inexact(y)]
        if [np.shape(y) for y in found] != [np.shape(y) for y in outputs]:
            raise LookupError("there are other results beside")
        return np.concatenate([np.real(y * w).ravel() for y, w in zip(found, weights, strict=True)])

    middle, slopes = at(0.0), []
    for step in (1e-4, 1e-5, 1e-6):
        slopes += [(at(step) - middle) / step, (middle - at(-step)) / step]
    scale = float(np.max(np.abs(slopes), initial=0.0))
    spread = float(np.max(np.ptp(slopes, axis=0), initial=0.0))
    # Rounding of the results, divided by the smallest step.
    noise = 1e-12 + 1e-8 * float(np.sum(np.abs(middle)))
    if not np.all(np.isfinite(slopes)) or spread > 1e-2 * scale + noise:
        raise LookupError("differences do not agree")
    bars = pullback([np.asarray(w, np.asarray(y).dtype)[()] for w, y in zip(weights, outputs, strict=True)])
    got = sum(float(np.sum(np.real(np.asarray(bar) * way))) for bar, way in zip(bars, ways, strict=True))
    expected = float(np.sum(slopes[2] + slopes[3])) / 2
    if abs(got - expected) <= 1e-3 * scale + noise + 2 * spread * len(middle):
        return None
    return f"{got!r} for {expected!r} along a random direction"


def _is_moderate(x: Any) -> bool:
    size = np.abs(x)[np.asarray(x) != 0]
    return bool(np.all((size > 1e-50) & (size < 1e50)))


def _is_inexact(y: Any) -> bool:
    return isinstance(y, np.ndarray | np.generic | float | complex) and np.asarray(y).dtype.kind in "fc"


def _random(rng: np.random.Generator, x: Any) -> Any:
    draw = rng.uniform(0.5, 1.0, np.shape(x)) * rng.choice([-1.0, 1.0], np.shape(x))
    if np.asarray(x).dtype.kind == "c":
        return draw + 1j * rng.uniform(-1.0, 1.0, np.shape(x))
    return draw
