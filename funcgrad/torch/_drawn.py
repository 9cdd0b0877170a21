"""Functions that make tensors of random numbers, PyTorch's for the same seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._types import Array, DTypeLike, ShapeLike, Tensor
from funcgrad.autograd.extend import (
    TRACE,
    Generator,
    default_generator,
    drawn_by_rows,
    is_tensor,
    lower,
    rejection,
    rows,
    type_name,
)
from funcgrad.torch._creation import dtype_of, finished, like, plain, sizes_of, titled

Made = Callable[..., Any]


def _drawn(name: str, draw: Callable[[Generator, tuple[int, ...], np.dtype], Any]) -> Made:
    def function(*size: Any, **options: Any) -> Any:
        shape, dtype = sizes_of(name, size, options), dtype_of(name, options)
        return _finished(name, lambda whole: draw(_source(options.get("generator")), whole, dtype), shape, options)

    return titled(function, name, "return random numbers of a shape, PyTorch's for the same seed.")


def _finished(
    name: str, draw: Callable[[tuple[int, ...]], Any], shape: tuple[int, ...], options: dict[str, Any]
) -> Tensor:
    """Return drawn numbers as a tensor: if they differ by row, draw those of all rows at once, as PyTorch does."""
    if not rows.get():
        return finished(name, draw(shape), options)
    return drawn_by_rows(lambda whole: finished(name, draw(whole), options), shape)


def _like(name: str, draw: Callable[..., Any]) -> Made:
    plain_like = like(name, lambda generator, *of: draw(_source(generator), *of))

    def function(input: Array, *args: Any, **options: Any) -> Any:  # noqa: A002  (PyTorch's name)
        if not rows.get():
            return plain_like(input, *args, **options)
        dtype = options.pop("dtype", None)
        made = np.dtype(input.dtype if dtype is None else dtype)
        return _finished(name, lambda whole: draw(default_generator, whole, made, *args), tuple(input.shape), options)

    return titled(function, name, "return random numbers of a tensor's shape, PyTorch's for the same seed.")


def _source(generator: Any) -> Any:
    return default_generator if generator is None else generator


def _uniform(source: Any, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return _check_floating("rand", dtype) or source.random(shape, dtype)


def _normal(source: Any, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    if dtype.kind == "c":
        parts = source.normal(0.0, math.sqrt(0.5), (*shape, 2), np.dtype(f"f{dtype.itemsize // 2}"))
        return parts.view(dtype)[..., 0]
    return _check_floating("normal_kernel_cpu", dtype) or source.normal(0.0, 1.0, shape, dtype)


def _check_floating(name: str, dtype: np.dtype) -> None:
    if dtype.kind in "biu":
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_name(dtype)}'")


def _integers(generator: Any, shape: tuple[int, ...], dtype: np.dtype, low: int, high: int | None = None) -> Any:
    low, high = (0, low) if high is None else (low, high)
    if not low < high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return _source(generator).integers(low, high, shape, dtype)


def randint(*args: Any, **options: Any) -> Any:
    """``torch.randint``: return random integers from ``low``, 0 by default, to ``high - 1``."""
    given = list(args)
    size = options.pop("size", None)
    size = given.pop() if size is None else size
    low = options.pop("low", None)
    high = options.pop("high", None)
    if high is None:
        high = given.pop()
    low = given.pop() if given else 0 if low is None else low
    dtype = dtype_of("randint", options, np.int64)
    source, shape = options.get("generator"), sizes_of("randint", (size,), {})
    return _finished("randint", lambda whole: _integers(source, whole, dtype, int(low), int(high)), shape, options)


def randperm(n: int, **options: Any) -> Any:
    """``torch.randperm``: return the integers below ``n`` in random order."""
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got{n}")
    dtype = dtype_of("randperm", options, np.int64)
    source = _source(options.get("generator"))

    def draw(whole: tuple[int, ...]) -> Any:
        drawn = [source.permutation(n) for _ in range(math.prod(whole[:-1]))]
        return np.array(drawn, dtype).reshape(whole)

    return _finished("randperm", draw, (n,), options)


def normal(mean: Array, std: Array = 1.0, size: ShapeLike | None = None, **options: Any) -> Any:
    """``torch.normal``: return normal numbers of means and standard deviations, or of a shape."""
    source = _source(options.get("generator"))
    if size is not None:
        shape, dtype = sizes_of("normal", (size,), {}), dtype_of("normal", options)
        if not plain(std) >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {plain(std):g}")
        return _finished("normal", lambda whole: source.normal(plain(mean), plain(std), whole, dtype), shape, options)
    values = [lower(x)._value if is_tensor(x) else x for x in (mean, std)]
    if np.any(np.asarray(values[1]) < 0):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    like = next(x for x in (mean, std) if is_tensor(x))
    shape = np.broadcast_shapes(*map(np.shape, values))
    drawn = source.normal(0.0, 1.0, shape, like.dtype)
    return finished("normal", (drawn * values[1] + values[0]).astype(like.dtype), options)


def poisson(input: Array, generator: Any = None) -> Tensor:  # noqa: A002  (PyTorch's name)
    """``torch.poisson``: return Poisson distributed numbers, each with the rate that an element is."""
    rates = np.asarray(input.detach())
    if not np.all(rates >= 0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return _each(_source(generator), rejection.poisson, input.dtype, rates)


def binomial(count: Array, prob: Array, generator: Any = None) -> Tensor:
    """``torch.binomial``: return how many of ``count`` trials succeed, each with the probability ``prob``."""
    for name, x in (("count", count), ("prob", prob)):
        if not is_tensor(x):
            raise TypeError(f"binomial(): argument '{name}' must be Tensor, not {type(x).__name__}")
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {type_name(prob.dtype)} but expected {type_name(count.dtype)}")
    counts, probs = np.broadcast_arrays(np.asarray(count.detach()), np.asarray(prob.detach()))
    return _each(_source(generator), rejection.binomial, count.dtype, counts, probs)


def standard_gamma(concentration: Array, generator: Any = None) -> Tensor:
    """Return gamma distributed numbers of scale 1, without gradients, in float64."""
    return _each(_source(generator), rejection.gamma, np.float64, np.asarray(concentration.detach()))


def _each(source: Any, draw: Callable[..., float], dtype: DTypeLike, *parameters: np.ndarray) -> Tensor:
    """Draw a number for the parameters of each element, in the order of the elements."""
    rows = zip(*[p.astype(np.float64).ravel().tolist() for p in parameters], strict=True)
    drawn = np.array([draw(source, *row) for row in rows], np.float64)
    return TRACE.constant(drawn.reshape(parameters[0].shape).astype(dtype))


FUNCTIONS: dict[str, Made] = {
    "rand": _drawn("rand", _uniform),
    "randn": _drawn("randn", _normal),
    "rand_like": _like("rand_like", _uniform),
    "randn_like": _like("randn_like", _normal),
    "randint_like": _like("randint_like", _integers),
    **{function.__name__: function for function in (binomial, normal, poisson, randint, randperm)},
}
