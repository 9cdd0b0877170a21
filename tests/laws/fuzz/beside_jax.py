"""Comparison of derivatives with JAX's, in 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np

import funcgrad as fg
from tests.laws.fuzz.case import Case
from tests.laws.fuzz.compare import difference
from tests.laws.fuzz.derivable import Derivable, nearby, slope_of, spread
from tests.laws.fuzz.derivatives import by_jax
from tests.laws.fuzz.modules import JAX

# A derivative from a function, the arguments and the cotangents, as leaves.
Leaves = Callable[..., list[Any]]


def beside_jax(case: Case, rng: Random) -> Iterator[str]:
    """Return JAX's derivatives if the function has any and gives NumPy's values.

    A difference counts where it is one at inputs nearby, too: at kinks JAX's choices are not all ours.
    """
    if not case.double or not case.sloped:
        return
    d = Derivable(case, rng)
    if d.empty or slope_of(case, d) is None:
        return
    theirs = Derivable(case, rng, JAX)
    theirs.arguments = d.arguments
    try:
        ys = by_jax(theirs.f, *d.arguments)[0]
    except Exception:  # noqa: BLE001  (not a program of JAX)
        return
    if any(difference(np.asarray(case.results[i]), np.asarray(y)) for i, y in zip(case.floats, ys, strict=True)):
        return
    for name, which, ours in (("vjp", 1, _pulled), ("jvp", 2, _pushed)):
        given = lambda f, *arguments, which=which: [np.asarray(y) for y in fg.tree.leaves(by_jax(f, *arguments)[which])]
        found = _differences(name, d, theirs, d.tree, ours, given)
        if found and _differences(name, d, theirs, nearby(d), ours, given):
            yield from found


def _pulled(f: Any, t: Any, t_dot: Any, y_bars: Any) -> list[Any]:
    del t_dot
    return fg.tree.leaves(fg.vjp(f, t)[1](y_bars)[0])


def _pushed(f: Any, t: Any, t_dot: Any, y_bars: Any) -> list[Any]:
    del y_bars
    return fg.tree.leaves(fg.jvp(f, (t,), (t_dot,))[1])


def _differences(name: str, d: Derivable, theirs: Derivable, tree: Any, ours: Leaves, given: Leaves) -> list[str]:
    """Compare the derivatives at some inputs. They may differ by as much as rounding changes either."""
    found = []
    arguments = (tree, d.t_dot, d.y_bars)
    for i, (x, y) in enumerate(zip(ours(d.f, *arguments), given(theirs.f, *arguments), strict=True)):
        # A zero tangent or cotangent times infinity is NaN if JAX carries it as numbers.
        known = np.isfinite(y)
        cast = np.asarray(x).astype(y.dtype)
        wrong = difference(y[known], cast[known], f"jax {name}")
        if wrong is not None:
            gap = np.max(np.abs(cast - y), initial=0, where=known)
            far = [
                spread(lambda *near, i=i, by=by: np.asarray(by(*near)[i]), of)
                for by, of in ((ours, d), (given, theirs))
            ]
            if not gap <= 10 * max(far):
                found.append(wrong)
    return found
