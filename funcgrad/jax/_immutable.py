"""Wrap the functions that transforms call: no array changes in them, and functions of JAX may be called in them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from funcgrad import errors
from funcgrad._core.bind import Tracer, active_trace
from funcgrad._core.trace.staging import StagingTrace
from funcgrad.interop.jax import converted
from funcgrad.jax._array import tree_of_arrays
from funcgrad.numpy.extend import immutable, is_strict
from funcgrad.tree import leaves

# JAX refuses values that it does not know with a TypeError, Equinox's filters with a ValueError.
_REFUSALS = errors.UnsupportedFunctionError, TypeError, ValueError


def immutably(f: Any) -> Any:
    """Return a function in which ``x += y`` makes a new array, traced or not: the function that a transform calls."""
    return Immutable(f) if callable(f) and not isinstance(f, Immutable) else f


class Immutable:
    """A function whose ``x += y`` make new arrays. It compares and hashes as the function, so that caches find it.

    If a function of JAX's meets a traced value of ours in it, the whole function runs under `funcgrad.from_jax`. This
    is safe because programs of JAX's are pure, and because each function of `funcgrad.jax` takes JAX's traced values.
    So layers of Flax and Equinox, samplers, solvers and optimizers work inside of our transforms.
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self.f = f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        before = [(trace, len(trace.equations)) for trace in _staging()]
        try:
            return self._call(*args, **kwargs)
        except _REFUSALS as error:
            # JAX would widen dtypes by its own rules, which strict promotion could not refuse.
            if is_strict() or not any(isinstance(x, Tracer) for x in leaves((args, kwargs))):
                raise
            for trace, count in before:
                # The effects of the first run, such as a print, would happen twice in a compiled program.
                trace.keep_first(count)
            try:
                # A program is compiled with the function in it. To compile it in each eager call would take long.
                return converted(self._call, compiled=bool(before))(*args, **kwargs)
            except _REFUSALS:
                # The function has a mistake, or it closes over a value of an outer transform, which tries next.
                raise error from None

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        with immutable():
            # A transform may call the function with plain arrays of NumPy's, in which x += y would write.
            return self.f(*tree_of_arrays(args), **tree_of_arrays(kwargs))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Immutable) and self.f == other.f

    def __hash__(self) -> int:
        return hash(self.f)


def _staging() -> Iterator[StagingTrace]:
    """Yield the traces around this call that record equations."""
    trace = active_trace()
    while trace is not None:
        if isinstance(trace, StagingTrace):
            yield trace
        trace = trace.outer
