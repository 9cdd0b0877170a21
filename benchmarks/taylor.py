"""Derivatives of order 8 against a nest of jvp and JAX's Taylor mode; Laplacians against the trace of the Hessian."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.jet import jet

import funcgrad as fg
from benchmarks._timing import Case, Effort, Suite, interleave

ORDER = 8
OURS, NESTED, HESSIAN = "funcgrad", "five nested jvp", "trace of the Hessian"


def _chain(xp: ModuleType) -> Callable[[Any], Any]:
    return lambda x: xp.log(1 + xp.exp(xp.tanh(xp.sin(x) * x) + xp.cos(x) ** 2)) / (1 + x * x)


def _nested(f: Callable[[Any], Any], times: int) -> Callable[[Any], Any]:
    if not times:
        return f
    return _nested(lambda x: fg.jvp(f, (x,), (np.ones_like(x),))[1], times - 1)


def chains(suite: Suite, effort: Effort) -> None:
    """Compute derivatives along the diagonal, eagerly on NumPy and compiled for NumPy and by XLA (float64)."""

    def ours(x: Any) -> Any:
        return fg.jet(_chain(np), (x,), ([np.ones_like(x), *[0] * (ORDER - 1)],))

    def peer(x: Any) -> Any:
        return jet(_chain(jnp), (x,), ([jnp.ones_like(x), *[jnp.zeros_like(x)] * (ORDER - 1)],))

    five = _nested(_chain(np), 5)
    for size in (10, 10_000):
        x = np.linspace(0.2, 0.9, size)
        with jax.enable_x64(True):
            array = jnp.asarray(x)
            compiled = jax.jit(peer).lower(array).compile()
        for mine, theirs in zip(ours(x)[1], compiled(array)[1], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-8)
        eager: dict[str, Callable[[], Any]] = {OURS: lambda x=x: ours(x), NESTED: lambda x=x: five(x)}
        suite.cases.append(
            Case(f"order {ORDER} of {size:,} numbers", interleave(eager, effort.at_most(30)), limits={NESTED: 1.0})
        )
        plain = {name: fg.jit(f, engine="numpy") for name, f in ((OURS, ours), (NESTED, five))}
        written: dict[str, Callable[[], Any]] = {name: lambda x=x, f=f: f(x) for name, f in plain.items()}
        name = f"order {ORDER} of {size:,} numbers, compiled for NumPy"
        suite.cases.append(Case(name, interleave(written, effort.at_most(30)), limits={NESTED: 1.0}))
        ours_compiled, five_compiled = fg.jit(ours), fg.jit(five)
        contenders: dict[str, Callable[[], Any]] = {
            OURS: lambda x=x, f=ours_compiled: jax.block_until_ready(f(x)),
            NESTED: lambda x=x, f=five_compiled: jax.block_until_ready(f(x)),
            "JAX's jet, jitted": lambda f=compiled, x=array: jax.block_until_ready(f(x)),
        }
        samples = interleave(contenders, effort.at_most(30))
        suite.cases.append(Case(f"order {ORDER} of {size:,} numbers, compiled by XLA", samples))


def laplacians(suite: Suite, effort: Effort) -> None:
    """Compute the Laplacian of a network of two layers by its 20 inputs, on NumPy (float64)."""
    rng = np.random.default_rng(0)
    for hidden in (32, 256):
        first, second, last = (rng.normal(size=s) / 5 for s in ((20, hidden), (hidden, hidden), (hidden,)))

        def network(x: Any, first: Any = first, second: Any = second, last: Any = last) -> Any:
            return np.tanh(np.tanh(x @ first) @ second) @ last

        def of_hessian(x: Any, f: Callable[..., Any] = network) -> Any:
            return np.trace(fg.hessian(f)(x))

        x = rng.normal(size=20)
        ours = fg.laplacian(network)
        np.testing.assert_allclose(ours(x), of_hessian(x), rtol=1e-9)
        both = {OURS: ours, HESSIAN: of_hessian}
        ways = {"eagerly": both, "compiled": {name: fg.jit(f, engine="numpy") for name, f in both.items()}}
        for way, functions in ways.items():
            contenders = {name: lambda f=f, x=x: f(x) for name, f in functions.items()}
            samples = interleave(contenders, effort)
            name = f"Laplacian of a network 20-{hidden}-{hidden}-1, {way}"
            suite.cases.append(Case(name, samples, limits={HESSIAN: 0.6}))


CASES: dict[str, Callable[[Suite, Effort], None]] = {"chains": chains, "laplacians": laplacians}
