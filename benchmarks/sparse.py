"""Sparse Jacobians and Hessians of 100,000 unknowns, beside one product, asdex and sparsejac where they are installed.

The peers return JAX's BCOO matrices from compiled functions; ours are SciPy's, with indices of their own.
"""

import functools
import importlib.util
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse as jax_sparse

import funcgrad as fg
from benchmarks._timing import Case, Check, Effort, Suite, interleave

SIZE, QUICK_SIZE = 100_000, 2_500
# Sparsejac colours by networkx, which takes minutes for more unknowns.
MOST_FOR_SPARSEJAC = 10_000


class Problem(NamedTuple):
    """A function written once for NumPy and ``jax.numpy``, and what must be reached.

    Args:
        f: the function, ``f(np, x)``.
        of_gradient: whether its Hessian is sought.
        products: the most colours.
        ratio: the most time of the matrix over that of one product (or one gradient, for a Hessian).
        seconds: the most time of the first call.
    """

    f: Callable[[Any, Any], Any]
    of_gradient: bool
    products: int
    ratio: float | None = None
    seconds: float | None = None


def _broyden(np: Any, x: Any) -> Any:
    y = np.pad(x, 1)
    return (3 - 2 * x) * x + 1 - y[:-2] - 2 * y[2:]


def _rosen(np: Any, x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def _side(x: Any) -> int:
    return round(len(x) ** 0.5)


def _reaction(np: Any, x: Any) -> Any:
    u = x.reshape(_side(x), _side(x))
    p = np.pad(u, 1)
    return (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u + u * (1 - u)).reshape(-1)


def _surface(np: Any, x: Any) -> Any:
    u = x.reshape(_side(x), _side(x))
    return np.sum(np.sqrt(1 + (u[1:] - u[:-1]) ** 2)) + np.sum(np.sqrt(1 + (u[:, 1:] - u[:, :-1]) ** 2))


def _arrow(np: Any, x: Any) -> Any:
    return np.concatenate([np.sum(x**2)[None], x[1:] * x[0] + x[1:] ** 2])


PROBLEMS = {
    "Broyden's tridiagonal Jacobian": Problem(_broyden, False, 3, 8.0, 2.0),
    "Rosenbrock's Hessian": Problem(_rosen, True, 3, 12.0, 3.0),
    "a reaction on a grid": Problem(_reaction, False, 7),
    "the Hessian of a surface's area": Problem(_surface, True, 5),
    "an arrow": Problem(_arrow, False, 3),
}


def _run(name: str, suite: Suite, effort: Effort) -> None:
    problem = PROBLEMS[name]
    size = QUICK_SIZE if effort.quick or name == "an arrow" else SIZE
    side = int(size**0.5)
    size = side * side if problem.f in (_reaction, _surface) else size
    x = np.random.default_rng(0).normal(size=size)
    f = functools.partial(problem.f, np)
    sparse = fg.sparse.hessian if problem.of_gradient else fg.sparse.jacobian
    compute = sparse(f)
    begin = time.perf_counter()
    matrix = compute(x)
    first = time.perf_counter() - begin
    suite.checks.append(Check(f"{name}: the first call", first, "s", problem.seconds))
    products = compute.colors(x).products
    suite.checks.append(Check(f"{name}: products", products, "", problem.products))
    one = fg.grad(f) if problem.of_gradient else lambda x, v: fg.jvp(f, (x,), (v,))[1]
    one = fg.jit(one, engine="numpy")
    given = (x,) if problem.of_gradient else (x, x)
    contenders: dict[str, Callable[[], object]] = {"funcgrad": lambda: compute(x)}
    what = "one gradient" if problem.of_gradient else "one jvp"
    contenders[what] = lambda: one(*given)
    with jax.enable_x64(True):
        for peer, run in _peers(suite, name, problem, x, compute).items():
            rows, columns = compute.structure(x)
            found = run()
            np.testing.assert_allclose(_elements(found, matrix.shape, rows, columns), matrix.data, atol=1e-9)
            contenders[peer] = run
        timed = interleave(contenders, effort.at_most(40))
    limits = dict.fromkeys(set(contenders) & {"asdex", "sparsejac"}, 1.0)
    if problem.ratio is not None:
        limits[what] = problem.ratio
    suite.cases.append(Case(f"{name}, {size:,} unknowns", timed, limits=limits))


def _elements(found: Any, shape: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the elements of a BCOO matrix in the order of ours."""
    coo = import_module("scipy.sparse").coo_array
    indices = np.asarray(found.indices).T
    return np.asarray(coo((np.asarray(found.data), (indices[0], indices[1])), shape=shape).tocsr()[rows, columns])


def _peers(suite: Suite, name: str, problem: Problem, x: np.ndarray, compute: Any) -> dict[str, Callable[[], Any]]:
    f, point = functools.partial(problem.f, jnp), jnp.asarray(x)
    found: dict[str, Callable[[], Any]] = {}
    if importlib.util.find_spec("asdex") is not None:
        asdex: Any = import_module("asdex")
        begin = time.perf_counter()
        kind = "hessian" if problem.of_gradient else "jacobian"
        coloring = getattr(asdex, f"{kind}_coloring")(f, point)
        run = jax.jit(getattr(asdex, f"{kind}_from_coloring")(f, coloring))
        jax.block_until_ready(run(point).data)
        seconds = time.perf_counter() - begin
        suite.notes.append(
            f"{name}: asdex takes {coloring.num_colors} products and {seconds:.2f} s for its first call."
        )
        found["asdex"] = lambda: jax.block_until_ready(run(point))
    if importlib.util.find_spec("sparsejac") is not None and not problem.of_gradient and len(x) <= MOST_FOR_SPARSEJAC:
        sparsejac: Any = import_module("sparsejac")
        rows, columns = compute.structure(x)
        pattern = jax_sparse.BCOO((jnp.ones(len(rows)), jnp.stack([rows, columns], 1)), shape=compute.pattern(x).shape)
        jacobian = jax.jit(sparsejac.jacfwd(f, pattern))
        found["sparsejac"] = lambda: jax.block_until_ready(jacobian(point))
    return found


CASES: dict[str, Callable[[Suite, Effort], None]] = {name: functools.partial(_run, name) for name in PROBLEMS}
