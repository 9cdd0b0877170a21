"""``numpy`` and ``scipy`` under autograd's names, ``misc``, and the checks of derivatives."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import numpy as np
import pytest
import scipy.signal
import scipy.special

import funcgrad as fg
import funcgrad.interop.autograd.numpy as anp
import funcgrad.interop.autograd.scipy as asp
from funcgrad.errors import GradientMismatchError, UnsupportedFunctionError
from funcgrad.interop.autograd import core, extend, grad, jacobian, misc, test_util, tracer, util
from funcgrad.interop.autograd.extend import defvjp, primitive, vspace
from funcgrad.interop.autograd.misc import fixed_points, flatten, optimizers, tracers
from funcgrad.interop.autograd.misc.flatten import flatten_func
from funcgrad.interop.autograd.numpy.numpy_vjps import unbroadcast
from funcgrad.interop.autograd.wrap_util import wraps

X = np.array([0.5, 1.5, 2.5])
TREE = {"b": (np.ones((2, 1), "f4"), 3.0), "a": [np.arange(2.0)]}


def test_makers_make_plain_arrays_and_traced_lists_traced_ones() -> None:
    def f(x: Any) -> Any:
        for made in (anp.zeros(3), anp.ones(3), anp.arange(3.0), anp.eye(3)[0], anp.array([1, 2]), anp.full(3, 2.0)):
            assert type(made) is np.ndarray
        traced = anp.array([[x[0], 1.0], (x[1], x[2])]), anp.asarray([x[0]] * 3), anp.full(3, x[0]), anp.array(x)
        assert all(map(fg.is_traced, traced))
        return sum(map(anp.sum, traced)) + anp.sum(anp.concatenate([x, anp.zeros(3)])) + anp.sum([x[0], x[1]])

    np.testing.assert_array_equal(grad(f)(X), [10, 4, 3])


def test_arrays_of_objects_are_arrays_of_their_numbers() -> None:
    """Derivatives of traced values in such arrays are those of autograd, which keeps the arrays."""

    def f(x: Any) -> Any:
        made = anp.array([x[0], 2.0, x[2]], object), anp.asarray([x[1], 1], dtype="O"), anp.array(x, dtype=object)
        assert [each.dtype for each in made] == [np.dtype(float)] * 3
        return sum(map(anp.sum, made))

    np.testing.assert_array_equal(grad(f)(X), [2, 2, 2])
    assert anp.array([1.0, None], dtype=object).dtype == object


@pytest.mark.parametrize("name", ["numpy", "numpy.linalg", "numpy.fft", "numpy.random"])
def test_every_name_is_there(name: str) -> None:
    module, original = importlib.import_module(f"funcgrad.interop.autograd.{name}"), importlib.import_module(name)
    names = set(dir(module))
    assert len(names) > 10
    missing = {each for each in original.__all__ if not each.startswith("_")} - names
    assert missing <= {"char", "core", "ctypeslib", "f2py", "ma", "polynomial", "rec", "strings", "test", "testing"} | {
        "typing"
    }
    assert all(hasattr(module, each) for each in names)
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = module.no_such_name


def test_numpys_names_are_numpys() -> None:
    assert anp.pi == np.pi
    assert anp.float64 is np.float64
    assert anp.__version__ == np.__version__
    assert type(anp.int64(3.7)) is np.int64
    assert np.dtype(anp.int32) == np.dtype(np.int32)
    anp.random.seed(0)
    first = anp.random.randn(3)
    np.random.seed(0)  # noqa: NPY002  (the state that is shared)
    np.testing.assert_array_equal(first, np.random.randn(3))  # noqa: NPY002  (the same)
    np.testing.assert_allclose(jacobian(anp.linalg.inv)(np.diag(X))[0, 0, 0, 0], -4.0)
    np.testing.assert_allclose(grad(lambda x: anp.sum(anp.abs(anp.fft.fft(x)) ** 2))(X), 6 * X)
    made = anp.make_diagonal(np.stack([X, X]), axis1=-1, axis2=-2)
    np.testing.assert_array_equal(made[1], np.diag(X))
    with pytest.raises(NotImplementedError, match="make_diagonal: offset 0 and axes 0 and 1"):
        anp.make_diagonal(X)


def test_scipys_names() -> None:
    assert dir(asp) == ["integrate", "linalg", "misc", "signal", "special", "stats"]
    np.testing.assert_allclose(grad(lambda x: anp.sum(asp.special.gammaln(x)))(X), scipy.special.digamma(X))
    np.testing.assert_allclose(grad(asp.misc.logsumexp)(X), scipy.special.softmax(X))
    lower = np.tril(np.outer(X, X)) + 3 * np.eye(3)
    np.testing.assert_allclose(
        jacobian(lambda b: asp.linalg.solve_triangular(lower, b, lower=True))(X), np.linalg.inv(lower), atol=1e-15
    )
    norm = importlib.import_module("funcgrad.interop.autograd.scipy.stats.norm")
    assert norm.logpdf(0.0) == asp.stats.norm.logpdf(0.0) == -np.log(2 * np.pi) / 2
    np.testing.assert_allclose(grad(lambda m: norm.logpdf(0.5, m, 2.0))(0.1), 0.1)
    assert asp.stats.norm.rvs(size=3, random_state=0).shape == (3,)
    assert asp.signal.convolve([1, 2], [1, 1]).tolist() == [1, 3, 2]
    assert asp.integrate.odeint(lambda y, t: -y, 1.0, [0, 1.0])[1, 0] == pytest.approx(np.exp(-1))


def test_flatten_is_autograds_and_goes_back() -> None:
    vector, unflatten = flatten(TREE)
    expected = pytest.importorskip("autograd.misc").flatten(TREE)[0]
    np.testing.assert_array_equal(vector, expected)
    again = unflatten(vector)
    assert again["b"][0].dtype == np.float32
    fg.tree.map(np.testing.assert_array_equal, again, TREE)
    assert flatten([])[1](np.zeros(0)) == []
    np.testing.assert_array_equal(grad(lambda t: anp.sum(flatten(t)[0] ** 2))(TREE)["a"][0], [0, 2])
    flat, _, x = flatten_func(lambda t: {"c": t["a"][0] * t["b"][1]}, TREE)
    np.testing.assert_array_equal(jacobian(flat)(x), [[3, 0, 0, 0, 0], [0, 3, 0, 0, 1]])


@pytest.mark.parametrize("name", ["sgd", "rmsprop", "adam"])
def test_optimizers_take_autograds_steps(name: str) -> None:
    theirs = getattr(pytest.importorskip("autograd.misc.optimizers"), name)
    told: list[list[Any]] = [[], []]

    def run(optimize: Any, seen: list[Any]) -> Any:
        def slope(p: Any, i: int) -> Any:
            return {"w": 2 * (p["w"] - X) * (1 + 0.1 * i), "b": p["b"] ** 3}

        start = {"w": np.zeros(3), "b": 2.0}
        return optimize(slope, start, lambda p, i, g: seen.append((i, g["w"])), num_iters=20, step_size=0.05)

    got, expected = run(getattr(optimizers, name), told[0]), run(theirs, told[1])
    fg.tree.map(np.testing.assert_array_equal, got, expected)
    assert len(told[0]) == 20
    np.testing.assert_array_equal(told[0][-1][1], told[1][-1][1])


def test_fixed_points() -> None:
    def root(a: Any) -> Any:
        def newton(a: Any) -> Any:
            return lambda x: 0.5 * (x + a["of"] / x)

        return fixed_points.fixed_point(newton, a, np.ones(3), lambda x, y: np.max(np.abs(x - y)), 1e-13)

    np.testing.assert_allclose(grad(lambda a: anp.sum(root(a)))({"of": X})["of"], 0.5 / np.sqrt(X), rtol=1e-10)


def test_checks_see_a_wrong_rule() -> None:
    test_util.check_grads(lambda x, y: anp.sin(x) * y, argnum=[0, 1])(X, 2.0)
    test_util.combo_check(lambda x, axis: anp.sum(x**2, axis=axis))([X, np.outer(X, X)], axis=[0, -1])
    wrong = primitive(np.sin)
    defvjp(wrong, lambda ans, x: lambda g: 1.0005 * g * np.cos(x))
    with pytest.raises(GradientMismatchError, match=r"order 1, rev \(vjp\) of sin"):
        test_util.check_vjp(wrong, X)
    test_util.check_jvp(np.sin, X)
    test_util.check_equivalent({"a": X}, {"a": X + 1e-9})
    with pytest.raises(AssertionError, match="the structures"):
        test_util.check_equivalent([X], (X,))
    with pytest.raises(AssertionError, match="Mismatched"):
        test_util.check_equivalent(X, 2 * X)


def test_unbroadcast() -> None:
    meta = (2, 1), 2, np.dtype(float), False
    np.testing.assert_array_equal(unbroadcast(np.ones((5, 2, 3)), meta), [[15.0], [15.0]])
    assert unbroadcast(np.full(3, 1 + 1j), ((), 0, np.dtype(float), False)) == 3


def test_helpers_of_rules_are_autograds() -> None:
    theirs = pytest.importorskip("autograd.numpy")
    for x in (2.0, 1j, X, X.astype("c8"), np.arange(3)):
        assert anp.metadata(x) == theirs.metadata(x)
    helpers, expected = anp.numpy_vjps, theirs.numpy_vjps
    y = np.array([0.0, 1.5, 3.0])
    np.testing.assert_array_equal(helpers.replace_zero(y, X), expected.replace_zero(y, X))
    np.testing.assert_array_equal(helpers.balanced_eq(X, np.fmin(X, y), y), expected.balanced_eq(X, np.fmin(X, y), y))
    for target, x in itertools.product((X, X + 1j), repeat=2):
        got, wanted = helpers.match_complex(target, x), expected.match_complex(target, x)
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(grad(lambda x: anp.sum(helpers.replace_zero(x * y, x)))(X), [1, 1.5, 3])
    assert anp.numpy_vspaces.ArrayVSpace(X) == vspace(X) == anp.numpy_vspaces.ComplexArrayVSpace(X)


def test_helpers_of_arguments_are_autograds() -> None:
    assert util.subvals([1, 2, 3], [(0, 4), (2, 5)]) == (4, 2, 5)
    assert util.subval((1, 2), 1, 3) == (1, 3)
    named = wraps(np.sin, "{op}_of_{fun}", "{op}: {doc}", op="grad")(lambda x: x)
    assert named.__name__ == "grad_of_sin"
    assert (named.__doc__ or "").startswith("grad: sin(x")
    assert tracer.register_notrace is extend.register_notrace
    assert core.getval is tracer.getval
    assert misc.const_graph is tracers.const_graph


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_convolutions_along_some_axes(mode: str, rng: np.random.Generator) -> None:
    """Compare with loops over the other axes, with the shorter array on either side."""
    convolve = asp.signal.convolve
    for shapes in (((3, 5), (2, 4)), ((3, 4), (2, 5))):
        a, b = (rng.normal(size=shape) for shape in shapes)
        rows = [[scipy.signal.convolve(x, y, mode) for y in b] for x in a]
        np.testing.assert_allclose(convolve(a, b, axes=([1], [1]), mode=mode), rows)
        turned = [[scipy.signal.convolve(x, y, mode) for y in b] for x in a]
        np.testing.assert_allclose(convolve(a, b.T, axes=([1], [0]), mode=mode), turned)
        check_grads = test_util.check_grads(lambda a, b: convolve(a, b, axes=([1], [1]), mode=mode), order=2)
        check_grads(a, b)
    a, b = rng.normal(size=(3, 6, 2)), rng.normal(size=(4, 3, 2))
    summed = sum(scipy.signal.convolve(a[i, :, k], b[:, i, 1], mode) for i in range(3) for k in [0])
    np.testing.assert_allclose(convolve(a, b, axes=([1], [0]), dot_axes=([0], [1]), mode=mode)[0, 1], summed)
    a, b = rng.normal(size=(5, 6)), rng.normal(size=(3, 2))
    both = convolve(a, b, axes=([0, 1], [0, 1]), mode=mode)
    np.testing.assert_allclose(both, scipy.signal.convolve(a, b, mode))
    np.testing.assert_allclose(convolve(a, b, mode=mode), both)


def test_convolutions_that_do_not_fit() -> None:
    convolve = asp.signal.convolve
    with pytest.raises(ValueError, match="one array has to be the longer one"):
        convolve(np.ones((2, 5)), np.ones((3, 4)), axes=([0, 1], [0, 1]), mode="valid")
    with pytest.raises(ValueError, match="the mode is 'wrap'"):
        convolve(np.ones(2), np.ones(3), axes=([0], [0]), mode="wrap")


def test_graphs_are_recorded_once() -> None:
    calls = []

    def f(a: Any, x: Any, k: float = 1.0) -> Any:
        calls.append(x)
        return k * anp.sum(a * anp.sin(x))

    g = tracers.const_graph(f, 3.0, k=2.0)
    np.testing.assert_allclose([g(X), g(X + 1)], [6 * np.sin(X).sum(), 6 * np.sin(X + 1).sum()])
    np.testing.assert_allclose(grad(g)(X), 6 * np.cos(X))
    assert len(calls) == 1
    with pytest.raises(ValueError, match=r"f64\[2\]"):
        g(np.ones(2))


@pytest.mark.parametrize("value", [X, 2.0, X + 1j, TREE, (X, {"c": X * 1j}), np.arange(3)])
def test_vector_spaces(value: Any) -> None:
    space = vspace(value)
    zeros, ones, some = space.zeros(), space.ones(), space.randn()
    assert space == vspace(zeros) == vspace(some)
    assert space != vspace([X, X])
    assert len(list(space.standard_basis())) == space.size
    assert space.inner_prod(zeros, some) == 0
    total = sum(float(space.inner_prod(each, some)) ** 2 for each in space.standard_basis())
    np.testing.assert_allclose(total, space.inner_prod(some, some), rtol=1e-6)
    doubled = space.add(some, some)
    for a, b in zip(fg.tree.leaves(doubled), fg.tree.leaves(space.scalar_mul(some, 2.0)), strict=True):
        np.testing.assert_allclose(a, b)
    assert fg.tree.structure(space.covector(ones)) == fg.tree.structure(ones)
    assert space.mut_add(None, some) is some


def test_vector_spaces_of_arrays_alone() -> None:
    space = vspace(np.ones((2, 3), complex))
    assert (space.shape, space.ndim, space.size, space.iscomplex, space.dtype) == (
        (2, 3),
        2,
        12,
        True,
        np.dtype(complex),
    )
    assert grad(lambda x: anp.sum(x * vspace(x).ones()))(X).tolist() == [1, 1, 1]
    with pytest.raises(AttributeError, match="has no shape"):
        _ = vspace(TREE).shape
    with pytest.raises(UnsupportedFunctionError, match="register_dataclass"):
        vspace(X).register(int)


def test_boxes_made_by_a_program_itself_run_reverse_mode() -> None:
    """Packages (pymoo) call autograd's own parts instead of a transform."""
    x = np.array([0.3, 1.2, 2.0])
    start = tracer.new_box(x, 0, core.VJPNode.new_root())
    y = anp.column_stack([anp.sin(start), start**2 * anp.sum(start)])
    y_bar = np.arange(6.0).reshape(3, 2)
    pull, value = core.make_vjp(lambda x: anp.column_stack([anp.sin(x), x**2 * anp.sum(x)]), x)
    np.testing.assert_array_equal(y._value, value)
    np.testing.assert_allclose(core.backward_pass(y_bar, y._node), pull(y_bar), rtol=1e-15)
    # A cotangent that is a box of another root, as pymoo passes it.
    seed = tracer.new_box(y_bar, 0, core.VJPNode.new_root())
    np.testing.assert_allclose(core.backward_pass(seed, y._node)._value, pull(y_bar), rtol=1e-15)


def test_a_box_keeps_the_numbers_that_a_plain_array_had() -> None:
    c = np.full(2000, 3.0)
    start = tracer.new_box(np.ones(2000), 0, core.VJPNode.new_root())
    y = start * c
    c[:] = 0.0
    np.testing.assert_array_equal(core.backward_pass(np.ones(2000), y._node), np.full(2000, 3.0))


def test_boxes_of_other_kinds() -> None:
    start = tracer.new_box(3, 0, core.VJPNode.new_root())
    assert float(core.backward_pass(1.0, (start * start)._node)) == 6.0
    assert float(core.backward_pass(2.0, start._node)) == 2.0
    other = tracer.new_box(2.0, 0, core.VJPNode.new_root())
    with pytest.raises(ValueError, match="depends on 2 boxes; needed one"):
        core.backward_pass(1.0, (start * other)._node)
    with pytest.raises(TypeError, match="new_box: the value is of type list"):
        tracer.new_box([1.0, 2.0], 0, core.VJPNode.new_root())
