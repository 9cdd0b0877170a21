"""Linear systems, factors and determinants: NumPy's values, JAX's gradients."""

from __future__ import annotations

import itertools
import math
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.numpy import linalg
from funcgrad.scipy import linalg as scipy_linalg
from tests._recorded import PyTorch
from tests.numpy._surface import check_surface

Shape = tuple[int, ...]


def general(rng: np.random.Generator, shape: Shape, dtype: Any = float) -> np.ndarray:
    """Well conditioned, where it is square."""
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else 0)
    return (x + (3 * np.eye(shape[-1]) if len(shape) > 1 and shape[-1] == shape[-2] else 0)).astype(dtype)


def definite(rng: np.random.Generator, shape: Shape, dtype: Any = float) -> np.ndarray:
    x = general(rng, shape, dtype)
    return x @ x.conj().swapaxes(-1, -2) + np.eye(shape[-1], dtype=dtype)


OF_ONE: dict[str, tuple[Any, Shape]] = {
    "inv": (lambda m, a: m.linalg.inv(a), (3, 3)),
    "inv, stacked": (lambda m, a: m.linalg.inv(a), (2, 3, 3)),
    "det": (lambda m, a: m.linalg.det(a), (3, 3)),
    "det, stacked": (lambda m, a: m.linalg.det(a), (2, 4, 4)),
    "det of one": (lambda m, a: m.linalg.det(a), (1, 1)),
    "slogdet": (lambda m, a: m.linalg.slogdet(a)[1], (3, 3)),
    "sign": (lambda m, a: m.linalg.slogdet(a).sign * m.sum(a), (3, 3)),
    "slogdet, stacked": (lambda m, a: m.linalg.slogdet(a).logabsdet, (2, 3, 3)),
    "matrix_power 0": (lambda m, a: m.linalg.matrix_power(a, 0) + 0 * a, (2, 2)),
    "matrix_power 1": (lambda m, a: m.linalg.matrix_power(a, 1), (2, 2)),
    "matrix_power 5": (lambda m, a: m.linalg.matrix_power(a, 5), (2, 3, 3)),
    "matrix_power -2": (lambda m, a: m.linalg.matrix_power(a, -2), (3, 3)),
    "tensorinv": (lambda m, a: m.linalg.tensorinv(a + m.eye(6).reshape(2, 3, 6), ind=2), (2, 3, 6)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("name", OF_ONE)
def test_of_one_matrix(name: str, dtype: Any, rng: np.random.Generator) -> None:
    f, shape = OF_ONE[name]
    check_surface(f, [general(rng, shape, dtype)], tolerance=2e-5 if dtype is np.float32 else 1e-10)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize(("shape", "dtype"), [((1, 1), float), ((3, 3), np.float32), ((2, 3, 3), complex)])
def test_cholesky(shape: Shape, dtype: Any, upper: bool, rng: np.random.Generator) -> None:
    tolerance = 2e-5 if dtype is np.float32 else 1e-10
    check_surface(lambda m, a: m.linalg.cholesky(a, upper=upper), [definite(rng, shape, dtype)], tolerance=tolerance)


SYSTEMS: dict[str, tuple[Shape, Shape]] = {
    "a vector": ((3, 3), (3,)),
    "columns": ((3, 3), (3, 2)),
    "stacked": ((2, 3, 3), (2, 3, 2)),
    "one matrix for all": ((3, 3), (2, 3, 2)),
    "one right side for all": ((2, 3, 3), (3, 2)),
    "a vector for all": ((2, 3, 3), (3,)),
    "one": ((1, 1), (1,)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("name", SYSTEMS)
def test_solve(name: str, dtype: Any, rng: np.random.Generator) -> None:
    a, b = [general(rng, shape, dtype) for shape in SYSTEMS[name]]
    tolerance = 2e-5 if dtype is np.float32 else 1e-10
    check_surface(lambda m, a, b: m.linalg.solve(a, b), [a, b], tolerance=tolerance)


def test_systems_of_tensors(rng: np.random.Generator) -> None:
    a, b = general(rng, (2, 3, 6)) + 3 * np.eye(6).reshape(2, 3, 6), general(rng, (2, 3))
    check_surface(lambda m, a, b: m.linalg.tensorsolve(a, b), [a, b])
    check_surface(lambda m, a, b: m.linalg.tensorsolve(a, b, axes=(1,)), [np.moveaxis(a, -1, 1), b])


def test_dtypes_are_promoted_as_numpys(rng: np.random.Generator) -> None:
    a, b = general(rng, (2, 2)), general(rng, (2,)).astype(np.float32)
    check_surface(lambda m, a, b: m.linalg.solve(a, b), [a, b], tolerance=1e-6)
    check_surface(lambda m, b: m.linalg.solve(m.asarray([[2, 1], [0, 1]]), b), [b.astype(np.float64)])
    integers = np.array([[2, 1], [1, 3]])
    assert linalg.det(integers).dtype == np.linalg.det(integers).dtype
    assert linalg.matrix_power(integers, 3).dtype == np.linalg.matrix_power(integers, 3).dtype


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)])
def test_empty_matrices(shape: Shape) -> None:
    a = np.zeros(shape)
    check_surface(lambda m, a: m.linalg.cholesky(a), [a])
    check_surface(lambda m, a: m.linalg.inv(a), [a])
    # JAX cannot differentiate this one.
    check_surface(lambda m, a: m.linalg.det(a), [a], jax_f=lambda m, a: m.ones(shape[:-2]) + m.sum(a))


SINGULAR = {
    "a row is the sum of others": [[1.0, 2.0, 0.5], [0.0, 1.0, -1.0], [1.0, 3.0, -0.5]],
    "equal columns": [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [2.0, 2.0, 5.0]],
    "a column of zeros": [[0.0, 1.0], [0.0, 2.0]],
    "rank 1": [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [-1.0, -2.0, -3.0]],
    "zeros": [[0.0, 0.0], [0.0, 0.0]],
    "zero": [[0.0]],
}


@pytest.mark.parametrize("name", SINGULAR)
def test_the_derivative_of_a_determinant_that_is_zero(name: str) -> None:
    """The cofactors are finite where the inverse is not."""
    a = np.array(SINGULAR[name])
    n = len(a)
    minors = [[np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(n)] for i in range(n)]
    cofactors = np.array([[(-1) ** (i + j) * minors[i][j] for j in range(n)] for i in range(n)])
    np.testing.assert_allclose(fg.grad(np.linalg.det)(a), cofactors, atol=1e-12)
    np.testing.assert_allclose(fg.grad(fg.jit(np.linalg.det))(a), cofactors, atol=1e-12)
    np.testing.assert_allclose(fg.jvp(np.linalg.det, (a,), (np.ones_like(a),))[1], np.sum(cofactors), atol=1e-12)


def leibniz(a: Any) -> Any:
    """The determinant as the sum over all permutations, which is differentiated as a polynomial."""
    n = a.shape[-1]
    return sum(
        round(np.linalg.det(np.eye(n)[list(order)])) * math.prod(a[..., i, j] for i, j in enumerate(order))
        for order in itertools.permutations(range(n))
    )


@pytest.mark.parametrize("name", [*SINGULAR, "regular", "the identity", "complex"])
def test_second_derivatives_of_a_determinant(name: str, rng: np.random.Generator) -> None:
    others = {"regular": general(rng, (3, 3)), "the identity": np.eye(3), "complex": np.outer([1j, 2, 1], [1, 1j, 3])}
    a = np.array(others.get(name, SINGULAR.get(name)))
    u, v = general(rng, a.shape, a.dtype), general(rng, a.shape, a.dtype)

    def second(f: Any) -> Any:
        return fg.jvp(lambda a: fg.jvp(f, (a,), (u,))[1], (a,), (v,))[1]

    expected = second(leibniz)
    np.testing.assert_allclose(second(np.linalg.det), expected, atol=1e-11)
    np.testing.assert_allclose(fg.jit(lambda a: second(np.linalg.det))(a), expected, atol=1e-11)
    stack = np.stack([a, a + u])
    batched = fg.vmap(lambda a: fg.jvp(lambda a: fg.jvp(np.linalg.det, (a,), (u,))[1], (a,), (v,))[1])(stack)
    np.testing.assert_allclose(batched[0], expected, atol=1e-11)
    if a.dtype == float:
        hessian = fg.hessian(leibniz)(a)
        np.testing.assert_allclose(fg.hessian(np.linalg.det)(a), hessian, atol=1e-11)
        np.testing.assert_allclose(fg.jacrev(fg.grad(np.linalg.det))(a), hessian, atol=1e-11)
        np.testing.assert_allclose(
            fg.hessian(lambda a: np.sum(np.linalg.det(a)))(stack)[0, :, :, 0], hessian, atol=1e-10
        )


def test_third_derivatives_of_a_determinant(rng: np.random.Generator) -> None:
    a = general(rng, (3, 3))
    expected = fg.jacfwd(fg.hessian(leibniz))(a)
    np.testing.assert_allclose(fg.jacfwd(fg.hessian(np.linalg.det))(a), expected, atol=1e-10)
    np.testing.assert_allclose(fg.jacrev(fg.hessian(np.linalg.det))(a), expected, atol=1e-10)


OF_A_TRIANGLE: dict[str, Any] = {
    "eigvalsh": (lambda a, upper: np.linalg.eigvalsh(a, "U" if upper else "L"), lambda y: y),
    # Only the parts of the vectors that do not depend on their signs and phases are compared.
    "eigh": (lambda a, upper: np.linalg.eigh(a, "u" if upper else "l")[1], lambda v: np.abs(v) ** 2),
    "cholesky": (lambda a, upper: np.linalg.cholesky(a, upper=upper), lambda y: np.abs(y) ** 2 + np.real(y)),
    "scipy's cholesky": (lambda a, upper: scipy_linalg.cholesky(a, lower=not upper), lambda y: np.abs(y) ** 2),
}


def completed(a: np.ndarray, upper: bool) -> np.ndarray:
    """The Hermitian matrices of one triangle each."""
    a = a.conj().swapaxes(-1, -2) if upper else a
    diagonal = np.real(a) * np.eye(a.shape[-1])
    return np.tril(a, -1) + np.tril(a, -1).conj().swapaxes(-1, -2) + diagonal


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("name", OF_A_TRIANGLE)
def test_of_a_matrix_that_is_not_hermitian_one_triangle_is_read(
    name: str, dtype: Any, upper: bool, rng: np.random.Generator
) -> None:
    """Value and derivatives are those of the Hermitian matrix with this triangle."""
    f, fixed = OF_A_TRIANGLE[name]
    shape = (2, 3, 3)
    a = general(rng, shape, dtype) + np.diag([1.0, 2.5, 4.0])
    whole = completed(a, upper)
    expected = fixed(f(whole, upper))
    graph = fg.make_graph(lambda a: fixed(f(a, upper)))(a)
    np.testing.assert_allclose(graph(a), expected, atol=1e-12)
    np.testing.assert_allclose(fg.jit(graph)(a), expected, atol=1e-12)
    weights = rng.normal(size=expected.shape)

    def loss(a: Any) -> Any:
        return np.sum(fixed(f(a, upper)) * weights)

    gradient, directions = fg.grad(loss), [completed(general(rng, shape, dtype), False) for _ in range(2)]
    np.testing.assert_allclose(gradient(a), gradient(whole), atol=1e-12)
    np.testing.assert_allclose(gradient(a), gradient(a).conj().swapaxes(-1, -2), atol=1e-12)
    slope = fg.jvp(loss, (a,), (directions[0],))[1]
    step = 1e-6 * directions[0]
    np.testing.assert_allclose(slope, (loss(whole + step) - loss(whole - step)) / 2e-6, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(slope, np.sum(np.real(gradient(a) * directions[0])), rtol=1e-10)
    curved = fg.jvp(gradient, (a,), (directions[1],))[1]
    step = 1e-6 * directions[1]
    np.testing.assert_allclose(curved, (gradient(whole + step) - gradient(whole - step)) / 2e-6, rtol=1e-5, atol=1e-5)
    batched = fg.vmap(gradient)(np.stack([a, whole]))
    np.testing.assert_allclose(batched, np.stack([gradient(whole)] * 2), atol=1e-12)


@pytest.mark.parametrize("name", ["eigvalsh", "eigh", "cholesky"])
def test_the_derivative_of_one_triangle_is_pytorchs(name: str, rng: np.random.Generator, pytorch: PyTorch) -> None:
    a, weights = general(rng, (3, 3)) + np.diag([1.0, 2.5, 4.0]), rng.normal(size=3)
    f, fixed = OF_A_TRIANGLE[name]

    def theirs(torch: Any) -> np.ndarray:
        x = torch.tensor(a, requires_grad=True)
        y = getattr(torch.linalg, name)(x)
        y = y[1] ** 2 if name == "eigh" else y**2 + y if name == "cholesky" else y
        (y * torch.tensor(weights)).sum().backward()
        return x.grad.numpy()

    got = fg.grad(lambda a: np.sum(fixed(f(a, False)) * weights))(a)
    np.testing.assert_allclose(got, pytorch(theirs), atol=1e-12)


def test_matrices_without_an_answer() -> None:
    """NumPy raises at once; a compiled program, which cannot, returns NaN or infinities."""
    singular, indefinite, right = np.ones((2, 2)), np.diag([1.0, -1.0]), np.ones(2)
    for f in (fnp.linalg.solve, lambda a, b: fg.vjp(np.linalg.solve, a, b), fg.jit(np.linalg.solve, engine="numpy")):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            f(singular, right)
    for f in (fnp.linalg.cholesky, lambda a: fg.vjp(np.linalg.cholesky, a)):
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            f(indefinite)
    assert not np.isfinite(fg.jit(np.linalg.solve)(singular, right)).any()
    assert np.isnan(fg.jit(np.linalg.cholesky)(indefinite)).any()
    assert fnp.linalg.slogdet(singular) == np.linalg.slogdet(singular)
    assert float(fg.jit(np.linalg.slogdet)(singular)[1]) == -np.inf
    assert fg.vjp(np.linalg.slogdet, singular)[0].logabsdet == -np.inf


def test_on_xla_arrays_outside_its_64_bit_mode(rng: np.random.Generator) -> None:
    a, b = definite(rng, (3, 3)), general(rng, (3,))
    with jax.enable_x64(True):
        arrays = jax.numpy.asarray(a), jax.numpy.asarray(b)

    def f(a: Any, b: Any) -> Any:
        factor = fnp.linalg.cholesky(a)
        return fnp.sum(fnp.linalg.solve(factor, b) ** 2) + fnp.linalg.slogdet(a)[1] * fnp.linalg.det(a)

    value, gradients = fg.value_and_grad(f, argnums=(0, 1))(*arrays)
    assert isinstance(value, jax.Array)
    assert value.dtype == np.float64
    np.testing.assert_allclose(value, f(a, b), rtol=1e-12)
    np.testing.assert_allclose(f(*arrays), f(a, b), rtol=1e-12)
    for got, expected in zip(gradients, fg.grad(f, argnums=(0, 1))(a, b), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_mistakes() -> None:
    square, wide = np.ones((2, 2)), np.ones((2, 3))
    for name in ("cholesky", "inv", "det", "slogdet"):
        with pytest.raises(np.linalg.LinAlgError, match=rf"linalg.{name}: the argument a is f64\[2,3\]"):
            fg.vjp(getattr(np.linalg, name), wide)
    with pytest.raises(np.linalg.LinAlgError, match=r"f64\[3\]; needed matrices"):
        linalg.det(np.ones(3))
    with pytest.raises(ValueError, match="as many rows in b as in a, 2"):
        fg.vjp(np.linalg.solve, square, np.ones(3))
    with pytest.raises(TypeError, match="f16"):
        fg.vjp(np.linalg.inv, square.astype(np.float16))
    with pytest.raises(np.linalg.LinAlgError, match=r"linalg.matrix_power: .* f64\[2,3\]"):
        fg.vjp(lambda a: np.linalg.matrix_power(a, 3), wide)
    half: Any = 0.5
    with pytest.raises(TypeError):
        fg.vjp(lambda a: np.linalg.matrix_power(a, half), square)
    with pytest.raises(np.linalg.LinAlgError, match="tensorsolve"):
        fg.vjp(np.linalg.tensorsolve, np.ones((2, 3, 5)), np.ones((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="tensorinv"):
        fg.vjp(np.linalg.tensorinv, np.ones((2, 3, 5)))
    with pytest.raises(ValueError, match="ind is 0"):
        fg.vjp(lambda a: np.linalg.tensorinv(a, 0), square)
