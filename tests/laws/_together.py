"""Many functions compiled as few XLA programs; each test asks for the results of its functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

import jax
import jax.extend
import numpy as np

from funcgrad._engines.xla import modes
from funcgrad._engines.xla import run as xla
from tests.laws._cases import Arrays, Function

Call = tuple[Function, Arrays]

# The approximate number of operations in a program. XLA takes longer for a larger one than for its parts (for 20,000 a
# fifth longer).
_ENOUGH = 1500


def run_together(calls: Mapping[str, Call], *, at_once: bool = False) -> dict[str, Arrays | Exception]:
    """Return each function's result for its arrays, or its error, in ``jax.jit`` with 64 bits or without ``jit``.

    Run at once, each operation is compiled by itself, which takes many times as long as to compile all of them
    together. They are therefore traced under the conditions that they meet when they run: the mode is off, each
    operation of ours turns it on for itself, and takes the form that it has on arrays rather than on tracers.
    """
    traced: dict[str, Any] = {}
    arrays: dict[str, Arrays] = {}
    found: dict[str, Arrays | Exception] = {}
    for name, (function, xs) in calls.items():
        with jax.enable_x64(True):
            arrays[name] = [jax.numpy.asarray(x) for x in xs]
        try:
            with _as_at_once() if at_once else jax.enable_x64(True):
                traced[name] = jax.make_jaxpr(function)(*arrays[name])
        except Exception as error:  # noqa: BLE001  (whatever it is, the test of this function raises it)
            found[name] = error

    for names in _portions(traced):

        def everything(arrays: dict[str, Arrays]) -> dict[str, Arrays]:
            return {name: jax.extend.core.jaxpr_as_fun(traced[name])(*xs) for name, xs in arrays.items()}

        with jax.enable_x64(True):
            results = jax.jit(everything)({name: arrays[name] for name in names})
        found |= {name: [np.asarray(y) for y in ys] for name, ys in results.items()}
    return found


def _portions(traced: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the names in groups. The programs of a group have enough operations together."""
    names: list[str] = []
    count = 0
    for name, graph in traced.items():
        size = _size(graph)
        if names and count + size > _ENOUGH:
            yield names
            names, count = [], 0
        names.append(name)
        count += size
    if names:
        yield names


def _size(x: Any) -> int:
    """Return the number of operations of a graph of JAX, those of its parameters included."""
    if isinstance(x, tuple | list):
        return sum(map(_size, _graphs(x)))
    graph = getattr(x, "jaxpr", x)
    return sum(1 + _size(tuple(equation.params.values())) for equation in graph.eqns)


def _graphs(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the graphs among values and inside containers."""
    return (x for x in values if isinstance(x, tuple | list) or hasattr(x, "eqns") or hasattr(x, "jaxpr"))


@contextmanager
def _as_at_once() -> Iterator[None]:
    as_outside = mock.patch.object(xla, "inside_jax_trace", return_value=False)
    as_on_arrays = mock.patch.object(xla._Lax, "is_traced", return_value=False)
    as_entered = mock.patch.object(modes, "enter", _enter_outside_any_trace)
    with as_outside, as_on_arrays, as_entered:
        yield


def _enter_outside_any_trace() -> Any:
    return modes.WIDE_LAST if modes._mode.value else modes._mode.swap_local(True)


def result(found: Mapping[str, Arrays | Exception], name: str) -> Arrays:
    """Return the results of one function, or raise its error."""
    y = found[name]
    if isinstance(y, Exception):
        raise y
    return y
