"""Sparse matrices of traced elements, and systems with them and with SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import funcgrad as fg
from funcgrad.errors import ForeignArrayError, UnsupportedFunctionError
from funcgrad.scipy import sparse
from tests.scipy._calls import Call, check, compiled, gradients, near

RNG = np.random.default_rng(3)
ROWS, COLUMNS = np.array([0, 0, 1, 2, 2, 3, 3, 1, 0]), np.array([0, 2, 1, 2, 0, 3, 1, 1, 2])
DATA = RNG.normal(size=9) + 4 * (ROWS == COLUMNS)
B = RNG.normal(size=(4, 2))
THEIRS: Any = scipy.sparse


def made(m: Any, data: Any) -> Any:
    """Places come in no order, two of them twice."""
    return m.coo_array((data, (ROWS, COLUMNS)), shape=(4, 4))


def solved(m: Any, a: Any, b: Any) -> Any:
    return m.linalg.spsolve(a if isinstance(a, sparse.SparseArray) else a.tocsc(), b)


CALLS = {
    "product": Call(lambda m, data, b: made(m, data) @ b, (DATA, B)),
    "product with a vector": Call(lambda m, data, b: made(m, data).T @ b, (DATA, B[:, 0])),
    "product on the left": Call(lambda m, data, b: b.T @ made(m, data), (DATA, B)),
    "sums": Call(lambda m, data, c: (2 * made(m, data) - made(m, c) / 3 + made(m, c)).toarray(), (DATA, DATA**2)),
    "diagonal": Call(lambda m, data: made(m, data).diagonal(), (DATA,)),
    "rows": Call(lambda m, data: m.csr_array((data, [1, 0, 2], [0, 1, 3])).toarray(), (B[:3, 0],)),
    "diagonals": Call(
        lambda m, a, b: m.diags_array([a, b, b], offsets=[0, -1, 2], shape=(4, 5)).toarray(), (B[:, 0], B[:3, 1])
    ),
    "spsolve": Call(lambda m, data, b: solved(m, made(m, data), b), (DATA, B)),
    "spsolve, a vector": Call(lambda m, data, b: solved(m, made(m, data), b), (DATA, B[:, 0])),
    "spsolve, complex": Call(lambda m, data, b: solved(m, made(m, data), b), (DATA + 0.3j, B)),
    "spsolve, a column": Call(lambda m, data, b: solved(m, made(m, data).T, b), (DATA, B[:, :1])),
    "spsolve, a constant": Call(lambda m, b: m.linalg.spsolve(made(scipy.sparse, DATA).tocsc(), b), (B,)),
    "factorized": Call(lambda m, b: m.linalg.factorized(made(scipy.sparse, DATA).tocsc())(b), (B[:, 0],)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str, rng: np.random.Generator) -> None:
    check(CALLS[name], sparse, THEIRS, rng)


def test_on_xla() -> None:
    names = ("product", "spsolve", "diagonals")
    found = compiled({name: CALLS[name] for name in names}, sparse)
    for name in names:
        if isinstance(found[name], Exception):
            raise found[name]
        for got, expected in zip(found[name], gradients(CALLS[name], sparse)(*CALLS[name].args), strict=True):
            near(got, expected, 1e-9)


def test_a_heat_equation_of_many_points() -> None:
    """Fitted by the conductivities between neighbours, without a whole matrix."""
    n = 2000
    heat = np.ones(n)

    def loss(k: Any) -> Any:
        a = sparse.diags_array([k[:-1] + k[1:], -k[1:-1], -k[1:-1]], offsets=[0, -1, 1])
        return np.sum(sparse.linalg.spsolve(a, heat) * heat) / n

    k = np.linspace(1.0, 2.0, n + 1)
    gradient, along = fg.grad(loss)(k), np.sin(np.arange(n + 1.0))
    slope = (loss(k + 1e-5 * along) - loss(k - 1e-5 * along)) / 2e-5
    np.testing.assert_allclose(np.sum(gradient * along), slope, rtol=1e-5)


def test_scipys_own_solver() -> None:
    """Refused by its name, and ours inside of ``fg.intercept()``."""
    a, b = made(scipy.sparse, DATA).tocsc(), B[:, 0]
    expected = fg.grad(lambda b: np.sum(sparse.linalg.spsolve(a, b) ** 2))(b)
    gradient = fg.grad(lambda b: np.sum(scipy.sparse.linalg.spsolve(a, b) ** 2))
    with fg.intercept():
        np.testing.assert_array_equal(gradient(b), expected)
        np.testing.assert_allclose(fg.grad(lambda b: np.sum(a @ b))(b), np.sum(a.toarray(), 0))
    with pytest.raises(UnsupportedFunctionError, match=r"^scipy\.sparse\.linalg\.spsolve met .*Call fg\.scipy\.sparse"):
        gradient(b)
    with pytest.raises(UnsupportedFunctionError, match=r"^scipy\.sparse\.linalg\.cg met a traced value.*Use spsolve"):
        fg.grad(lambda b: np.sum(scipy.sparse.linalg.cg(a, b)[0]))(b)
    with pytest.raises(AttributeError, match="cg has no derivative here"):
        sparse.linalg.cg  # noqa: B018  (asked for in vain)
    with pytest.raises(ForeignArrayError, match=r"elements with fg\.scipy\.sparse\.coo_array"):
        fg.grad(lambda d: np.sum(made(scipy.sparse, d) @ b))(DATA)


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "places": (lambda: sparse.coo_array((DATA, (ROWS, COLUMNS)), shape=(3, 4)), ValueError, "up to 3 .*shape"),
    "offsets": (lambda: sparse.diags([B[0]]), ValueError, "1 diagonals and 1 offsets.*without a list"),
    "lengths": (lambda: sparse.coo_array((DATA[1:], (ROWS, COLUMNS))), ValueError, "vectors of one length"),
    "a product": (lambda: made(sparse, DATA) @ B.T, ValueError, r"x \(transposed.* is f64\[2,4\]"),
    "a product of elements": (lambda: made(sparse, DATA) * B, ValueError, "Write a @ x for the product"),
    "no matrix": (lambda: sparse.linalg.spsolve(B, B), TypeError, "a ndarray was given; needed a sparse matrix"),
    "no square": (lambda: sparse.linalg.spsolve(scipy.sparse.csr_array(B), B), ValueError, "needed a square matrix"),
    "a sparse right side": (
        lambda: sparse.linalg.spsolve(made(sparse, DATA), made(sparse, DATA)),
        TypeError,
        r"Take b\.toarray",
    ),
    "singular": (
        lambda: sparse.linalg.spsolve(made(sparse, 0 * DATA), B),
        np.linalg.LinAlgError,
        "Singular matrix: a sparse one of 4 rows",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    f, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        f()
    if name == "singular":
        assert np.isnan(fg.jit(lambda data: sparse.linalg.spsolve(made(sparse, data), B))(0 * DATA)).all()


# Programs that call SciPy's own functions, as they stand, inside of ``fg.intercept()``.
FIXED = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 4.0]])
ENDS = (np.array([0, 1, 1]), np.array([0, 2, 2]))
LINALG: Any = scipy.sparse.linalg
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "diagonals of constants": lambda x: THEIRS.diags([np.ones(3)], [0]) @ x,
    "diagonals": lambda x: THEIRS.diags([x, x[1:]], [0, 1], format="csr") * x,
    "one diagonal": lambda x: THEIRS.diags(x) @ x,
    "diagonals of an array": lambda x: THEIRS.diags_array([x, x[1:]], offsets=[0, 1]) @ x,
    "coo": lambda x: THEIRS.coo_matrix((x * 2, ENDS), shape=(3, 3)).tocsr() * x,
    "coo array": lambda x: (THEIRS.coo_array((x * 2, ENDS), shape=(3, 3)) * x[0]).toarray(),
    "csr": lambda x: THEIRS.csr_matrix((x * 2, [0, 2, 1], [0, 2, 2, 3]), shape=(3, 3)) * x,
    "csc": lambda x: THEIRS.csc_matrix((x * 2, [0, 2, 1], [0, 2, 2, 3]), shape=(3, 3)).T @ x,
    "assembled and solved": lambda x: LINALG.spsolve(
        (THEIRS.coo_matrix((x, ENDS), shape=(3, 3)) + THEIRS.csc_matrix(FIXED)).tocsc(), x
    ),
    "factors": lambda x: LINALG.splu(THEIRS.csc_matrix(FIXED)).solve(x),
    "factors, transposed": lambda x: LINALG.splu(THEIRS.csc_matrix(FIXED)).solve(x, "T"),
    "factors of traced elements": lambda x: LINALG.splu(
        (THEIRS.coo_matrix((x, ENDS), shape=(3, 3)) + THEIRS.csc_matrix(FIXED)).tocsc()
    ).solve(np.ones(3)),
    "factorized": lambda x: (
        LINALG.factorized(THEIRS.csc_matrix(FIXED))(x) + LINALG.factorized(THEIRS.csc_matrix(FIXED))(np.ones(3))
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_scipys_names(name: str) -> None:
    def f(x: Any) -> Any:
        return np.sum(PROGRAMS[name](x) ** 2)

    x = np.array([0.7, 2.0, -1.5])
    expected = f(x)
    with fg.intercept():
        for run in (f, fg.jit(f), fg.jit(f, engine="numpy"), lambda x: fg.value_and_grad(f)(x)[0]):
            np.testing.assert_allclose(run(x), expected, rtol=1e-12)
        fg.check_grads(f, (x,), order=1)
        assert isinstance(THEIRS.coo_matrix(FIXED), THEIRS.coo_matrix)
        assert issubclass(THEIRS.csr_matrix, THEIRS.csr_matrix)
    assert type(THEIRS.coo_matrix(FIXED)) is THEIRS.coo_matrix
