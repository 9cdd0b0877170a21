"""Sparse Jacobians: values against dense ones, patterns, options, SciPy's solvers."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares, minimize, root, rosen_hess_prod
from scipy.sparse.linalg import spsolve

import funcgrad as fg
from funcgrad.errors import (
    NonScalarOutputError,
    NotDifferentiableError,
    PatternSizeError,
    TracerArrayConversionError,
)
from funcgrad.sparse import _plan
from tests.sparse._cases import CASES, Case

MODES = [None, "forward", "reverse", "both"]


@pytest.fixture(params=["directly", "by products"])
def computed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements that can be computed directly are computed so, and then by products as all others."""
    if request.param == "by products":
        monkeypatch.setattr(_plan, "elements_of", lambda *args, **options: None)


def points(shape: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [rng.normal(size=shape) for _ in range(4)]


def dense(f: Any, x: np.ndarray) -> np.ndarray:
    y = np.asarray(f(x))
    return np.asarray(fg.jacobian(f)(x)).reshape(y.size, x.size)


def tridiagonal(x: Any) -> Any:
    y = np.pad(x, 1)
    return (3 - 2 * x) * x + 1 - y[:-2] - 2 * y[2:]


def rosen(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("name", CASES)
def test_a_jacobian_is_the_dense_one(name: str) -> None:
    f, shape, _ = CASES[name]
    for mode in MODES:
        jac = fg.sparse.jacobian(f, mode=mode)
        for x in points(shape)[:2]:
            expected = dense(f, x)
            if expected.dtype.kind == "c" and mode in ("reverse", "both"):
                with pytest.raises(NotDifferentiableError, match="the real part only"):
                    jac(x)
                continue
            found = jac(x)
            assert isinstance(found, scipy.sparse.csr_array)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found.toarray(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_a_pattern_has_the_elements_that_are_nonzero_somewhere(name: str) -> None:
    f, shape, extra = CASES[name]
    nonzero = np.any([dense(f, x) != 0 for x in points(shape)], 0)
    pattern = fg.sparse.jacobian_pattern(f)(np.ones(shape)).toarray()
    assert pattern.dtype == bool
    assert not (nonzero & ~pattern).any()
    assert pattern.sum() <= nonzero.sum() + extra


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("a Fourier transform", "an empty argument")])
def test_a_hessian_is_the_dense_one(name: str, computed: None) -> None:
    f, shape, _ = CASES[name]

    def energy(x: Any) -> Any:
        return np.sum(f(x) ** 2)

    hess = fg.sparse.hessian(energy)
    for x in points(shape)[:2]:
        expected = np.asarray(fg.hessian(energy)(x)).reshape(x.size, x.size)
        np.testing.assert_allclose(hess(x).toarray(), expected, rtol=1e-9, atol=1e-9)


def test_a_hessian_has_the_elements_of_second_derivatives() -> None:
    def pairs(x: Any) -> Any:
        return np.sum(x[1:] * x[:-1]) + 3 * np.sum(x) + np.sum(np.exp(x[:2])) + np.maximum(x[3], x[4])

    found = fg.sparse.hessian_pattern(pairs)(np.ones(6)).toarray()
    np.testing.assert_array_equal(found, np.eye(6, k=1) + np.eye(6, k=-1) + np.diag([1, 1, 0, 0, 0, 0]) > 0)
    assert fg.sparse.hessian_pattern(lambda x: np.sum(x))(np.ones(6)).nnz == 0
    assert fg.sparse.hessian_pattern(lambda x: (x**2)[1])(np.ones(6)).nnz == 1


def test_a_hessian_that_is_not_symmetric_is_that_of_the_gradient() -> None:
    @fg.custom_jvp
    def product(x: Any) -> Any:
        return x[0] * x[1]

    @product.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return product(primals[0]), primals[0][1] * tangents[0][0]

    def f(x: Any) -> Any:
        return product(x) * x[2] + np.sum(x**3)

    x = np.array([0.5, 2.0, -1.0, 3.0])
    expected = fg.hessian(f)(x)
    assert np.abs(expected - expected.T).max() >= 1
    np.testing.assert_allclose(fg.sparse.hessian(f)(x).toarray(), expected)


def test_the_colors_that_must_be_reached() -> None:
    def arrow(x: Any) -> Any:
        return np.concatenate([[np.sum(x**2)], x[1:] * x[0] + x[1:] ** 2])

    def stencil(x: Any) -> Any:
        p = np.pad(x.reshape(30, 40), 1)
        return p[:-2, 1:-1] * p[2:, 1:-1] * p[1:-1, :-2] * p[1:-1, 2:] * x.reshape(30, 40)

    x = np.ones(1200)
    assert fg.sparse.jacobian(tridiagonal).colors(x).products == 3
    assert fg.sparse.jacobian(stencil).colors(x).products <= 7
    colors = fg.sparse.jacobian(arrow).colors(x)
    assert (colors.forward, colors.reverse, colors.products) == (2, 1, 3)
    assert fg.sparse.hessian(rosen).colors(x).products <= 3
    assert fg.sparse.hessian(lambda x: np.sum(x**2 * x[0])).colors(x).products == 2


def test_many_unknowns(computed: None) -> None:
    x, v = np.random.default_rng(1).normal(size=(2, 100_000))
    product = fg.sparse.jacobian(tridiagonal)(x) @ v
    np.testing.assert_allclose(product, fg.jvp(tridiagonal, (x,), (v,))[1], rtol=1e-9, atol=1e-9)
    hessian = fg.sparse.hessian(rosen)(x)
    assert hessian.nnz == 299_998
    np.testing.assert_allclose(hessian @ v, rosen_hess_prod(x, v), rtol=1e-9, atol=1e-6)


def test_the_structure_stays_where_elements_are_zero() -> None:
    jac = fg.sparse.jacobian(lambda x: x[1:] * x[:-1])
    at_zero, elsewhere = jac(np.zeros(5)), jac(np.ones(5))
    assert at_zero.nnz == elsewhere.nnz == 8
    np.testing.assert_array_equal(at_zero.indices, elsewhere.indices)
    np.testing.assert_array_equal(at_zero.indptr, elsewhere.indptr)
    rows, columns = jac.structure(np.zeros(5))
    np.testing.assert_array_equal(elsewhere.toarray()[rows, columns], elsewhere.data)


def test_results_are_the_callers_own() -> None:
    jac = fg.sparse.jacobian(lambda x: x[1:] * 2.0)
    first = jac(np.zeros(4))
    first.data[:] = 7
    first.indices[:] = 0
    jac.pattern(np.zeros(4)).indices[:] = 0
    jac.colors(np.zeros(4)).columns[:] = 9
    np.testing.assert_array_equal(jac(np.zeros(4)).toarray(), 2 * np.eye(3, 4, 1))
    assert jac.colors(np.zeros(4)).products == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ["numpy", "xla", "numba"])
def test_engines_and_dtypes(engine: str, dtype: Any, computed: None) -> None:
    if engine == "numba":
        pytest.importorskip("llvmlite")
    x = np.linspace(-1, 1, 7).astype(dtype)
    jac, hess = fg.sparse.jacobian(tridiagonal, engine=engine), fg.sparse.hessian(rosen, engine=engine)
    assert jac(x).dtype == hess(x).dtype == dtype
    np.testing.assert_allclose(jac(x).toarray(), fg.jacobian(tridiagonal)(x), rtol=1e-5)
    np.testing.assert_allclose(hess(x).toarray(), fg.hessian(rosen)(x), rtol=1e-4)


def test_arguments_of_all_kinds() -> None:
    def f(a: Any, x: Any, options: dict, *, power: int, name: str) -> Any:
        assert name == "kept as it is"
        return a * x**power + options["shift"][0]

    x, options = np.ones((2, 3)), {"shift": [np.float64(1.0), "unused"]}
    jac = fg.sparse.jacobian(f, argnums=1)
    for a in (2.0, np.arange(3.0)):
        found = jac(a, x, options, power=3, name="kept as it is")
        np.testing.assert_allclose(found.toarray(), np.diag(np.broadcast_to(3.0 * np.asarray(a), (2, 3)).ravel()))
    np.testing.assert_allclose(fg.sparse.jacobian(lambda x, y: x * y, -1)(2.0, np.ones(2)).toarray(), 2 * np.eye(2))


def test_a_python_number_does_not_widen() -> None:
    found = fg.sparse.jacobian(lambda x, a: a * x)(np.ones(3, np.float32), 2.0)
    assert found.dtype == np.float32


@pytest.mark.parametrize("name", CASES)
def test_the_dtype_of_narrow_floats_is_that_of_the_dense_one(name: str) -> None:
    f, shape, _ = CASES[name]
    x = np.ones(shape, np.float32)
    if np.asarray(f(x)).dtype.name in ("float32", "complex64"):
        assert fg.sparse.jacobian(f)(x).dtype == fg.jacobian(f)(x).dtype


def test_an_index_that_is_an_argument_may_select_any_element() -> None:
    pattern = fg.sparse.jacobian_pattern(lambda x, i: x[i])(np.ones((4, 2)), np.array([0, 1]))
    np.testing.assert_array_equal(pattern.toarray(), np.tile(np.eye(2), (2, 4)) > 0)
    both = fg.sparse.jacobian_pattern(lambda x, i: x[:, None, i, 1:][::-1])(np.ones((2, 3, 2)), np.array([0, 1]))
    assert both.nnz == 2 * 2 * 3


def test_custom_rules_are_followed() -> None:
    @fg.custom_jvp
    def shifted(x: Any) -> Any:
        return x * 1.0

    @shifted.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return primals[0] * 1.0, np.roll(tangents[0], 1)

    assert fg.sparse.jacobian(shifted)(np.ones(3)).toarray().tolist() == np.roll(np.eye(3), 1, 0).tolist()

    @fg.custom_vjp
    def backward_only(x: Any) -> Any:
        return x * x

    backward_only.defvjp(lambda x: (x * x, x), lambda x, y_bar: (2 * x * y_bar,))
    found = fg.sparse.jacobian(lambda x: backward_only(x)[1:])
    np.testing.assert_allclose(found(np.arange(3.0)).toarray(), [[0, 2, 0], [0, 0, 4]])
    assert found.colors(np.arange(3.0)).reverse == 1
    with pytest.raises(NotDifferentiableError, match="rule for reverse mode only"):
        fg.sparse.jacobian(backward_only, mode="forward")(np.ones(3))


def test_values_compose(computed: None) -> None:
    x = np.linspace(0.5, 1.5, 6)
    jac, values = fg.sparse.jacobian(tridiagonal), fg.sparse.jacobian_values(tridiagonal)
    np.testing.assert_array_equal(values(x), jac(x).data)
    for engine in ("numpy", "xla"):
        np.testing.assert_allclose(fg.jit(values, engine=engine)(x), jac(x).data)
    np.testing.assert_allclose(fg.vmap(values)(np.stack([x, 2 * x]))[1], jac(2 * x).data)
    np.testing.assert_allclose(fg.jit(fg.grad(lambda x: np.sum(values(x) ** 2)), engine="numpy")(x), 8 * (4 * x - 3))
    second = fg.sparse.jacobian(values)
    np.testing.assert_allclose(second(x).toarray(), fg.jacobian(values)(x))
    hessian = fg.sparse.hessian_values(rosen)
    np.testing.assert_allclose(fg.jit(hessian, engine="numpy")(x), fg.sparse.hessian(rosen)(x).data)
    np.testing.assert_allclose(fg.jacobian(hessian)(x), fg.jacrev(hessian)(x), atol=1e-9)


def test_values_of_a_function_that_closes_over_a_traced_value() -> None:
    def total(a: Any, x: Any) -> Any:
        return np.sum(fg.sparse.jacobian_values(lambda x: a * x**2)(x))

    x = np.arange(1.0, 4.0)
    np.testing.assert_allclose(fg.grad(total)(2.0, x), 12.0)
    np.testing.assert_allclose(fg.jit(total, engine="numpy")(2.0, x), 24.0)


def test_least_squares_root_and_sparse_solvers() -> None:
    jac: Any = fg.sparse.jacobian(tridiagonal)
    x = -np.ones(300)
    found = least_squares(tridiagonal, x, jac=jac)
    assert found.success
    assert np.abs(found.fun).max() < 1e-6
    for _ in range(8):
        x = x - spsolve(jac(x).tocsc(), tridiagonal(x))
    np.testing.assert_allclose(x, found.x, atol=1e-6)
    by_root = root(tridiagonal, -np.ones(300), jac=lambda x: jac(x).toarray())
    np.testing.assert_allclose(by_root.x, x, atol=1e-8)


def test_a_stiff_equation() -> None:
    def diffusion(u: Any) -> Any:
        p = np.pad(u, 1)
        return 500 * (p[2:] + p[:-2] - 2 * u) + u * (1 - u)

    jac = fg.sparse.jacobian(diffusion)
    u = np.sin(np.linspace(0, np.pi, 40))
    found = solve_ivp(
        lambda t, u: diffusion(u), (0, 1), u, method="BDF", jac=lambda t, u: jac(u), rtol=1e-8, atol=1e-10
    )
    dense = solve_ivp(lambda t, u: diffusion(u), (0, 1), u, method="BDF", rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.y[:, -1], dense.y[:, -1], atol=1e-7)


def test_trust_region() -> None:
    found = minimize(rosen, np.zeros(40), method="trust-constr", jac=fg.grad(rosen), hess=fg.sparse.hessian(rosen))
    np.testing.assert_allclose(found.x, 1, atol=1e-4)


def test_pickles() -> None:
    jac = pickle.loads(pickle.dumps(fg.sparse.jacobian(tridiagonal)))
    np.testing.assert_allclose(jac(np.ones(4)).toarray(), fg.jacobian(tridiagonal)(np.ones(4)))


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "an integer argument": (
        lambda: fg.sparse.jacobian(tridiagonal)(np.arange(3)),
        NotDifferentiableError,
        r"sparse.jacobian: a derivative was asked by argument 0 \(x\) of tridiagonal.*int64",
    ),
    "a text": (
        lambda: fg.sparse.jacobian(tridiagonal)("text"),
        TypeError,
        "sparse.jacobian: argument 0 .* is a str, needed an array",
    ),
    "a list": (
        lambda: fg.sparse.jacobian(tridiagonal)([1.0, 2.0]),
        TypeError,
        "is a list of 2 arrays; needed one array.*fg.tree.ravel",
    ),
    "a complex argument": (
        lambda: fg.sparse.jacobian(tridiagonal)(np.ones(3) * 1j),
        NotDifferentiableError,
        "has a complex dtype; needed a real one",
    ),
    "no argument": (lambda: fg.sparse.jacobian(tridiagonal)(), TypeError, "the call has 0 positional arguments"),
    "an integer result": (
        lambda: fg.sparse.jacobian(lambda x: np.argsort(x))(np.ones(3)),
        NotDifferentiableError,
        "an output of <lambda>. It has dtype int64",
    ),
    "two results": (
        lambda: fg.sparse.jacobian(lambda x: (x, x))(np.ones(3)),
        TypeError,
        "returned a tuple of 2 arrays; needed one array.*np.concatenate",
    ),
    "a Hessian of a vector": (
        lambda: fg.sparse.hessian(tridiagonal)(np.ones(3)),
        NonScalarOutputError,
        r"sparse.hessian: tridiagonal must return a real scalar. Its output is f64\[3\]; needed f64\[\].",
    ),
    "a Hessian of a complex number": (
        lambda: fg.sparse.hessian(lambda x: np.sum(x) * 1j)(np.ones(3)),
        NonScalarOutputError,
        r"is c128\[\]; needed a float dtype",
    ),
    "two positions": (
        lambda: fg.sparse.jacobian(tridiagonal, (0, 1)),  # pyright: ignore[reportArgumentType]  (the error is tested)
        TypeError,
        r"argnums is \(0, 1\); needed one position",
    ),
    "a mode": (lambda: fg.sparse.jacobian(tridiagonal, mode="columns"), ValueError, "mode is 'columns'; needed 'forw"),
    "an engine": (lambda: fg.sparse.jacobian(tridiagonal, engine="cuda"), ValueError, "cuda"),
    "a limit of text": (
        lambda: fg.sparse.hessian(rosen, max_nonzeros="many"),  # pyright: ignore[reportArgumentType]  (the error is tested)
        TypeError,
        "max_nonzeros is a str; needed",
    ),
    "a limit of nothing": (lambda: fg.sparse.hessian(rosen, max_nonzeros=0), ValueError, "max_nonzeros is 0; needed"),
    "no function": (lambda: fg.sparse.jacobian_pattern(3), TypeError, "sparse.jacobian_pattern: f is a int; needed a"),  # pyright: ignore[reportArgumentType]  (the error is tested)
    "a set among the other arguments": (
        lambda: fg.sparse.jacobian(lambda x, y: x)(np.ones(3), {1, 2}),
        TypeError,
        "sparse.jacobian: an argument of <lambda> is a set, which has no hash; needed arrays, numbers, or objects",
    ),
    "a traced argument": (
        lambda: fg.jit(fg.sparse.jacobian(tridiagonal), engine="numpy")(np.ones(3)),
        TracerArrayConversionError,
        "Use fg.sparse.jacobian_values",
    ),
    "a traced argument of a Hessian": (
        lambda: fg.grad(lambda x: fg.sparse.hessian(rosen)(x).sum())(np.ones(3)),
        TracerArrayConversionError,
        "Use fg.sparse.hessian_values",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused(name: str) -> None:
    call, kind, text = REFUSED[name]
    with pytest.raises(kind, match=text):
        call()


def test_a_pattern_that_is_too_large() -> None:
    jac = fg.sparse.jacobian(np.cumsum, max_nonzeros=5000)
    for _ in range(2):
        with pytest.raises(PatternSizeError, match=r"5,050 entries or more; needed at most 5,000 \(max_nonzeros\)"):
            jac(np.ones(100))
    assert jac(np.ones(50)).nnz == 1275
    with pytest.raises(PatternSizeError, match="needed at most 1,000,000"):
        fg.sparse.jacobian(np.cumsum, max_nonzeros=1_000_000)(np.ones(100_000))
    # The pattern is refused before there is memory for it.
    with pytest.raises(MemoryError, match="needed at most 50,000,000"):
        fg.sparse.jacobian_pattern(lambda x: x / np.sum(x))(np.ones(1_000_000))


def test_scipy_is_imported_when_a_function_is_called() -> None:
    code = "import sys, funcgrad; funcgrad.sparse.Rows; assert 'scipy.sparse' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_cases_have_one_name_each() -> None:
    assert all(isinstance(case, Case) for case in CASES.values())
