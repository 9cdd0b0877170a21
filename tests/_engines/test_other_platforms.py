"""Operations that XLA has on CPUs alone have another form elsewhere. The tests run that form on a CPU."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest
import scipy.linalg
import scipy.signal

import funcgrad as fg
import funcgrad.scipy.linalg as fsl
import funcgrad.scipy.signal as fss
from funcgrad._engines.xla.run import lax

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 5, 3))
MATRIX = RNG.standard_normal((4, 4)) + 5 * np.eye(4)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take the forms of platforms other than CPUs."""
    jax.clear_caches()
    monkeypatch.setattr(lax, "platform_dependent", lambda *xs, default, **_: default(*xs))
    yield
    jax.clear_caches()


def written(x: Any, v: Any, *places: Any) -> Any:
    y = x * 1
    y[places] = v
    return y


REPEATED = {
    "rows": ([2, 0, 2],),
    "elements of two axes": ([1, 1, 1], [2, 2, 0]),
    "negative": ([-1, 3, -1, 0],),
    "a table": ([[0, 1], [1, 0]],),
}


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("places", REPEATED.values(), ids=REPEATED)
@pytest.mark.parametrize("known", [False, True])
def test_of_values_written_to_one_place_the_last_stays(places: tuple, known: bool) -> None:
    at = tuple(map(np.array, places))
    v = RNG.standard_normal(X[at].shape)
    got = fg.jit(lambda x, v: written(x, v, *at))(X, v) if known else fg.jit(written)(X, v, *at)
    np.testing.assert_array_equal(got, written(X, v, *at))

    def weighted(x: Any, v: Any) -> Any:
        return np.sum(written(x, v, *at) * np.arange(60.0).reshape(X.shape))

    gradient = fg.grad(weighted, argnums=(0, 1))
    for got, expected in zip(fg.jit(gradient)(X, v), gradient(X, v), strict=True):
        np.testing.assert_allclose(got, expected)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_convolutions_of_integers(mode: Any, dtype: Any) -> None:
    a, v = RNG.integers(0, 9, 20).astype(dtype), RNG.integers(0, 9, 5).astype(dtype)
    np.testing.assert_array_equal(fg.jit(lambda a, v: np.convolve(a, v, mode))(a, v), np.convolve(a, v, mode))
    image, kernel = RNG.integers(0, 9, (7, 8)).astype(dtype), RNG.integers(0, 9, (3, 2)).astype(dtype)
    got = fg.jit(lambda a, v: fss.convolve2d(a, v, mode))(image, kernel)
    np.testing.assert_array_equal(got, scipy.signal.convolve2d(image, kernel, mode))


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_functions_of_matrices_by_schurs_form(name: str) -> None:
    ours: Callable[[Any], Any] = getattr(fsl, name)
    np.testing.assert_allclose(fg.jit(ours)(MATRIX), getattr(scipy.linalg, name)(MATRIX), rtol=1e-10, atol=1e-12)
    gradient = fg.grad(lambda x: np.sum(ours(x) ** 2))
    np.testing.assert_allclose(fg.jit(gradient)(MATRIX), gradient(MATRIX), rtol=1e-9)


@pytest.mark.usefixtures("elsewhere")
def test_sylvesters_equation() -> None:
    b, q = RNG.standard_normal((3, 3)), RNG.standard_normal((4, 3))
    got = fg.jit(fsl.solve_sylvester)(MATRIX, b, q)
    np.testing.assert_allclose(got, scipy.linalg.solve_sylvester(MATRIX, b, q), rtol=1e-10)
    assert np.isnan(fg.jit(fsl.solve_sylvester)(MATRIX * np.nan, b, q)).all()


def test_products_keep_all_digits_unless_the_user_asks_for_fewer() -> None:
    """On GPUs and TPUs JAX's default rounds float32 operands."""
    x = np.ones((8, 8), np.float32)
    program = fg.jit(lambda a, b: a @ b)
    assert "HIGHEST" in str(jax.make_jaxpr(program)(x, x))
    with jax.default_matmul_precision("tensorfloat32"):
        assert "HIGHEST" not in str(jax.make_jaxpr(program)(x, x))
