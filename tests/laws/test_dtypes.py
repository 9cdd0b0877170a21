"""dtypes mean what they mean in NumPy: a jitted function returns its dtypes and values, on either engine."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg

DTYPES = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
INTEGRAL = {"bool", "uint8", "int32", "int64"}

# Functions of a matrix and of a vector that broadcasts against it.
FUNCTIONS = {
    "add": lambda x, y: x + y,
    "add a Python int": lambda x, y: x + 1,
    "add a Python float": lambda x, y: x + 1.5,
    "add a Python complex": lambda x, y: x + 1.5j,
    "add a NumPy float": lambda x, y: x + np.float32(1.5),
    "add a NumPy int": lambda x, y: x + np.int64(2),
    "add an array": lambda x, y: x + np.ones(3, np.float32),
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / (y * y + 1),
    "divide by a Python int": lambda x, y: x / 2,
    "floor divide": lambda x, y: x // 2,
    "modulo": lambda x, y: x % 2,
    "power 2": lambda x, y: np.power(x, 2),
    "power 0.5": lambda x, y: abs(x) ** 0.5,
    "power of arrays": lambda x, y: abs(x) ** abs(y),
    "Python base": lambda x, y: 2 ** abs(x),
    "negative": lambda x, y: -x,
    "absolute": lambda x, y: np.abs(x),
    "invert": lambda x, y: ~x,
    "and": lambda x, y: x & y,
    "shift": lambda x, y: x << 1,
    "sqrt": lambda x, y: np.sqrt(np.abs(x)),
    "exp": lambda x, y: np.exp(x * 0.1),
    "sin": lambda x, y: np.sin(x),
    "tanh": lambda x, y: np.tanh(x),
    "sinc": lambda x, y: np.sinc(x),
    "arctan2": lambda x, y: np.arctan2(x, y),
    "logaddexp": lambda x, y: np.logaddexp(x, y),
    "square": lambda x, y: np.square(x),
    "sign": lambda x, y: np.sign(x),
    "floor": lambda x, y: np.floor(x),
    "round": lambda x, y: np.round(x, 1),
    "maximum": lambda x, y: np.maximum(x, y),
    "maximum with a Python int": lambda x, y: np.maximum(x, 1),
    "clip": lambda x, y: np.clip(x, 0, 2),
    "where": lambda x, y: np.where(np.array([True, False, True]), x, y),
    "where with a Python float": lambda x, y: np.where(np.array([True, False, True]), x, 0.5),
    "equal": lambda x, y: x == y,
    "isnan": lambda x, y: np.isnan(x),
    "real": lambda x, y: np.real(x),
    "imag": lambda x, y: np.imag(x),
    "conj": lambda x, y: np.conj(x),
    "angle": lambda x, y: np.angle(x),
    "sum": lambda x, y: np.sum(x),
    "sum over an axis": lambda x, y: np.sum(x, axis=0),
    "sum in float32": lambda x, y: np.sum(x, dtype=np.float32),
    "prod": lambda x, y: np.prod(x, axis=1),
    "mean": lambda x, y: np.mean(x, axis=0),
    "var": lambda x, y: np.var(x, axis=0),
    "max": lambda x, y: np.max(x, axis=1),
    "argmax": lambda x, y: np.argmax(x, axis=1),
    "any": lambda x, y: np.any(x, axis=1),
    "cumsum": lambda x, y: np.cumsum(x, axis=1),
    "cumprod": lambda x, y: np.cumprod(x, axis=0),
    "median": lambda x, y: np.median(x, axis=0),
    "quantile": lambda x, y: np.quantile(x, 0.3, axis=0),
    "quantiles": lambda x, y: np.quantile(x, np.array([0.1, 0.6]), axis=0),
    "ptp": lambda x, y: np.ptp(x, axis=0),
    "sort": lambda x, y: np.sort(x, axis=1),
    "argsort": lambda x, y: np.argsort(x, axis=1, kind="stable"),
    "matmul": lambda x, y: x @ y,
    "dot": lambda x, y: np.dot(x, y),
    "einsum": lambda x, y: np.einsum("ij,j->i", x, y),
    "outer": lambda x, y: np.outer(x, y),
    "norm": lambda x, y: np.linalg.norm(x, axis=1),
    "nuclear norm": lambda x, y: np.linalg.norm(x, "nuc"),
    "solve": lambda x, y: np.linalg.solve(x, y),
    "inv": lambda x, y: np.linalg.inv(x),
    "det": lambda x, y: np.linalg.det(x),
    "slogdet": lambda x, y: np.linalg.slogdet(x)[1],
    "matrix power": lambda x, y: np.linalg.matrix_power(x, 3),
    "cholesky": lambda x, y: np.linalg.cholesky(x @ np.conj(x).T + 9 * np.eye(3, dtype=x.dtype)),
    "eigvalsh": lambda x, y: np.linalg.eigvalsh(x + np.conj(x).T),
    "qr": lambda x, y: np.linalg.qr(x)[1],
    "svdvals": lambda x, y: np.linalg.svdvals(x),
    "pinv": lambda x, y: np.linalg.pinv(x),
    "matrix rank": lambda x, y: np.linalg.matrix_rank(x),
    "trace": lambda x, y: np.trace(x),
    "tril": lambda x, y: np.tril(x),
    "diag": lambda x, y: np.diag(y),
    "diff": lambda x, y: np.diff(x, axis=1),
    "concatenate": lambda x, y: np.concatenate([x, y[None]]),
    "concatenate with float32": lambda x, y: np.concatenate([x, np.ones((1, 3), np.float32)]),
    "stack": lambda x, y: np.stack([x[0], y]),
    "pad": lambda x, y: np.pad(x, 1),
    "index": lambda x, y: x[1:, np.array([0, 0, 2])],
    "take along axis": lambda x, y: np.take_along_axis(x, np.zeros((3, 1), int), axis=1),
    "astype": lambda x, y: x.astype(np.float32),
    "zeros like": lambda x, y: np.zeros_like(x),
    "full like": lambda x, y: np.full_like(x, 1),
    "linspace beside": lambda x, y: x * np.linspace(0, 1, 3),
    "interp": lambda x, y: np.interp(x, np.array([-3.0, 0.0, 2.0]), np.array([1.0, 2.0, 0.0])),
    "average": lambda x, y: np.average(x, axis=0),
    "searchsorted": lambda x, y: np.searchsorted(np.array([0, 1, 2]), x),
    "add.reduce": lambda x, y: np.add.reduce(x, axis=1),
    "multiply.outer": lambda x, y: np.multiply.outer(y, y),
}


def operands(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    x = np.array([[1, -2, 0], [3, 2, -1], [0, 1, 2]]) * (1 if dtype in INTEGRAL else 0.7)
    y = np.array([2, 0, 1]) * (1 if dtype in INTEGRAL else 1.1)
    if dtype.startswith("complex"):
        x, y = x + 0.5j, y - 0.5j
    return (np.abs(x) if dtype == "uint8" else x).astype(dtype), y.astype(dtype)


def by_numpy(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's results, without the functions that NumPy refuses for this dtype."""
    results = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, f in FUNCTIONS.items():
            try:
                results[name] = np.asarray(f(x, y))
            except TypeError:
                continue
    return results


# XLA has no order of complex numbers.
ORDERED = {
    "maximum",
    "maximum with a Python int",
    "clip",
    "max",
    "argmax",
    "median",
    "ptp",
    "sort",
    "argsort",
    "searchsorted",
}


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_jitted_functions_return_numpys_dtypes_and_values(dtype: str, engine: str) -> None:
    x, y = operands(dtype)
    expected = by_numpy(x, y)
    if dtype.startswith("complex"):
        expected = {name: value for name, value in expected.items() if name not in ORDERED}

    def everything(x: Any, y: Any) -> dict[str, Any]:
        return {name: FUNCTIONS[name](x, y) for name in expected}

    got = {name: np.asarray(value) for name, value in fg.jit(everything, engine=engine)(x, y).items()}
    assert {name: str(value.dtype) for name, value in got.items()} == {
        name: str(value.dtype) for name, value in expected.items()
    }
    for name, value in expected.items():
        tolerance = 4 * float(np.finfo(value.dtype).eps) if value.dtype.kind in "fc" else 0.0
        if dtype == "float16":
            tolerance = 4e-3
        np.testing.assert_allclose(got[name], value, rtol=8 * tolerance, atol=8 * tolerance, err_msg=name)


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_eager_functions_on_jax_arrays_keep_numpys_dtypes(dtype: str) -> None:
    """Outside JAX's 64-bit mode, where its own operators would cut float64 to float32."""
    x, y = operands(dtype)
    expected = by_numpy(x, y)
    with jax.enable_x64(True):
        arrays = jax.numpy.asarray(x), jax.numpy.asarray(y)
    got = {name: fg.vjp(FUNCTIONS[name], *arrays)[0] for name in expected}
    assert {name: str(value.dtype) for name, value in got.items()} == {
        name: str(value.dtype) for name, value in expected.items()
    }
    for name, value in expected.items():
        tolerance = 32 * float(np.finfo(value.dtype).eps) if value.dtype.kind == "f" else 0.0
        np.testing.assert_allclose(got[name], value, rtol=tolerance, atol=tolerance, err_msg=name)
