"""A row for each public function of NumPy: how transforms treat it, found by calling it."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.aval import is_inexact
from funcgrad._core.graph.ir import Graph
from funcgrad.errors import ConcretizationTypeError
from funcgrad.tree import leaves
from tests.laws._coverage_calls import CALLS, GUESSES, NO_ARRAYS, Call

MODULES = (
    "numpy",
    "numpy.fft",
    "numpy.linalg",
    "numpy.lib.stride_tricks",
    *[
        f"numpy.polynomial.{name}"
        for name in ("polynomial", "chebyshev", "legendre", "laguerre", "hermite", "hermite_e")
    ],
    "numpy.random",
)


# Our messages, and those of NumPy's own code when a traced value reaches it.
REFUSALS: tuple[type[Exception], ...] = (TypeError, ValueError, NotImplementedError)


class Row(NamedTuple):
    """The row of a function in the table."""

    function: str
    derivative: str
    graphs: str = ""
    batches: str = ""
    note: str = ""

    def __str__(self) -> str:
        return f"| {' | '.join(self)} |"


def functions(module: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Return the public functions of a module, with ufuncs and without classes."""
    found = importlib.import_module(module)
    for name in sorted(getattr(found, "__all__", None) or dir(found)):
        value = getattr(found, name, None)
        if callable(value) and not isinstance(value, type) and not name.startswith("_"):
            yield name, value


def row_of(module: str, name: str, function: Callable[..., Any]) -> Row:
    """Call a function and return its row."""
    title = f"`{module}.{name}`"
    if name in NO_ARRAYS:
        return Row(title, "no arrays")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        call, args = example(module, name, function)
        drawn = module == "numpy.random"
        try:
            return Row(title, derivative(call, args, drawn=drawn), *stages(call, args, drawn=drawn))
        except REFUSALS as error:
            return Row(title, "refused", note="" if drawn else reason(error))


def example(module: str, name: str, function: Callable[..., Any]) -> tuple[Call, tuple[Any, ...]]:
    """Return a call that NumPy itself answers, and its arguments."""
    given = CALLS.get(f"{module}.{name}") or CALLS.get(name)
    for guess in [given] if given else GUESSES:
        call, args = guess(function)
        try:
            call(*[np.array(x) for x in args])
        except Exception:
            if given:
                raise
        else:
            return call, args
    raise LookupError(f"{module}.{name}: no example call fits it. Add one to _coverage_calls.py.")


def numbers(call: Call) -> Callable[..., list[Any]]:
    """Return the arrays and numbers among the results, then the first argument. There may be none."""

    def run(*args: Any) -> list[Any]:
        found = [y for y in leaves(call(*args)) if getattr(y, "dtype", np.dtype(float)).kind in "biufcO"]
        return [*[fnp.asarray(y) for y in found if not isinstance(y, str | type)], args[0]]

    return run


def derivative(call: Call, args: tuple[Any, ...], *, drawn: bool) -> str:
    """Return whether the results have tangents. The results are NumPy's unless they are random."""
    f = numbers(call)
    inexact = [i for i, x in enumerate(args) if is_inexact(x.dtype)]

    def of_inexact(*xs: Any) -> list[Any]:
        whole = list(args)
        for i, x in zip(inexact, xs, strict=True):
            whole[i] = x
        return f(*whole)

    primals = tuple([args[i] for i in inexact])
    if not primals:
        fg.make_graph(f)(*args)
        return "constant"
    rng = np.random.default_rng(0)
    results, pushed = fg.jvp(of_inexact, primals, tuple([rng.normal(size=x.shape) for x in primals]))
    if not drawn:
        check(results, f(*args))
    moved = any(np.any(np.asarray(y_dot) != 0) for y_dot in pushed[:-1] if np.asarray(y_dot).dtype.kind in "fc")
    return "differentiated" if moved else "constant"


def check(results: list[Any], expected: list[Any]) -> None:
    """Check the numbers, so that the page lists no function that returns wrong numbers."""
    for y, value in zip(results, expected, strict=True):
        assert np.asarray(y).dtype == np.asarray(value).dtype
        np.testing.assert_allclose(np.asarray(y), np.asarray(value), rtol=1e-6, atol=1e-9)


def stages(call: Call, args: tuple[Any, ...], *, drawn: bool) -> tuple[str, str, str]:
    """Return whether a function runs in graphs on both engines and under ``vmap``, and the reason if it fails."""
    f = numbers(call)
    expected = f(*args)
    try:
        graph = fg.make_graph(f)(*args)
        if not drawn:
            check(graph(*args), expected)
        graphs, note = f"NumPy, {on_xla(graph, args)}", ""
    except REFUSALS as error:
        graphs, note = failure(error)
    try:
        batched = fg.vmap(f)(*[np.stack([x, x]) for x in args])
        if not drawn:
            check([y[1] for y in batched], expected)
        batches = "yes"
    except REFUSALS as error:
        batches, why = failure(error)
        note = note or why
    return graphs, batches, note


def on_xla(graph: Graph, args: tuple[Any, ...]) -> str:
    """Return whether every operation has an XLA implementation. Types are computed, and nothing is compiled."""
    with jax.enable_x64(True):
        types = jax.eval_shape(graph, *args)
    for y, aval in zip(types, graph.outputs, strict=True):
        assert (y.shape, y.dtype) == (aval.aval.shape, aval.aval.dtype)
    return "XLA"


def failure(error: Exception) -> tuple[str, str]:
    """Return the table's entry for an error, and its note."""
    return ("numbers", "") if isinstance(error, ConcretizationTypeError) else ("refused", reason(error))


def reason(error: Exception) -> str:
    """Return the last sentence of our messages, which is the remedy, or the class of another library's error."""
    if not type(error).__module__.startswith("funcgrad"):
        return f"raises {type(error).__name__}"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text.split('. ')[-1].rstrip('.')}".replace("|", "/")


def table(module: str) -> str:
    """Return the rows of a module."""
    rows = [row_of(module, name, f) for name, f in functions(module)]
    return "\n".join(["| function | derivative | graphs | vmap | note |", "|---|---|---|---|---|", *map(str, rows)])
