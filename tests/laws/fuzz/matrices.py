"""Sparse matrices, Taylor mode and Laplacians of random programs, beside dense matrices and nested forward mode."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

import funcgrad as fg
from tests.laws.fuzz.case import Case
from tests.laws.fuzz.derivable import Derivable

# Rounding errors of higher derivatives are larger than those of values; a value between may be of a narrow dtype, and
# the two ways round it in another order.
_FIRST, _HIGHER, _NARROW = 1e-9, 1e-6, 20.0


class _Flat:
    """The real results of a program as one vector, and as a function of all real inputs as one vector."""

    def __init__(self, case: Case, rng: Random) -> None:
        d = Derivable(case, rng)
        leaves = [np.asarray(x) for x in fg.tree.leaves(d.tree)]
        results = [np.asarray(case.results[i]) for i in case.floats]
        self.usable = not d.empty and case.finite and all(x.dtype == np.float64 for x in [*leaves, *results])
        if self.usable:
            self.v, ends = np.concatenate([x.ravel() for x in leaves]), np.cumsum([x.size for x in leaves])
            treedef, shapes = fg.tree.structure(d.tree), [x.shape for x in leaves]

            def f(v: Any) -> Any:
                parts = [part.reshape(shape) for part, shape in zip(np.split(v, ends[:-1]), shapes, strict=True)]
                return np.concatenate([np.ravel(y) for y in d.f(fg.tree.unflatten(treedef, parts))])

            self.f = f
            self.weights = np.random.default_rng(rng.randint(0, 99)).normal(size=np.shape(self.f(self.v)))
            self.total = lambda v: np.sum(np.sin(self.weights * self.f(v)))
            self.usable = self.v.size < 40


def sparse(case: Case, rng: Random) -> Iterator[str]:
    """Compare sparse Jacobians and Hessians with dense ones."""
    flat = _Flat(case, rng)
    if flat.usable:
        mode = rng.choice([None, "forward", "both"])
        found, expected = fg.sparse.jacobian(flat.f, mode=mode)(flat.v), fg.jacfwd(flat.f)(flat.v)
        first, second = max(_FIRST, _NARROW * case.eps), max(_HIGHER, 10 * _NARROW * case.eps)
        yield from _differ(f"sparse jacobian, mode {mode}", found.toarray(), expected, first)
        yield from _differ("sparse hessian", fg.sparse.hessian(flat.total)(flat.v).toarray(), _hessian(flat), second)


def taylor(case: Case, rng: Random) -> Iterator[str]:
    """Compare Taylor mode with nested forward mode, and the Laplacian with the Hessian's trace."""
    flat, higher = _Flat(case, rng), max(_HIGHER, 10 * _NARROW * case.eps)
    if flat.usable:
        v_dot = np.random.default_rng(rng.randint(0, 99)).normal(size=flat.v.shape)
        _, terms = fg.jet(flat.f, (flat.v,), ([v_dot, 0, 0],))
        pushed, nested = flat.f, list[Any]()
        for _ in terms:
            pushed = _pushed(pushed, v_dot)
            nested.append(np.asarray(pushed(flat.v)))
        # Equal eigenvalues have a first derivative only.
        if np.isfinite(nested).all():
            for k, (term, expected) in enumerate(zip(terms, nested, strict=True)):
                yield from _differ(f"jet of order {k + 1}", term, expected, higher)
        # As forward mode, it multiplies an infinite slope by a zero.
        expected = np.trace(fg.jacfwd(fg.jacfwd(flat.total))(flat.v))
        yield from _differ("laplacian", fg.laplacian(flat.total)(flat.v), expected, higher)


def _pushed(f: Any, v_dot: np.ndarray) -> Any:
    return lambda v: fg.jvp(f, (v,), (v_dot,))[1]


def _hessian(flat: _Flat) -> Any:
    return fg.hessian(flat.total)(flat.v)


def _differ(what: str, got: Any, expected: Any, eps: float) -> Iterator[str]:
    got, expected = np.asarray(got), np.asarray(expected)
    size = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    if got.shape != expected.shape:
        yield f"{what}: shape {got.shape}, expected {expected.shape}"
    # An infinite slope times a zero is NaN in some ways of computing a derivative and 0 in others.
    elif np.isfinite(expected).all() and np.isfinite(got).all() and not np.allclose(got, expected, eps, eps * size):
        at = np.unravel_index(np.argmax(np.abs(got - expected)), got.shape)
        yield f"{what}: {got[at]:.9g}, expected {expected[at]:.9g}"
