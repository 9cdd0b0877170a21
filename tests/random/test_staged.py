"""Numbers drawn from ``numpy.random`` while a function is staged are constants; where that can be seen, it is said."""

from __future__ import annotations

import functools
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import StagedRandomWarning

X = np.ones(3)
randn = np.random.randn
GLOBAL: Any = np.random
RNG = np.random.default_rng(0)
OLD = np.random.RandomState(0)
COUNTER = np.random.Generator(np.random.Philox(0))


def helper(x: Any) -> Any:
    return x + RNG.normal()


class Model:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(2)

    def own(self, x: Any) -> Any:
        return x * self.rng.uniform()

    def noisy(self, x: Any, rng: np.random.Generator) -> Any:
        return x * rng.uniform()


def closed(x: Any, rng: np.random.Generator = RNG) -> Any:
    return x + rng.standard_normal(3)


LOCAL = np.random.default_rng(1)
MODEL = Model()
STREAMS = {"noise": np.random.default_rng(3)}
SEEN: dict[str, tuple[Callable[[Any], Any], str]] = {
    "global": (lambda x: x + GLOBAL.normal(size=3), "NumPy's global state"),
    "the second of two": (lambda x: x + GLOBAL.randn(), "NumPy's global state"),
    "shuffle": (lambda x: x[GLOBAL.permutation(3)], "NumPy's global state"),
    "generator": (lambda x: x + RNG.normal(size=3), "a numpy.random.Generator"),
    "old": (lambda x: x + OLD.rand(3), "a numpy.random.RandomState"),
    "another": (lambda x: x + COUNTER.random(3), "a numpy.random.Generator"),
    "in a function that is called": (lambda x: np.sin(helper(x)), "a numpy.random.Generator"),
    "in a default": (closed, "a numpy.random.Generator"),
    "partial": (functools.partial(Model().noisy, rng=LOCAL), "a numpy.random.Generator"),
    "an attribute of a method's": (Model().own, "a numpy.random.Generator"),
    "an attribute of an object": (lambda x: x + MODEL.rng.normal(), "a numpy.random.Generator"),
    "in a dictionary": (lambda x: x + STREAMS["noise"].gamma(2.0), "a numpy.random.Generator"),
    "in a loop": (lambda x: fg.fori_loop(0, 2, lambda i, x: x + GLOBAL.rand(), x), "NumPy's global state"),
}


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("name", SEEN)
def test_it_warns_once_where_it_is_called(name: str, engine: str) -> None:
    f, source = SEEN[name]
    staged = fg.jit(f, engine=engine)
    with pytest.warns(StagedRandomWarning, match=source) as caught:
        first = staged(X)
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(staged(X), first)


def test_loops_and_graphs() -> None:
    def body(x: Any, _: Any) -> Any:
        return x + np.random.rand(), None  # noqa: NPY002  (what is to be noticed)

    with pytest.warns(StagedRandomWarning, match="scan: body drew"):
        fg.scan(body, X, None, 3)
    with pytest.warns(StagedRandomWarning, match="scan: <lambda> drew random numbers from a numpy.random.RandomState"):
        fg.scan(lambda x, _: (x + randn(3), None), X, None, 3)
    np.testing.assert_array_equal(fg.scan(lambda x, _: (x + X * fg.tree.leaves(X)[0], None), X, None, 3)[0], 4 * X)
    with pytest.warns(StagedRandomWarning, match="make_graph: helper drew"):
        fg.make_graph(helper)(X)


SILENT: dict[str, Callable[[Any], Any]] = {
    "nothing drawn": lambda x: x + len(str(RNG)),
    "keys": lambda x: x + fg.random.normal(fg.random.key(0), (3,)),
    "a generator of its own": lambda x: x + np.random.default_rng(3).normal(),
    "the state is looked at": lambda x: x + GLOBAL.get_state()[2],
}


@pytest.mark.parametrize("name", SILENT)
def test_no_warning(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fg.jit(SILENT[name], engine="numpy")(X)
        # Eagerly every call draws anew.
        GLOBAL.seed(0)
        fg.grad(lambda x: np.sum(x * GLOBAL.rand(3)))(X)
        helper(X)


def test_an_error_of_the_function_comes_alone() -> None:
    def fails(x: Any) -> Any:
        GLOBAL.rand()
        raise KeyError("mine")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyError, match="mine"):
            fg.jit(fails, engine="numpy")(X)


PROGRAM = """
import sys, warnings, numpy as np, funcgrad as fg
assert "numpy.random" not in sys.modules
warnings.simplefilter("error")
fg.jit(lambda x: x + 1, engine="numpy")(np.ones(2))
assert "numpy.random" not in sys.modules
fg.jit(lambda x: x + (np.random.get_state()[2] > 0), engine="numpy")(np.ones(2))
"""
DRAWS = """
import sys, numpy as np, funcgrad as fg
fg.jit(lambda x: x + np.random.rand(), engine="numpy")(np.ones(2))
"""


def test_the_module_may_be_imported_by_the_function() -> None:
    def run(program: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    quiet = run(PROGRAM)
    if "AssertionError" not in quiet.stderr:
        assert quiet.returncode == 0, quiet.stderr
    assert "StagedRandomWarning: jit: <lambda> drew" in run(DRAWS).stderr


def test_a_name_that_is_not_bound_yet_holds_nothing() -> None:
    def outer() -> Any:
        def f(x: Any) -> Any:
            return x * 2 if x.ndim < 3 else late

        graph = fg.make_graph(f)(np.ones(2))
        late = 1
        return graph

    assert [equation.primitive.name for equation in outer().equations] == ["mul"]
