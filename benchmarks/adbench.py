"""ADBench's gmm, ba and ht at its larger sizes, with random data: derivatives beside JAX and PyTorch (float64)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

import funcgrad as fg
from benchmarks import _adbench_peers as peers
from benchmarks._timing import Case, Effort, Suite, interleave
from benchmarks.gradbench import ba as our_ba
from benchmarks.gradbench import gmm as our_gmm
from benchmarks.gradbench import ht as our_ht

ROUNDS = 10
ENGINES = {"funcgrad": "xla", "funcgrad, Numba": "numba", "funcgrad, NumPy": "numpy"}
Run = Callable[[], Any]
# The bones of ADBench's hand: forearm, wrist, then four bones for each finger.
PARENTS = (-1, 0, *(1 if bone % 4 == 0 else bone + 1 for bone in range(20)))


def gmm(suite: Suite, effort: Effort) -> None:
    """Differentiate a mixture's log posterior: 10,000 points, 64 dimensions, 25 components (`gmm_d64_K25`)."""
    n, d, k = (200, 4, 3) if effort.quick else (10_000, 64, 25)
    rng = np.random.default_rng(0)
    shapes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2)}
    given = {name: 0.3 * rng.standard_normal(shape) for name, shape in shapes.items()}
    x = rng.standard_normal((n, d))
    gradient = fg.grad(our_gmm.log_posterior)
    contenders: dict[str, Run] = {
        name: partial(fg.jit(gradient, static_argnames=("m",), engine=engine), given, x, 1.0, m=0)
        for name, engine in ENGINES.items()
    }
    their_x, theirs = jnp.asarray(x), [jnp.asarray(each) for each in given.values()]
    by_jax = jax.jit(jax.grad(lambda parameters, x: peers.log_posterior(jnp, parameters, x, 1.0, 0)))
    contenders["JAX"] = partial(by_jax, theirs, their_x)
    held, torch_x = [torch.tensor(each, requires_grad=True) for each in given.values()], torch.tensor(x)

    def by_torch() -> Any:
        return torch.autograd.grad(peers.log_posterior(torch, held, torch_x, 1.0, 0), held)

    contenders["PyTorch"] = by_torch
    _measure(suite, effort, f"gmm: {n:,} points, d = {d}, K = {k}", contenders)


def ba(suite: Suite, effort: Effort) -> None:
    """Compute a bundle adjustment's sparse Jacobian: 161 cameras, 48,126 points, 182,072 observations (`ba3`)."""
    n, m, p = (5, 20, 60) if effort.quick else (161, 48_126, 182_072)
    rng = np.random.default_rng(0)
    cameras, points = rng.uniform(0.1, 1.0, (n, our_ba.CAMERA)), rng.uniform(1.0, 3.0, (m, 3))
    weights, features = rng.uniform(0.5, 1.0, p), rng.standard_normal((p, 2))
    seen = np.stack([rng.integers(0, n, p), rng.integers(0, m, p)], axis=1)
    contenders: dict[str, Run] = {
        name: partial(_by_camera, fg.jit(our_ba.blocks, engine=engine), (cameras, points, weights, features, seen))
        for name, engine in ENGINES.items()
    }
    rows = (cameras[seen[:, 0]], points[seen[:, 1]], weights, features)
    by_jax = jax.jit(jax.vmap(jax.jacfwd(partial(peers.reprojection_error, jnp), (0, 1, 2))))
    contenders["JAX"] = partial(by_jax, *map(jnp.asarray, rows))
    by_torch = torch.func.vmap(torch.func.jacfwd(partial(peers.reprojection_error, torch), (0, 1, 2)))
    contenders["PyTorch"] = partial(by_torch, *map(torch.tensor, rows))
    _measure(suite, effort, f"ba: {n} cameras, {m:,} points, {p:,} observations", contenders)


def ht(suite: Suite, effort: Effort) -> None:
    """Compute the dense Jacobian of a hand's distances by its 26 angles: 544 vertices, 10,000 points."""
    v, n = (20, 30) if effort.quick else (544, 10_000)
    rng, bones = np.random.default_rng(0), len(PARENTS)
    weights = rng.uniform(0, 1, (v, bones))
    hand = our_ht.Hand(
        rng.standard_normal((bones, 4, 4)) / 2,
        rng.standard_normal((bones, 4, 4)) / 2,
        np.concatenate([rng.standard_normal((v, 3)), np.ones((v, 1))], axis=1),
        weights / weights.sum(axis=1, keepdims=True),
        rng.standard_normal((n, 3)),
        rng.integers(0, v, (n, 1)),
    )
    theta = rng.uniform(0.1, 0.5, 26)
    static = ("parents", "is_mirrored")
    contenders: dict[str, Run] = {
        name: partial(
            fg.jit(our_ht.jacobian, static_argnames=static, engine=engine),
            *(theta, None, hand),
            parents=PARENTS,
            is_mirrored=False,
        )
        for name, engine in ENGINES.items()
    }
    corners = hand.corners[:, 0]
    for name, xp, make in (("JAX", jnp, jnp.asarray), ("PyTorch", torch, torch.tensor)):
        held = SimpleNamespace(**{each: make(value) for each, value in hand._asdict().items() if each != "corners"})
        contenders[name] = _of_hand(xp, held, corners, make(theta))
    _measure(suite, effort, f"ht: {v} vertices, {n:,} points, 26 angles", contenders)


def _of_hand(xp: Any, hand: Any, corners: np.ndarray, theta: Any) -> Run:
    def distances(theta: Any) -> Any:
        return hand.points - peers.vertices(xp, theta, hand, PARENTS)[corners]

    if xp is torch:
        return lambda: torch.func.jacfwd(distances)(theta).reshape(-1, 26)
    jacobian = jax.jit(jax.jacfwd(distances))
    return lambda: jacobian(theta).reshape(-1, 26)


def _by_camera(blocks: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the derivatives by cameras, points and weights."""
    entries, _ = blocks(*arguments)
    return entries[..., : our_ba.CAMERA], entries[..., our_ba.CAMERA : -1], entries[..., -1]


def _measure(suite: Suite, effort: Effort, name: str, contenders: dict[str, Run]) -> None:
    ready = {who: partial(_finished, run) for who, run in contenders.items()}
    wanted = [np.asarray(leaf) for leaf in fg.tree.leaves(contenders["funcgrad"]())]
    for who, run in contenders.items():
        found = run()
        # A dict's leaves come in the order of its names, and gmm's names are in another order than its list.
        leaves = sorted((np.asarray(leaf) for leaf in fg.tree.leaves(found)), key=np.size)
        for a, b in zip(leaves, sorted(wanted, key=np.size), strict=True):
            np.testing.assert_allclose(a, b, 1e-6, 1e-8 * np.max(np.abs(b)), err_msg=f"{name}: {who}")
    suite.cases.append(Case(name, interleave(ready, effort.at_most(ROUNDS))))


def _finished(run: Run) -> Any:
    return jax.block_until_ready(run())


def _in_double(case: Callable[[Suite, Effort], None]) -> Callable[[Suite, Effort], None]:
    """Return a case that runs with float64 in JAX."""

    def run(suite: Suite, effort: Effort) -> None:
        with jax.enable_x64(True):
            case(suite, effort)

    return run


CASES: dict[str, Callable[[Suite, Effort], None]] = {
    "gmm": _in_double(gmm),
    "ba": _in_double(ba),
    "ht": _in_double(ht),
}
