"""Every function of ``scipy.linalg`` beside SciPy's, with its derivatives."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
from funcgrad.scipy import linalg
from tests.scipy._calls import Call, check, compiled, differences, gradients, near

RNG = np.random.default_rng(5)


def normal(*shape: int, complex: bool = False) -> np.ndarray:  # noqa: A002  (what it draws)
    x = RNG.normal(size=shape)
    return x + 1j * RNG.normal(size=shape) if complex else x


A, C, W, TALL = normal(4, 4) + 2 * np.eye(4), normal(4, 4, complex=True), normal(2, 4), normal(4, 2)
SYMMETRIC = A + A.T + 3 * np.eye(4)
DEFINITE = A @ A.T + np.eye(4)
HERMITIAN = C @ C.conj().T + np.eye(4)
SPREAD = np.diag([1.0, 2, 4, 7]) + 0.3 * normal(4, 4)
BANDS = np.array([[6.0], [1.0], [0.5]]) + 0.3 * normal(3, 6)
TURNING = BANDS + 0.3j * normal(3, 6)
# The elements that are read of three diagonals of six rows, of the upper triangle and of the lower one.
READ = np.arange(6) >= np.arange(3)[::-1, None], np.arange(6) < 6 - np.arange(3)[:, None]
TURNED = np.array([[-1.0, 0.3], [0.2, 2.0]])
B, V, V5 = normal(4, 2), normal(4), normal(5)


def signs(pair: Any) -> Any:
    """Eigenvalues and what of their vectors does not depend on signs."""
    w, v = pair
    return w, np.real(v * np.conj(v))


def upper(a: Any) -> Any:
    """A Hermitian matrix of any."""
    return a + np.conj(np.swapaxes(a, -1, -2))


CALLS = {
    **{
        f"solve {structure}": Call(lambda m, a, b, s=structure: m.solve(a, b, assume_a=s), (SYMMETRIC, B))
        for structure in ("gen", "sym", "her", "diagonal", "tridiagonal", "upper triangular", "lower triangular")
    },
    "solve hermitian": Call(lambda m, a, b: m.solve(upper(a), b, assume_a="her", lower=True), (C, B)),
    "solve definite": Call(lambda m, a, b: m.solve(upper(a), b, assume_a="pos"), (DEFINITE, V)),
    "solve transposed": Call(lambda m, a, b: m.solve(a, b, transposed=True), (A, V)),
    "inv": Call(lambda m, a: m.inv(a, assume_a="upper triangular"), (A,)),
    "inv definite": Call(lambda m, a: m.inv(upper(a), assume_a="pos"), (DEFINITE,)),
    "det": Call(lambda m, a: m.det(a, check_finite=False), (A,)),
    "cho_solve": Call(
        lambda m, a, b: m.cho_solve(m.cho_factor(upper(a), True, check_finite=False), b, check_finite=False),
        (DEFINITE, B),
    ),
    "lstsq": Call(lambda m, a, b: m.lstsq(a, b), (TALL, V)),
    "lstsq columns": Call(lambda m, a, b: m.lstsq(a, b), (TALL, B)),
    "lstsq wide": Call(lambda m, a, b: m.lstsq(a, b), (W, normal(2))),
    "pinv": Call(lambda m, a: m.pinv(a), (TALL,)),
    "pinv complex": Call(lambda m, a: m.pinv(a, return_rank=True), (normal(3, 2, complex=True),)),
    "pinvh": Call(lambda m, a: m.pinvh(upper(a)), (C,)),
    "lu": Call(lambda m, a: m.lu(a), (C,)),
    "lu permuted": Call(lambda m, a: m.lu(a, permute_l=True), (A[[2, 0, 3, 1]],)),
    "lu indices": Call(lambda m, a: m.lu(a, p_indices=True), (A[[2, 0, 3, 1]],)),
    "qr": Call(lambda m, a: m.qr(a), (A,)),
    "qr economic": Call(lambda m, a: m.qr(a, mode="economic"), (normal(4, 2, complex=True),)),
    "qr r": Call(lambda m, a: m.qr(a, mode="r"), (TALL,)),
    "rq": Call(lambda m, a: m.rq(a), (C,)),
    "rq economic": Call(lambda m, a: m.rq(a, mode="economic"), (W,)),
    "rq tall": Call(lambda m, a: m.rq(a), (TALL,)),
    "rq r": Call(lambda m, a: m.rq(a, mode="r"), (A,)),
    "eigh": Call(lambda m, a: signs(m.eigh(upper(a))), (C,)),
    "eigh subset": Call(
        lambda m, a: m.eigh(upper(a), lower=False, eigvals_only=True, subset_by_index=[1, 2]), (SYMMETRIC,)
    ),
    **{
        f"eigh {kind}": Call(lambda m, a, b, k=kind: signs(m.eigh(upper(a), upper(b), type=k)), (C, HERMITIAN))
        for kind in (1, 2, 3)
    },
    "eigvalsh": Call(lambda m, a, b: m.eigvalsh(upper(a), upper(b), lower=False), (A, DEFINITE)),
    "eig": Call(lambda m, a: m.eig(a), (C,)),
    "eigvals": Call(lambda m, a: m.eigvals(a), (A,)),
    "eigvals of two": Call(lambda m, a, b: m.eig(a, b, right=False), (DEFINITE, np.diag([1.0, 2, 3, 4]))),
    "eigh_tridiagonal": Call(lambda m, d, e: signs(m.eigh_tridiagonal(d, e)), (np.array([1.0, 3, 6, 10]), normal(3))),
    "eigvalsh_tridiagonal": Call(
        lambda m, d, e: m.eigvalsh_tridiagonal(d, e, select="i", select_range=(0, 1)), (V, normal(3))
    ),
    "eig_banded": Call(lambda m, a: signs(m.eig_banded(a)), (normal(3, 5),)),
    "eigvals_banded": Call(lambda m, a: m.eigvals_banded(a, lower=True), (normal(3, 5),)),
    "svd": Call(lambda m, a: m.svd(a), (A,)),
    "svd of all vectors": Call(lambda m, a: m.svd(a), (A[:, 1:],)),
    "svd of a tall matrix": Call(lambda m, a: m.svd(a, full_matrices=False), (normal(4, 2),)),
    "svdvals": Call(lambda m, a: m.svdvals(a), (normal(3, 2, complex=True),)),
    "toeplitz": Call(lambda m, c, r: m.toeplitz(c, r), (normal(3, complex=True), V)),
    "toeplitz of one": Call(lambda m, c: m.toeplitz(c), (normal(3, complex=True),)),
    "hankel": Call(lambda m, c, r: m.hankel(c, r), (V, V5)),
    "hankel of one": Call(lambda m, c: m.hankel(c), (V,)),
    "circulant": Call(lambda m, c: m.circulant(c), (V,)),
    "companion": Call(lambda m, a: m.companion(a), (V5,)),
    "leslie": Call(lambda m, f, s: m.leslie(f, s), (V, normal(3))),
    "fiedler": Call(lambda m, a: m.fiedler(a), (V,)),
    **{
        f"convolution_matrix {mode} {n}": Call(lambda m, a, n=n, o=mode: m.convolution_matrix(a, n, o), (V,))
        for mode in ("full", "valid", "same")
        for n in (2, 3, 6)
    },
    "block_diag": Call(lambda m, a, b: m.block_diag(a, b, 3.0, b[0]), (A, B)),
    "khatri_rao": Call(lambda m, a, b: m.khatri_rao(a, b), (B, normal(3, 2))),
    "norm": Call(lambda m, a: m.norm(a, 1, axis=0), (A,)),
    "norm nuclear": Call(lambda m, a: m.norm(a, "nuc"), (A,)),
    "solve_toeplitz": Call(lambda m, c, b: m.solve_toeplitz(c, b), (np.array([4.0, 1, 0.5, 0.2]), B)),
    "solve_toeplitz of two": Call(lambda m, c, r, b: m.solve_toeplitz((c, r), b), (V + 3, normal(4), V)),
    "matmul_toeplitz": Call(lambda m, c, r, b: m.matmul_toeplitz((c, r), b), (V, V5, V5)),
    **{
        f"{f} {kind}": Call(lambda m, a, f=f: getattr(m, f)(a), (a,))
        for f in ("expm", "sqrtm", "logm", "cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")
        for kind, a in (("real", 0.3 * A), ("complex", 0.3 * C))
        if (f, kind) not in {("sqrtm", "real"), ("logm", "real")}
    },
    **{f"{f} real": Call(lambda m, a, f=f: getattr(m, f)(a), (SPREAD,)) for f in ("sqrtm", "logm")},
    **{f"{f} far": Call(lambda m, a, f=f: getattr(m, f)(a), (1e3 * SPREAD,)) for f in ("sqrtm", "logm")},
    "funm": Call(lambda m, a: m.funm(a.astype(complex), np.exp).real, (A,)),
    "funm complex": Call(lambda m, a: m.funm(a, np.sin), (C,)),
    "expm_frechet": Call(lambda m, a, e: m.expm_frechet(a, e), (A, SYMMETRIC)),
    "fractional_matrix_power": Call(lambda m, a: m.fractional_matrix_power(a, 0.3), (SPREAD,)),
    "fractional_matrix_power -2": Call(lambda m, a: m.fractional_matrix_power(a, -2), (SPREAD,)),
    **{
        f"polar {kind} {side}": Call(lambda m, a, s=side: m.polar(a, s), (a,))
        for kind, a in (("square", A), ("tall", normal(4, 2, complex=True)), ("wide", W))
        for side in ("right", "left")
    },
    "polar of an orthogonal matrix": Call(lambda m, a: m.polar(a), (3 * np.linalg.qr(A)[0],)),
    "orthogonal_procrustes": Call(lambda m, a, b: m.orthogonal_procrustes(a, b), (normal(4, 3), normal(4, 3))),
    "subspace_angles": Call(lambda m, a, b: m.subspace_angles(a, b), (normal(5, 2), normal(5, 3))),
    "subspace_angles near": Call(
        lambda m, a, b: m.subspace_angles(a, a @ A[:2, :2] + 0.1 * b), (normal(5, 2), normal(5, 2))
    ),
    "solve_banded": Call(
        lambda m, ab, b: m.solve_banded((1, 2), ab, b), (normal(4, 6) + 4 * np.eye(4)[2][:, None], normal(6, 2))
    ),
    "solve_banded tridiagonal": Call(
        lambda m, ab, b: m.solve_banded((1, 1), ab, b), (normal(3, 6, complex=True), normal(6))
    ),
    **{
        f"solveh_banded {lower}": Call(
            lambda m, ab, b, o=lower: m.solveh_banded(ab, b, lower=o), (BANDS if lower else BANDS[::-1], normal(6, 2))
        )
        for lower in (False, True)
    },
    "solveh_banded complex": Call(lambda m, ab, b: m.solveh_banded(ab, b, lower=True), (TURNING, normal(6))),
    **{
        f"cholesky_banded {lower}": Call(
            lambda m, ab, b, o=lower: (
                READ[o] * m.cholesky_banded(ab, lower=o),
                m.cho_solve_banded((m.cholesky_banded(ab, lower=o), o), b),
            ),
            (TURNING if lower else BANDS[::-1], normal(6, 2)),
        )
        for lower in (False, True)
    },
    "solve_sylvester": Call(lambda m, a, b, q: m.solve_sylvester(a, b, q), (SPREAD, SPREAD[:2, :2], B)),
    "solve_sylvester complex": Call(lambda m, a, b, q: m.solve_sylvester(a, b, q), (C, SPREAD[:2, :2], B)),
    "solve_continuous_lyapunov": Call(lambda m, a, q: m.solve_continuous_lyapunov(a, q), (C, A)),
    "solve_discrete_lyapunov": Call(lambda m, a, q: m.solve_discrete_lyapunov(a, q), (0.2 * C, A)),
    "solve_discrete_lyapunov bilinear": Call(lambda m, a, q: m.solve_discrete_lyapunov(a, q, "bilinear"), (0.2 * A, A)),
    "solve_circulant": Call(lambda m, c, b: m.solve_circulant(c, b), (np.array([4.0, 1, 0.5, 0.2]), B)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str, rng: np.random.Generator) -> None:
    check(CALLS[name], linalg, scipy.linalg, rng)


# Other tests compile each operation of the remaining functions.
ON_XLA = ("solve hermitian", "lstsq", "lu", "rq", "eigh 2", "eig_banded", "toeplitz", "block_diag", "solve_circulant")
ON_XLA += ("sqrtm real", "sqrtm complex", "logm far", "logm complex", "solve_sylvester complex", "cosm real")
ON_XLA += ("polar tall right", "subspace_angles near", "solve_banded", "solveh_banded complex")


@functools.cache
def on_xla() -> dict[str, Any]:
    return compiled({name: CALLS[name] for name in ON_XLA}, linalg)


@pytest.mark.parametrize("name", ON_XLA)
def test_on_xla(name: str) -> None:
    found = on_xla()[name]
    if isinstance(found, Exception):
        raise found
    for got, expected in zip(found, gradients(CALLS[name], linalg)(*CALLS[name].args), strict=True):
        near(got, expected, 1e-8)


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_real_matrices_without_a_real_value(name: str) -> None:
    """The result is complex, as SciPy's, if the numbers are known. Otherwise it is NaN."""
    f = getattr(linalg, name)
    expected: Any = getattr(scipy.linalg, name)(TURNED)
    np.testing.assert_allclose(f(TURNED), expected, rtol=1e-12)

    def total(a: Any) -> Any:
        y = f(a)
        return np.sum(np.real(y) * A[:2, :2] + np.imag(y))

    gradient = fg.grad(total)(TURNED)
    of_complex: Any = fg.grad(lambda a: total(a.astype(complex)))(TURNED)
    np.testing.assert_allclose(gradient, of_complex, rtol=1e-9)
    step = np.array([[1e-5, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(gradient[0, 0], (total(TURNED + step) - total(TURNED - step)) / 2e-5, rtol=1e-7)
    for engine in ("numpy", "xla"):
        assert np.isnan(fg.jit(f, engine=engine)(TURNED)).all()
        np.testing.assert_allclose(fg.jit(lambda a: f(a.astype(complex)), engine=engine)(TURNED), expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
def test_dtypes_are_scipys() -> None:
    for name, args in {"det": 1, "inv": 1, "sqrtm": 1, "logm": 1, "expm": 1, "solve_discrete_lyapunov": 2}.items():
        for dtype in (np.float32, np.complex64, np.float64):
            given = [(0.1 * DEFINITE).astype(dtype)] * args
            got, expected = (np.asarray(getattr(m, name)(*given)) for m in (linalg, scipy.linalg))
            assert got.dtype == expected.dtype, (name, dtype)
            np.testing.assert_allclose(got, expected, rtol=2e-3, atol=2e-3)


def test_matrices_without_enough_eigenvectors() -> None:
    """Their functions that have names are right; by diagonalisation there is none."""
    a = np.array([[2.0, 1.0], [0.0, 2.0]])
    theirs: Any = scipy.linalg
    np.testing.assert_allclose(linalg.logm(a), scipy.linalg.logm(a), atol=1e-14)
    np.testing.assert_allclose(linalg.sqrtm(a) @ linalg.sqrtm(a), a, atol=1e-14)
    assert np.isnan(linalg.funm(a, np.exp)).all()
    np.testing.assert_allclose(linalg.funm(A, np.exp), theirs.funm(A, np.exp), rtol=1e-12)
    np.testing.assert_allclose(
        fg.grad(lambda a: np.sum(linalg.funm(a, np.exp)))(A), fg.grad(lambda a: np.sum(linalg.expm(a)))(A), rtol=1e-9
    )
    with pytest.raises(fg.errors.ConcretizationTypeError, match=r"funm of a real matrix"):
        fg.jit(lambda a: linalg.funm(a, np.exp))(A)
    singular = np.ones((2, 2))
    with pytest.raises(np.linalg.LinAlgError, match="add up to 0"):
        linalg.solve_sylvester(singular, -singular, singular)
    assert not np.isfinite(fg.jit(linalg.solve_sylvester)(singular, -singular, singular)).all()


def test_bands_whose_rows_are_exchanged_and_large_ones(rng: np.random.Generator) -> None:
    """XLA's own elimination, with pivots, of more rows than its window; and many rows without a matrix of them."""
    ab, b = rng.normal(size=(6, 40)), rng.normal(size=(40, 2))
    expected = scipy.linalg.solve_banded((2, 3), ab, b)
    found = fg.jit(lambda ab, b: linalg.solve_banded((2, 3), ab, b))(ab, b)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * abs(expected).max())
    n = 100_000
    ab = np.array([[1.0], [4.0], [1.0]]) + np.zeros((1, n))
    along, weights = rng.normal(size=ab.shape), rng.normal(size=n)
    f = functools.partial(linalg.solve_banded, (1, 1), b=np.ones(n))
    _, slope = fg.jvp(lambda ab: f(ab), [ab], [along])
    np.testing.assert_allclose(slope, differences(f, [ab], [along]), atol=1e-9)
    (bar,) = fg.vjp(lambda ab: f(ab), ab)[1](weights)
    np.testing.assert_allclose(np.sum(bar * along), np.sum(weights * slope), rtol=1e-9)


def test_functions_without_a_derivative_say_what_to_use() -> None:
    with pytest.raises(AttributeError, match=r"scipy.linalg.schur has no derivative here.*logm"):
        linalg.schur  # noqa: B018  (asked for in vain)
    said = r"^scipy\.linalg\.schur met a traced value.*Use linalg\.eig"
    with pytest.raises(fg.errors.UnsupportedFunctionError, match=said):
        fg.grad(lambda a: np.sum(scipy.linalg.schur(a)[0]))(A)


@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
def test_an_empty_circulant_system_has_an_empty_solution(shape: tuple[int, ...], dtype: Any) -> None:
    c, b = np.ones(shape[:1], dtype), np.ones(shape, dtype)
    expected = scipy.linalg.solve_circulant(c, b)
    got = fg.jit(fg.scipy.linalg.solve_circulant, engine="numpy")(c, b)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)


def test_pivots_may_be_a_list() -> None:
    factors, pivots = scipy.linalg.lu_factor(np.array([[1.0, 2.0], [3.0, 4.0]]))
    b = np.array([1.0, 2.0])
    f = lambda factors, b: fg.scipy.linalg.lu_solve((factors, pivots.tolist()), b)
    for run in (f, fg.jit(f, engine="numpy"), lambda *args: fg.vjp(f, *args)[0]):
        np.testing.assert_allclose(run(factors, b), scipy.linalg.lu_solve((factors, pivots), b))


@pytest.mark.parametrize(
    "x", [np.array([1e20, 2e20], np.float32), np.array([1e200, 3e200j]), np.array([1e-200, 1e-200])]
)
def test_norms_neither_overflow_nor_underflow(x: np.ndarray) -> None:
    value, pullback = fg.vjp(linalg.norm, x)
    np.testing.assert_allclose(value, scipy.linalg.norm(x), rtol=1e-6)
    (bar,) = pullback(np.asarray(1.0, np.real(x).dtype)[()])
    np.testing.assert_allclose(bar, np.conj(x / scipy.linalg.norm(x)), rtol=1e-6)
    np.testing.assert_allclose(fg.jit(linalg.norm)(x), value, rtol=1e-6)


EMPTY = np.empty((0, 0))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *[(name, lambda x: (x,)) for name in ("cholesky_banded", "eig_banded", "eigvals_banded")],
        ("cho_solve_banded", lambda x: ((x, True), np.empty(0))),
        ("solveh_banded", lambda x: (x, np.empty(0))),
        ("lu_solve", lambda x: ((x, np.empty(0)), np.empty((0, 3)))),
        ("fiedler", lambda x: (x.reshape(0),)),
    ],
)
def test_empty_matrices(name: str, given: Any) -> None:
    def shapes(y: Any) -> list[tuple[int, ...]]:
        return [np.shape(each) for each in (y if isinstance(y, tuple) else (y,))]

    def ours(x: Any) -> Any:
        return getattr(linalg, name)(*given(x))

    expected = shapes(getattr(scipy.linalg, name)(*given(EMPTY)))
    value, pullback = fg.vjp(ours, EMPTY)
    assert shapes(value) == expected
    assert shapes(fg.jit(ours)(EMPTY)) == expected
    assert pullback(value)[0].shape == (0, 0)
