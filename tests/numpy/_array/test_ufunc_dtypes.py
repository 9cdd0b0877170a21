"""``dtype=``, ``casting=``, ``axis=``, ``axes=`` and ``keepdims=`` of ufuncs: NumPy's results, dtypes and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

RNG = np.random.default_rng(0)
A, B, V = RNG.normal(size=(3, 4, 5)), RNG.normal(size=(3, 4, 5)), RNG.normal(size=5)
NARROW = B.astype(np.float32)
CALLS: list[tuple[Any, tuple, dict[str, Any]]] = [
    (np.vecdot, (A, B), {"axis": 0}),
    (np.vecdot, (A, B), {"axis": 1, "keepdims": True}),
    (np.vecdot, (A, B), {"keepdims": True}),
    (np.vecdot, (A, B), {"axes": [0, 0]}),
    (np.vecdot, (A, B), {"axes": [(0,), (0,), ()]}),
    (np.matmul, (A, B), {"axes": [(0, 1), (1, 0), (0, 2)]}),
    (np.matmul, (A, V), {"axes": [(0, 2), (0,), (1,)]}),
    (np.matvec, (A, V), {"axes": [(1, 2), 0, 0]}),
    (np.vecmat, (V, A), {"axes": [0, (2, 0), 0]}),
    (np.add, (A, B), {"dtype": np.float32}),
    (np.add, (A, B), {"dtype": complex}),
    (np.add, (A, 2), {"casting": "no"}),
    (np.add, (A, NARROW), {"casting": "safe"}),
    (np.greater, (A, B), {"dtype": bool}),
    (np.isnan, (A,), {"dtype": bool}),
    (np.sin, (A,), {"dtype": "f4"}),
    (np.matmul, (A, A.transpose(0, 2, 1)), {"dtype": "f4"}),
]
REFUSED: list[tuple[Any, tuple, dict[str, Any]]] = [
    (np.vecdot, (A, V), {"axis": 0}),
    (np.vecdot, (A, B), {"axis": 7}),
    (np.vecdot, (A, B), {"axes": [0, 0], "axis": 0}),
    (np.matmul, (A, B), {"axis": 0}),
    (np.matmul, (A, B), {"keepdims": True}),
    (np.add, (A, B), {"dtype": np.float32, "casting": "safe"}),
    (np.add, (A, B), {"dtype": int}),
    (np.add, (A, 2.5), {"dtype": int}),
    (np.add, (A, 1), {"dtype": "f4", "casting": "no"}),
    (np.add, (A, B), {"casting": "nonsense"}),
    (np.add, (A, NARROW), {"casting": "no"}),
    (np.less, (A, B), {"dtype": "f4"}),
    (np.sqrt, (np.array([1.0, 2.0]),), {"dtype": "f4", "casting": "safe"}),
]


def traced(function: Any, args: tuple, options: dict[str, Any]) -> Any:
    return fg.value_and_grad(lambda x: (0.0 * np.sum(x), function(x, *args[1:], **options)), has_aux=True)(args[0])[0][
        1
    ]


@pytest.mark.parametrize("module", [np, fnp])
@pytest.mark.parametrize(("ufunc", "args", "options"), CALLS)
def test_options(ufunc: Any, args: tuple, options: dict[str, Any], module: Any) -> None:
    function = getattr(module, ufunc.__name__)
    expected = ufunc(*args, **options)
    for y in (
        traced(function, args, options),
        fg.jit(lambda *xs: function(*xs, **options), engine="numpy")(*args),
        fg.jit(lambda *xs: function(*xs, **options))(*args),
    ):
        assert y.dtype == expected.dtype
        np.testing.assert_allclose(y, expected, rtol=1e-12 if expected.dtype.itemsize > 4 else 1e-5, strict=True)


@pytest.mark.parametrize("module", [np, fnp])
@pytest.mark.parametrize(("ufunc", "args", "options"), REFUSED)
def test_refusals(ufunc: Any, args: tuple, options: dict[str, Any], module: Any) -> None:
    with pytest.raises((TypeError, ValueError, IndexError)) as theirs:
        ufunc(*args, **options)
    with pytest.raises(type(theirs.value)):
        traced(getattr(module, ufunc.__name__), args, options)


def test_derivatives_along_other_axes() -> None:
    fg.check_grads(lambda x, y: fnp.vecdot(x, y, axis=1), (A, B))
    fg.check_grads(lambda x, y: np.matmul(x, y, axes=[(0, 1), (1, 0), (0, 2)]), (A, B))
