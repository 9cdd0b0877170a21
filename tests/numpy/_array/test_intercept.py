"""``fg.intercept()``: NumPy's own makers take traced values inside, and are themselves everywhere else."""

from __future__ import annotations

import sys
import threading
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.spatial
import scipy.special
from numpy import array

import funcgrad as fg
from funcgrad.errors import TracerAssignmentError
from tests.numpy._ways import WAYS, X

ZEROS = np.zeros


def thomas(d: Any) -> Any:
    n = len(d)
    a, b, c = np.full(n, 1.0), np.full(n, 4.0), np.ones(n)
    slope, level, x = np.empty(n), np.empty(n), np.empty(n)
    slope[0], level[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * slope[i - 1]
        slope[i], level[i] = c[i] / m, (d[i] - a[i] * level[i - 1]) / m
    x[-1] = level[-1]
    for i in range(n - 2, -1, -1):
        x[i] = level[i] - slope[i] * x[i + 1]
    return np.sum(x * x)


def as_libraries_begin(x: Any) -> Any:
    x = np.asarray(x, dtype=float)
    y, a = np.array(x, copy=True), array([[x[0], 0.0], [0.0, x[1]]])
    y[0], a[0, 1] = x[1], x[2]
    steps = np.linspace(0.0, 1.0, 5) + np.logspace(0.0, 1.0, 5) + np.diag(np.ones(5))[1]
    steps[1:] += x[:-1]
    return np.sum(y * x) + np.sum(a @ a) + np.sum(steps**2)


def plain_numbers(x: Any) -> Any:
    """Indices, masks, text, what LAPACK and SciPy's compiled code are given."""
    order, chosen, place = np.arange(5), np.ones(5, bool), np.zeros(5, dtype=int)
    place[0], chosen[2] = 3, False
    y = np.zeros(5)
    y[order[1:]] += x[order[:-1]]
    y[chosen] *= 2
    for k in np.arange(place[0]):
        y[k] += x[int(k)]
    names, objects = np.array(["a", "b"]), np.array([None, 1], dtype=object)
    values = scipy.linalg.eigh(np.eye(5) * 4, eigvals_only=True)
    return np.sum(y * y * values) + (len(names) if objects[0] is None else 0) * np.linalg.solve(np.eye(5) + 1, y)[0]


def inside(x: Any) -> Any:
    def inner(t: Any) -> Any:
        y = np.zeros(5)
        y[0], y[1:] = t, x[1:] * t
        return np.sum(y**3)

    def body(carry: Any, v: Any) -> Any:
        y = np.zeros(2)
        y[0], y[1] = carry, v
        return np.sum(y * y) / 3, y

    carry, rows = fg.scan(body, x[0], x)
    return fg.grad(inner)(x[0]) + carry + np.sum(rows**2)


def by_scipy(x: Any) -> Any:
    return scipy.special.logsumexp(x) + scipy.special.softmax(x)[1]


@pytest.mark.parametrize("f", [thomas, as_libraries_begin, plain_numbers, inside, by_scipy], ids=lambda f: f.__name__)
def test_programs(f: Any) -> None:
    with fg.intercept():
        expected = np.array([(f(X + move) - f(X - move)) / 2e-6 for move in 1e-6 * np.eye(5)])
        for name, way in WAYS.items():
            np.testing.assert_allclose(way(f, X), expected, rtol=1e-5, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(fg.jit(fg.grad(f))(X), expected, rtol=1e-5, atol=1e-6)
    assert np.zeros is ZEROS


def test_where_it_is_and_where_not(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("a_library")
    exec("from numpy import zeros, ones as units\ndef made(): return zeros(2)", library.__dict__)
    monkeypatch.setitem(sys.modules, "a_library", library)
    kinds: list[type] = []

    def f(x: Any) -> Any:
        kinds.append(type(library.made()))
        return np.sum(x)

    with fg.intercept():
        assert type(np.zeros(2)) is np.ndarray, "no transform runs"
        assert getattr(np.zeros, "__name__", "") == "zeros"
        with fg.intercept():
            fg.grad(f)(X)
        fg.grad(f)(X)
        thread = threading.Thread(target=lambda: fg.grad(f)(X))
        thread.start()
        thread.join()
        assert library.zeros is np.zeros is not ZEROS
        late = ModuleType("a_late_library")
        exec("from numpy import zeros", late.__dict__)
        monkeypatch.setitem(sys.modules, "a_late_library", late)
    fg.grad(f)(X)
    assert [kind is np.ndarray for kind in kinds] == [False, False, True, True]
    assert library.zeros is late.zeros is np.zeros is ZEROS


def test_it_restores_itself_whatever_is_raised() -> None:
    def f(x: Any) -> Any:
        raise KeyError(len(np.zeros(2)))

    with pytest.raises(KeyError), fg.intercept():
        fg.grad(f)(X)
    assert np.zeros is ZEROS
    with pytest.raises(ValueError, match="like=x"):
        fg.grad(thomas)(X)


def test_a_decorator() -> None:
    decorated = fg.intercept()(thomas)
    assert decorated.__name__ == "thomas"
    with fg.intercept():
        expected = fg.grad(thomas)(X)
    for _ in range(2):
        np.testing.assert_array_equal(fg.grad(decorated)(X), expected)
        np.testing.assert_allclose(fg.jit(fg.grad(decorated), engine="numpy")(X), expected, rtol=1e-14)
    assert type(decorated(X)) is np.float64


def test_others_meet_numpy_itself() -> None:
    """JAX, called while a transform runs, and what runs on plain numbers."""

    def f(x: Any) -> Any:
        function = fg.from_jax(lambda v: jax.numpy.sum(jax.numpy.zeros(5).at[1:].set(v[1:]) ** 2))
        return function(x) * fg.call_numpy(in_a_black_box, np.float64(0), fg.stop_gradient(x))

    def in_a_black_box(v: Any) -> Any:
        y = np.zeros(2)
        assert type(y) is np.ndarray
        y[0] = 2 * v[0]
        return np.sum(y)

    with fg.intercept():
        np.testing.assert_allclose(fg.grad(f)(X), 2 * X * (np.arange(5) > 0) * 2 * X[0], rtol=1e-6)


def test_arrays_from_outside_are_not_written_to() -> None:
    outside = np.zeros(5)

    def f(x: Any) -> Any:
        outside[0] = x[0]
        return np.sum(outside)

    with fg.intercept(), pytest.raises((TracerAssignmentError, ValueError), match=r"did not see.*a = np\.array\(a\)"):
        fg.grad(f)(X)
    assert not outside.any()


def test_arrays_made_unseen_become_arrays_that_take_traced_values() -> None:
    outside = np.zeros(5)

    def f(x: Any) -> Any:
        drawn, copied = np.array(np.random.default_rng(0).normal(size=5)), np.array(outside.copy())
        drawn[1], copied[2] = x[0], x[1] ** 2
        return np.sum(drawn * copied) + np.sum(copied)

    with fg.intercept():
        fg.check_grads(f, (X,), order=1)


def test_a_module_that_was_imported_again_is_intercepted() -> None:
    def imported() -> Any:
        module = ModuleType("funcgrad_imported_again")
        exec("from numpy import zeros\ndef f(x):\n    y = zeros(2)\n    y[0] = x\n    return y.sum()", vars(module))
        sys.modules[module.__name__] = module
        return module

    for _ in range(2):
        module = imported()
        with fg.intercept():
            np.testing.assert_allclose(fg.grad(module.f)(3.0), 1.0)
        assert module.zeros is ZEROS
    del sys.modules["funcgrad_imported_again"]


def test_a_range_between_traced_numbers() -> None:
    # NumPy's stubs know no traced bounds, and not all of its signatures.
    untyped: Any = np

    def f(x: Any) -> Any:
        named = untyped.arange(x[0], stop=4.0, step=x[1]) + untyped.arange(start=x[0], stop=4.0, step=x[1])
        lone = untyped.arange(x[1] * 7.0).sum() + untyped.arange(4, step=2).sum()
        return np.sum(untyped.arange(x[0], 4.0, x[1]) * named) + lone

    x = np.array([0.3, 0.45])
    with fg.intercept():
        value, slope = fg.value_and_grad(f)(x)
        assert fg.vjp(lambda x: np.arange(x[0], 4.0, x[1]), x)[0].tolist() == np.arange(x[0], 4.0, x[1]).tolist()
        with pytest.raises(fg.errors.ConcretizationTypeError, match=r"numpy\.arange, whose length depends"):
            fg.jit(f)(x)
    np.testing.assert_allclose(value, f(x))
    np.testing.assert_allclose(slope, [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)], rtol=1e-6)


def test_errors_of_code_compiled_by_numba_say_what_to_call() -> None:
    kind = type("TypingError", (TypeError,), {"__module__": "numba.core.errors"})

    def f(x: Any) -> Any:
        raise kind(f"Cannot determine Numba type of {type(x)}")

    with pytest.raises(TypeError) as caught:
        fg.grad(f)(1.0)
    assert "f.py_func" in caught.value.__notes__[0]


@pytest.mark.parametrize("family", ["polynomial", "chebyshev", "legendre", "laguerre", "hermite", "hermite_e"])
def test_fits_are_ours_inside(family: str) -> None:
    module = getattr(np.polynomial, family)
    fit, roots = [
        next(name for name in dir(module) if name.endswith(end) and "from" not in name) for end in ("fit", "roots")
    ]
    x, y = np.linspace(0, 1, 6), np.array([0.3, 0.1, -0.4, -0.2, 0.5, 1.5])

    def f(y: Any) -> Any:
        return np.sum(getattr(module, roots)(getattr(module, fit)(x, y, 2)) ** 2).real

    before = getattr(module, fit)
    with fg.intercept():
        slope = fg.grad(f)(y)
    assert getattr(module, fit) is before
    np.testing.assert_allclose(slope, [(f(y + h) - f(y - h)) / 2e-6 for h in 1e-6 * np.eye(6)], rtol=1e-5, atol=1e-6)
    held = before
    with fg.intercept(), pytest.raises(fg.errors.UnsupportedFunctionError, match=f"polynomial.{fit}"):
        fg.grad(lambda y: held(x, y, 2)[0])(y)


def _drawn(x: Any) -> Any:
    return np.sum(np.random.default_rng(0).normal(size=3)) * x


def _nearest(x: Any) -> Any:
    return scipy.spatial.KDTree(np.array([[0.0], [5.0]])).query([4.0])[0] * x


def _triangles(x: Any) -> Any:
    return scipy.spatial.Delaunay([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).npoints * x


def _between(x: Any) -> Any:
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    return scipy.interpolate.LinearNDInterpolator(corners, [1.0, 2.0, 3.0])([[0.25, 0.25]])[0] * x


def _with_makers(x: Any) -> Any:
    """A function that calls the makers which the compiled code calls too, by name and through variables."""
    points, zeros = np.asarray([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]), np.zeros
    out, count = np.empty(2), np.arange(3)
    out[0], rest = x, zeros(1)
    rest[0] = scipy.spatial.Delaunay(points).npoints * x + scipy.spatial.ConvexHull(points).volume * x
    out[1] = np.sum(np.random.default_rng(0).normal(size=np.array([2, 1]))) * x
    return np.sum(np.concatenate([out, rest])) + np.ones(2).sum() * x * count[2]


@pytest.mark.parametrize("f", [_drawn, _nearest, _triangles, _between, _with_makers])
def test_compiled_code_gets_memory(f: Any) -> None:
    """Cython code looks NumPy's makers up in the module, so it would get arrays without memory, and crash."""
    with fg.intercept():
        value, slope = fg.value_and_grad(f)(2.0)
    np.testing.assert_allclose(value, f(2.0))
    np.testing.assert_allclose(slope, f(1.0))


def test_compiled_code_refuses_traced_values() -> None:
    def volume(x: Any) -> Any:
        return scipy.spatial.ConvexHull([[0.0, 0.0], [x, 0.0], [0.0, 1.0]]).volume

    with fg.intercept(), pytest.raises((TypeError, ValueError)):
        fg.grad(volume)(1.7)


def test_makers_by_other_ways_of_calling() -> None:
    def joined(x: Any) -> Any:
        make = np.zeros
        out = make(2)
        out[0] = x
        a, b = map(np.asarray, (x, 2.0))
        return np.sum(out) * a * b

    with fg.intercept():
        np.testing.assert_allclose(fg.grad(joined)(3.0), 12.0)


def test_siblings_of_an_interpolator_are_not_taken_for_it() -> None:
    line = scipy.interpolate.KroghInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])
    with fg.intercept():
        np.testing.assert_allclose(fg.grad(line)(1.5), 3.0)


def test_lists_of_several_lengths_stay_objects() -> None:
    """SciPy's modules make such arrays when a function imports them inside of a transform."""

    def weighted(x: Any) -> Any:
        table = np.array([[1], [1, 2]], dtype=object)
        assert type(table) is np.ndarray
        return np.sum(x) * len(table[1])

    with fg.intercept():
        np.testing.assert_array_equal(fg.grad(weighted)(np.ones(2)), [2.0, 2.0])
