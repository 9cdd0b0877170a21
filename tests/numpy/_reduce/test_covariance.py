"""``numpy.cov`` and ``numpy.corrcoef`` with NumPy's options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.numpy._surface import check_surface, same

OPTIONS = {
    "plain": {},
    "columns": {"rowvar": False},
    "biased": {"bias": True},
    "ddof": {"ddof": 2},
    "counts": {"fweights": np.array([1, 2, 0, 3, 1])},
    "weights": {"aweights": np.array([1.5, 2, 0.5, 3, 1]), "ddof": 1},
    "both": {"fweights": np.array([1, 2, 0, 3, 1]), "aweights": np.array([1.5, 2, 0.5, 3, 1])},
}


@pytest.mark.parametrize("options", OPTIONS)
def test_covariances(options: str, rng: np.random.Generator) -> None:
    given = OPTIONS[options]
    x = rng.normal(size=(5, 3) if options == "columns" else (3, 5))
    check_surface(lambda m, x: m.cov(x, **given), [x])
    check_surface(lambda m, x, y: m.cov(x, y, **given), [x, x[::-1] ** 2])
    check_surface(lambda m, x: m.cov(x, **given), [x + 1j * x[::-1]])
    check_surface(lambda m, x: m.cov(x, **given), [x[:, 0] if options == "columns" else x[0]])


def test_correlations(rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 5))
    check_surface(lambda m, x: m.corrcoef(x), [x])
    check_surface(lambda m, x: m.corrcoef(x, rowvar=False), [x])
    check_surface(lambda m, x, y: m.corrcoef(x, y), [x, x[0] ** 2])
    check_surface(lambda m, x: m.corrcoef(x), [x + 1j * x[::-1]])
    check_surface(lambda m, x: m.corrcoef(x), [x[0]])
    fg.check_grads(lambda x: np.corrcoef(x)[0, 1], (x,), order=2)


def test_differentiated_by_weights(rng: np.random.Generator) -> None:
    x, w = rng.normal(size=(2, 5)), rng.uniform(0.5, 2, 5)
    for ddof in (0, 1):
        fg.check_grads(lambda w, ddof=ddof: np.cov(x, aweights=w, ddof=ddof), (w,), order=2)
        f = fg.jit(lambda w, ddof=ddof: np.cov(x, aweights=w, ddof=ddof))
        np.testing.assert_allclose(f(w), np.cov(x, aweights=w, ddof=ddof), rtol=1e-12)


def test_dtypes_and_edges(rng: np.random.Generator) -> None:
    x: Any = rng.normal(size=(2, 4))
    for each in (x.astype(np.float32), x.astype(int), x[:1], np.zeros((0, 3))):
        same(fg.make_graph(np.cov)(each)(each), np.cov(each), 1e-6)
    same(fg.make_graph(lambda x: np.cov(x, dtype=np.float32))(x)(x), np.cov(x, dtype=np.float32), 1e-6)
    f = fg.make_graph(lambda x: np.cov(x))
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"), np.errstate(all="ignore"):
        f(x[:, :1])(x[:, :1])
    for error, match, g in (
        (ValueError, "more than 2 dimensions", lambda x: np.cov(x[None])),
        (ValueError, "must be integer", lambda x: np.cov(x, ddof=0.5)),
        (RuntimeError, "incompatible numbers", lambda x: np.cov(x, aweights=np.ones(3))),
        (ValueError, "cannot be negative", lambda x: np.cov(x, aweights=-np.ones(4))),
        (TypeError, "fweights must be integer", lambda x: np.cov(x, fweights=np.full(4, 0.5))),
    ):
        with pytest.raises(error, match=match):
            fg.make_graph(g)(x)
