"""The laws of forward passes of higher order: every primitive with derivatives obeys them, by its rows in ``rows/``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.laws._cases import Arrays, Case, assert_close, assert_types, cases, like
from tests.laws.rows._row import Row
from tests.laws.test_derivatives import SMOOTH

REAL = [row for row in SMOOTH if row.complex != "only"]


def point_of(row: Row, imaginary: tuple[str, ...] = ()) -> list[tuple[Case, Any, Arrays]]:
    """Each case of a row with its function and the point."""
    found = []
    for case in cases([row], real=("float64",), imaginary=imaginary):
        operands = case.operands(np.random.default_rng(0))
        found.append((case, case.function(operands), [operands[i] for i in case.drawn]))
    return found


@pytest.mark.parametrize("row", REAL, ids=[row.id for row in REAL])
def test_laplacian_is_the_sum_of_second_derivatives(row: Row) -> None:
    for case, f, xs in point_of(row):
        weights = like(np.random.default_rng(1), f(*xs))

        def loss(xs: Arrays, f: Any = f, weights: Arrays = weights) -> Any:
            # The sine gives a result that is linear a Laplacian that is not zero.
            pairs = zip(f(*xs), weights, strict=True)
            return sum((np.sum(np.sin(np.real(y * w)) + np.imag(y) ** 2) for y, w in pairs), np.float64(0))

        def second(*x_dots: Any, loss: Any = loss, xs: Arrays = xs) -> Any:
            return fg.jvp(lambda xs: fg.jvp(loss, (xs,), (list(x_dots),))[1], (list(xs),), (list(x_dots),))[1]

        total = sum(x.size for x in xs)
        ends = np.cumsum([x.size for x in xs])[:-1]
        bases = [
            part.reshape(total, *x.shape) for part, x in zip(np.split(np.eye(total), ends, axis=1), xs, strict=True)
        ]
        expected = np.sum(fg.vmap(second)(*bases)) if total else 0.0
        got = fg.laplacian(loss)(list(xs))
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * max(1.0, abs(expected)), err_msg=case.id)


# Nested forward mode takes two to three times longer for each order.
ORDER = 3


def nested(f: Any, xs: Arrays, terms: list[Arrays]) -> list[Arrays]:
    """The derivatives of the results along a curve, order by order, by a nest of ``jvp``."""
    factors = np.cumprod(np.arange(1.0, len(terms) + 1))

    def start(t: Any) -> Arrays:
        points = list(xs)
        for k, (term, factor) in enumerate(zip(terms, factors, strict=True), 1):
            points = [x + t**k * (x_dot / factor) for x, x_dot in zip(points, term, strict=True)]
        return f(*points)

    found, inner = [], start
    for _ in terms:

        def curve(t: Any, inner: Any = inner) -> Arrays:
            return fg.jvp(inner, (t,), (1.0,))[1]

        inner = curve
        found.append(curve(0.0))
    return found


@pytest.mark.parametrize("row", SMOOTH, ids=[row.id for row in SMOOTH])
def test_jet_is_a_nest_of_jvp(row: Row) -> None:
    for _, f, xs in point_of(row, imaginary=("complex128",)):
        # Small terms keep the operands inside of their domains.
        terms = [[x / 8 for x in like(np.random.default_rng(k), xs)] for k in range(ORDER)]
        # Derivatives of a branch that is not selected may be infinite.
        with np.errstate(all="ignore"):
            expected = nested(f, xs, terms)
            out, got = fg.jet(f, tuple(xs), tuple([list(each) for each in zip(*terms, strict=True)]))
        assert_close(out, f(*xs), 1e-12)
        for k in range(ORDER):
            found = [each[k] for each in got]
            assert_types(found, f(*xs))
            assert_close(found, expected[k], 1e-8)
