"""Eigenvalues, singular values and what follows from them: NumPy's values, JAX's gradients."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import NotDifferentiableError, UnsupportedFunctionError
from funcgrad.numpy import linalg
from tests.numpy._surface import check_surface, same

Shape = tuple[int, ...]


def spaced(rng: np.random.Generator, shape: Shape, dtype: Any = float) -> np.ndarray:
    """Matrices whose singular values lie apart."""
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else 0)
    return (0.3 * x + np.eye(shape[-2], shape[-1]) * (1 + np.arange(shape[-1]))).astype(dtype)


def hermitian(rng: np.random.Generator, shape: Shape, dtype: Any = float) -> np.ndarray:
    x = spaced(rng, shape, dtype)
    return x + x.conj().swapaxes(-1, -2)


# Complex vectors have JAX's phases, as both call LAPACK, so even what depends on them must agree.
OF_HERMITIAN: dict[str, Any] = {
    "eigenvalues": lambda m, a: m.linalg.eigvalsh(a),
    "eigenvalues of eigh": lambda m, a: m.linalg.eigh(a).eigenvalues,
    "eigenvectors": lambda m, a: m.linalg.eigh(a)[1],
    "both": lambda m, a: m.linalg.eigh(a)[1] * m.exp(m.linalg.eigh(a, UPLO="U")[0])[..., None, :],
    "logarithm": lambda m, a: (
        m.linalg.eigh(a @ a)[1]
        @ (m.log(m.linalg.eigh(a @ a)[0])[..., None] * m.linalg.eigh(a @ a)[1].conj().swapaxes(-1, -2))
    ),
}


@pytest.mark.parametrize(("shape", "dtype"), [((3, 3), complex), ((2, 3, 3), float), ((1, 1), np.float32)])
@pytest.mark.parametrize("name", OF_HERMITIAN)
def test_of_hermitian_matrices(name: str, shape: Shape, dtype: Any, rng: np.random.Generator) -> None:
    tolerance = 2e-4 if dtype is np.float32 else 1e-9
    check_surface(OF_HERMITIAN[name], [hermitian(rng, shape, dtype)], tolerance=tolerance)


def _sum(m: Any, parts: Any) -> Any:
    """One number that reads all parts of a result, the phases of complex vectors too."""
    return sum(
        m.sum(m.real(part * (1 + 0.5j) ** 2 if part.dtype.kind == "c" else part) ** 2 * part.real) for part in parts
    )


OF_ANY: dict[str, Any] = {
    "singular values": lambda m, a: m.linalg.svd(a, compute_uv=False),
    "svdvals": lambda m, a: m.linalg.svdvals(a),
    "u": lambda m, a: m.linalg.svd(a, full_matrices=False)[0],
    "vh": lambda m, a: m.linalg.svd(a, full_matrices=False)[2],
    "all of svd": lambda m, a: _sum(m, m.linalg.svd(a, full_matrices=False)),
    "pinv": lambda m, a: m.linalg.pinv(a),
    "pinv, cut": lambda m, a: m.linalg.pinv(a, rtol=1e-3),
    "cond": lambda m, a: m.linalg.cond(a),
    "cond, -2": lambda m, a: m.linalg.cond(a, -2),
}


@pytest.mark.parametrize(
    ("shape", "dtype"), [((3, 3), np.float32), ((4, 2), complex), ((2, 4), complex), ((2, 3, 2), float)]
)
@pytest.mark.parametrize("name", OF_ANY)
def test_of_any_matrices(name: str, shape: Shape, dtype: Any, rng: np.random.Generator) -> None:
    tolerance = 2e-4 if dtype is np.float32 else 1e-9
    check_surface(OF_ANY[name], [spaced(rng, shape, dtype)], tolerance=tolerance)


@pytest.mark.parametrize(("shape", "dtype"), [((3, 3), float), ((4, 2), complex), ((2, 3, 2), float)])
@pytest.mark.parametrize("mode", ["reduced", "r"])
def test_qr(mode: str, shape: Shape, dtype: Any, rng: np.random.Generator) -> None:
    a = spaced(rng, shape, dtype)
    if mode == "r":
        check_surface(lambda m, a: m.linalg.qr(a, mode="r"), [a])
    else:
        check_surface(lambda m, a: _sum(m, m.linalg.qr(a)), [a])


@pytest.mark.parametrize("shape", [(2, 4), (3, 2, 3)])
def test_qr_of_wide_matrices(shape: Shape, rng: np.random.Generator) -> None:
    """JAX has no derivative of this one."""
    a = spaced(rng, shape)
    q, r = np.linalg.qr(a)
    for got in (linalg.qr(a), fg.jit(np.linalg.qr)(a), linalg.qr(a, mode="complete")):
        np.testing.assert_allclose(got[0], q, atol=1e-12)
        np.testing.assert_allclose(got[1], r, atol=1e-12)
    fg.check_grads(lambda a: _sum(np, np.linalg.qr(a)), (a,), order=2)


def both_directions(f: Any, x: np.ndarray, rng: np.random.Generator) -> tuple[Any, Any]:
    """The pairing of a cotangent with a tangent, by each mode."""
    x_dot = rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape)
    y, y_dot = fg.jvp(f, (x,), (x_dot,))
    y_bar = [
        rng.normal(size=part.shape) + (1j * rng.normal(size=part.shape) if part.dtype.kind == "c" else 0) for part in y
    ]
    (x_bar,) = fg.vjp(f, x)[1](y_bar)
    return np.sum(x_bar * x_dot).real, sum(np.sum(a * b).real for a, b in zip(y_bar, y_dot, strict=True))


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_modes_of_complex_decompositions_are_each_others_transpose(shape: Shape, rng: np.random.Generator) -> None:
    x = spaced(rng, shape, complex)
    reverse, forward = both_directions(lambda a: list(np.linalg.svd(a, full_matrices=False)), x, rng)
    np.testing.assert_allclose(reverse, forward, rtol=1e-10)
    if shape[0] == shape[1]:
        reverse, forward = both_directions(lambda a: list(np.linalg.eigh(a)), x, rng)
        np.testing.assert_allclose(reverse, forward, rtol=1e-10)


def test_derivatives_of_values_that_are_equal() -> None:
    """They do not need the vectors, whose derivative there is NaN, without a warning."""
    np.testing.assert_allclose(
        fg.grad(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2))(np.eye(3)), 2 * np.eye(3), atol=1e-14
    )
    np.testing.assert_allclose(fg.grad(lambda a: np.linalg.norm(a, "nuc"))(np.eye(3)), np.eye(3), atol=1e-14)
    assert fg.jvp(lambda a: np.linalg.norm(a, "nuc"), (np.eye(3),), (np.eye(3),))[1] == pytest.approx(3.0)
    for f in (lambda a: np.linalg.eigh(a)[1], lambda a: np.linalg.svd(a)[0]):
        assert np.isnan(fg.grad(lambda a, f=f: np.sum(f(a)))(np.eye(2))).any()


def test_the_pseudoinverse_of_less_than_full_rank(rng: np.random.Generator) -> None:
    left, right = rng.normal(size=(4, 2)), rng.normal(size=(2, 3))

    def f(left: Any, right: Any) -> Any:
        return np.sum(np.sin(np.linalg.pinv(left @ right, 1e-8)))

    fg.check_grads(f, (left, right), order=2)


@pytest.mark.parametrize("shape", [(5, 2), (3, 3), (2, 4)])
@pytest.mark.parametrize("right", [(), (3,)])
def test_lstsq(shape: Shape, right: Shape, rng: np.random.Generator) -> None:
    a, b = spaced(rng, shape), rng.normal(size=(shape[0], *right))
    expected = np.linalg.lstsq(a, b)
    for f in (linalg.lstsq, lambda a, b: fg.vjp(np.linalg.lstsq, a, b)[0], fg.jit(np.linalg.lstsq)):
        for got, part in zip(f(a, b), expected, strict=True):
            np.testing.assert_allclose(got, part, rtol=1e-10, atol=1e-12)
    check_surface(lambda m, a, b: m.linalg.lstsq(a, b)[0], [a, b])
    if shape[0] > shape[1]:
        check_surface(lambda m, a, b: m.linalg.lstsq(a, b)[1], [a, b])


def test_lstsq_of_less_than_full_rank(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(4, 2)) @ rng.normal(size=(2, 3)), rng.normal(size=4)
    for got, part in zip(linalg.lstsq(a, b), np.linalg.lstsq(a, b), strict=True):
        assert np.shape(got) == np.shape(part)
        np.testing.assert_allclose(got, part, atol=1e-10)


def test_rank(rng: np.random.Generator) -> None:
    a = rng.normal(size=(2, 4, 2)) @ rng.normal(size=(2, 2, 3))
    for x, options in [(a, {}), (a[0], {"tol": 1e-3}), (a, {"rtol": 1e-6}), (a, {"tol": [0.1, 1e9]}), (a[0, 0], {})]:
        expected = np.linalg.matrix_rank(x, **options)
        np.testing.assert_array_equal(linalg.matrix_rank(x, **options), expected)
        np.testing.assert_array_equal(fg.jit(lambda x, o=options: np.linalg.matrix_rank(x, **o))(x), expected)
    assert fg.grad(lambda x: np.linalg.matrix_rank(x) * np.sum(x))(a[0])[0, 0] == 2.0


def test_condition_by_other_norms(rng: np.random.Generator) -> None:
    a = spaced(rng, (3, 3))
    for p in ("fro", 1, -1, np.inf, "nuc"):
        check_surface(lambda m, a, p=p: m.linalg.cond(a, p), [a])


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_the_condition_of_a_singular_matrix_is_positive(engine: str) -> None:
    # LAPACK gives its last singular value as -0.0.
    a = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fg.vjp(np.linalg.cond, a)[0] == np.inf
    assert fg.jit(np.linalg.cond, engine=engine)(a) == np.inf


def test_on_xla_arrays_outside_its_64_bit_mode(rng: np.random.Generator) -> None:
    a = spaced(rng, (3, 3))
    with jax.enable_x64(True):
        array = jax.numpy.asarray(a)

    def f(a: Any) -> Any:
        parts = [*linalg.svd(a), *linalg.qr(a), *linalg.eigh(a), linalg.pinv(a), linalg.lstsq(a, a)[0]]
        return _sum(np, parts)

    got = fg.grad(f)(array)
    assert isinstance(got, jax.Array)
    same(got, fg.grad(f)(a), 1e-9)
    np.testing.assert_allclose(linalg.cond(array), np.linalg.cond(a), rtol=1e-10)
    assert int(linalg.matrix_rank(array)) == 3


def test_mistakes() -> None:
    square, tall = np.eye(2), np.ones((3, 2))
    for message, f in {
        "hermitian=True": lambda: linalg.pinv(square, hermitian=True),
        "mode='complete'": lambda: linalg.qr(tall, mode="complete"),
        "rtol for each matrix": lambda: linalg.pinv(tall, rtol=np.ones(2)),
    }.items():
        with pytest.raises(UnsupportedFunctionError, match=message):
            f()
    with pytest.raises(ValueError, match="UPLO is 'X'"):
        fg.vjp(lambda a: np.linalg.eigh(a, "X"), square)  # pyright: ignore[reportArgumentType, reportCallIssue]  (refused)
    with pytest.raises(np.linalg.LinAlgError, match=r"linalg.eigvalsh: the argument a is f64\[3,2\]"):
        fg.vjp(np.linalg.eigvalsh, tall)
    with pytest.raises(np.linalg.LinAlgError, match="needed a matrix, and a vector"):
        fg.vjp(np.linalg.lstsq, tall, np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="not empty"):
        linalg.cond(np.ones((0, 2)))
    for f in (lambda: linalg.pinv(square, 0.1, rtol=0.1), lambda: linalg.matrix_rank(square, 0.1, rtol=0.1)):
        with pytest.raises(ValueError, match="needed one of them"):
            f()


def test_the_condition_of_infinities() -> None:
    x = np.array([[[1.0, 1.0], [np.inf, np.inf]], [[1.0, 0.0], [0.0, 4.0]]])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(fg.vjp(np.linalg.cond, x)[0], np.linalg.cond(x))


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_a_full_svd_has_derivatives_of_what_is_unique(shape: Shape, engine: Any, rng: np.random.Generator) -> None:
    """The values, their vectors, and one more real vector: those of a matrix that is one column short of square."""
    x, direction = spaced(rng, shape, float), rng.normal(size=shape)
    count = min(shape) + (abs(shape[0] - shape[1]) == 1)
    weights = rng.normal(size=(3, 4, 4))

    def f(x: Any) -> Any:
        u, s, vh = np.linalg.svd(x)
        u, vh = u[:, :count], vh[:count]
        return np.sum(s) + sum(
            np.sum(y**2 * w[: y.shape[0], : y.shape[1]]) for y, w in zip((u, vh), weights, strict=False)
        )

    expected = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
    slope = lambda x: np.sum(fg.grad(f)(x) * direction)
    np.testing.assert_allclose(fg.jit(slope, engine=engine)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(fg.jvp(f, (x,), (direction,))[1], expected, rtol=1e-6)
    second = (slope(x + 1e-6 * direction) - slope(x - 1e-6 * direction)) / 2e-6
    along = lambda x: fg.jvp(f, (x,), (direction,))[1]
    for found in (fg.jvp(slope, (x,), (direction,))[1], np.sum(fg.grad(along)(x) * direction)):
        np.testing.assert_allclose(found, second, rtol=1e-5)


def test_vectors_that_complete_a_basis_have_no_derivative() -> None:
    tall = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 0.0], [2.0, 5.0]])
    np.testing.assert_array_equal(linalg.svd(tall)[0], np.linalg.svd(tall)[0])
    for x in (tall, tall[:3] + 1j * tall[1:]):
        with pytest.raises(NotDifferentiableError, match=r"linalg.svd: .*any basis of their space"):
            fg.grad(lambda x: np.sum(np.abs(np.linalg.svd(x)[0]) ** 3))(x)
        assert np.isnan(fg.jvp(lambda x: np.linalg.svd(x)[0], (x,), (x,))[1][:, 2:]).all()
    assert np.isnan(fg.jit(fg.grad(lambda x: np.sum(np.linalg.svd(x)[2] ** 3)), engine="numpy")(tall.T)).all()
