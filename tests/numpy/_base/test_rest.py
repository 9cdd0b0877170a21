"""``import funcgrad.numpy as np``: every public name of NumPy's is there, and takes traced values or refuses them."""

import pickle
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp


@pytest.mark.parametrize("name", ["ndarray", "errstate", "hamming", "r_", "random", "vectorize", "promote_types"])
def test_names_of_numpys_that_are_not_written_out(name: str) -> None:
    assert getattr(fnp, name) is getattr(np, name)


def test_every_public_name_is_there() -> None:
    assert [name for name in np.__all__ if not hasattr(fnp, name)] == []
    with pytest.raises(AttributeError, match=r"^module 'funcgrad\.numpy' has no attribute 'foo', and numpy has no"):
        _ = fnp.foo


def test_writes_under_ours_names() -> None:
    def f(x: Any) -> Any:
        z = fnp.zeros((3, 3))
        fnp.copyto(z, x[:, None])
        fnp.fill_diagonal(z, 2 * x)
        fnp.put(z, [1, 8], x[:2] ** 2)
        fnp.putmask(z, np.eye(3, k=-1, dtype=bool), 5.0)
        fnp.put_along_axis(z, np.array([[2]]), x[0], axis=1)
        return fnp.sum(fnp.asanyarray(z) * fnp.arange(9.0).reshape(3, 3))

    x = np.array([1.0, 2.0, 3.0])
    steps = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(fg.grad(f)(x), steps, rtol=1e-6)
    # For plain arrays they are NumPy's functions, which write to the arrays.
    z = np.zeros(3)
    fnp.put(z, [0, 2], [1.0, 3.0])
    np.testing.assert_array_equal(z, [1.0, 0.0, 3.0])


def test_traced_values_are_not_pickled() -> None:
    def f(x: Any) -> Any:
        pickle.dumps({"x": x})
        return x.sum()

    with pytest.raises(fg.errors.UnsupportedFunctionError, match=r"^pickle: it met a traced value f64\[2\] under grad"):
        fg.grad(f)(np.ones(2))
