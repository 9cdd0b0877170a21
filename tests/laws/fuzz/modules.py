"""The meaning of ``np``, ``special`` and ``lib`` on each side: plain NumPy, funcgrad's names, JAX."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.scipy.special as jax_special
import numpy as np
import scipy.special

import funcgrad as fg

Function = Callable[..., Any]


def _same(f: Function) -> Function:
    return f


def _plain_scan(f: Function, init: Any, xs: Any, reverse: bool = False) -> tuple[Any, Any]:
    carry, ys = init, []
    rows = range(len(xs))
    for i in reversed(rows) if reverse else rows:
        carry, y = f(carry, xs[i])
        ys.append(y)
    return carry, np.stack(ys[::-1] if reverse else ys)


def _plain_fori(low: int, high: int, body: Function, init: Any) -> Any:
    for i in range(low, high):
        init = body(i, init)
    return init


def _plain_while(test: Function, body: Function, init: Any) -> Any:
    while test(init):
        init = body(init)
    return init


def custom_vjp(f: Function) -> Function:
    """``f`` with a rule that is its own derivative."""
    g = fg.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, y_bar: fg.vjp(f, x)[1](y_bar))
    return g


def custom_jvp(f: Function) -> Function:
    g = fg.custom_jvp(f)
    g.defjvp(lambda primals, tangents: fg.jvp(f, primals, tangents))
    return g


PLAIN_LIB = SimpleNamespace(
    scan=_plain_scan,
    fori_loop=_plain_fori,
    while_loop=_plain_while,
    cond=lambda p, f, g, *xs: f(*xs) if p else g(*xs),
    vmap=lambda f: lambda xs: np.stack([f(x) for x in xs]),
    **dict.fromkeys(("checkpoint", "jit_numpy", "jit_xla", "custom_vjp", "custom_jvp"), _same),
)
OUR_LIB = SimpleNamespace(
    scan=fg.scan,
    fori_loop=fg.fori_loop,
    while_loop=fg.while_loop,
    cond=fg.cond,
    vmap=fg.vmap,
    checkpoint=fg.checkpoint,
    jit_numpy=lambda f: fg.jit(f, engine="numpy"),
    jit_xla=fg.jit,
    custom_vjp=custom_vjp,
    custom_jvp=custom_jvp,
)
JAX_LIB = SimpleNamespace(
    scan=lambda f, init, xs, reverse=False: jax.lax.scan(f, init, xs, reverse=reverse),
    fori_loop=jax.lax.fori_loop,
    while_loop=jax.lax.while_loop,
    cond=jax.lax.cond,
    vmap=jax.vmap,
    **dict.fromkeys(("checkpoint", "jit_numpy", "jit_xla", "custom_vjp", "custom_jvp"), _same),
)


def _expm1(x: Any) -> Any:
    """SciPy's of a number below 2.2e-308 is 0; NumPy's, which is ours, is the number."""
    y = scipy.special.expm1(x)
    return np.where(np.abs(x) < np.finfo(float).tiny, x, y).astype(y.dtype)[()]


PLAIN_SPECIAL = SimpleNamespace(**{**vars(scipy.special), "expm1": _expm1})
PLAIN = {"np": np, "special": PLAIN_SPECIAL, "lib": PLAIN_LIB}
# SciPy's ufuncs find traced values by NumPy's protocol. The other special functions are called by our name.
SPECIAL = SimpleNamespace(**vars(scipy.special))
for _name in ("logsumexp", "softmax", "log_softmax", "polygamma", "betaln", "digamma"):
    setattr(SPECIAL, _name, getattr(fg.scipy.special, _name))
# A user's file, traced: NumPy's own functions, our loops.
TRACED = {"np": np, "special": SPECIAL, "lib": OUR_LIB}
OURS = {"np": fg.numpy, "special": fg.scipy.special, "lib": OUR_LIB}
# JAX's derivative of ``ldexp`` leaves out the factor where the number is 0; that of the sign of a complex number, 0,
# does not know that the number may turn.
JAX_NUMPY = SimpleNamespace(**vars(jax.numpy))
JAX_NUMPY.ldexp = lambda x, i: x * 2.0**i
JAX_NUMPY.sign = lambda x: x / abs(x) if jax.numpy.iscomplexobj(x) else jax.numpy.sign(x)
# Left of the imaginary axis JAX's derivative of ``arccosh`` is that of the other branch.
JAX_NUMPY.arccosh = lambda x: jax.numpy.log(x + jax.numpy.sqrt(x - 1) * jax.numpy.sqrt(x + 1))
JAX = {"np": JAX_NUMPY, "special": jax_special, "lib": JAX_LIB}
