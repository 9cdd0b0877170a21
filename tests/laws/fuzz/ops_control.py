"""Samplers of loops, branches, checkpoints, custom rules and transforms in the middle of a program.

``lib`` has them by funcgrad's names; on plain NumPy they are what they mean: loops and calls (`modules.py`).
"""

from __future__ import annotations

from tests.laws.fuzz.draw import Draw
from tests.laws.fuzz.table import op

BODIES = (
    "np.sin(c) * 0.5 + c",
    "c * 0.9 + 0.1",
    "np.tanh(c) + np.mean(c)",
    "np.where(c > 0, c, 0.5 * c)",
    "c[::-1] * c",
    "np.exp(-c * c)",
    "np.maximum(c, 0.25 * c)",
    "c - np.sum(c) * 0.1",
    "np.sort(c)",
    "np.flip(c) + 1",
    "np.cumsum(c, axis=-1)",
)


def _double(d: Draw, least: int = 1) -> str:
    return d.array(least, lambda x: x.dtype == float and x.size > 0)


def _body(d: Draw, x: str) -> str:
    """Draw a function that keeps the type. It may close over another value of the same shape."""
    body = d.rng.choice(BODIES)
    if d.chance(0.3):
        v = d.value(x)
        other = d.name(lambda y: y.shape in {v.shape, ()} and y.dtype == float)
        body = f"{body} * {other}"
    return body


@op("fori_loop", 0.5)
def _fori_loop(d: Draw) -> str:
    x = _double(d)
    step = d.one("", " + 0.1 * i", " * (i + 1)")
    return f"lib.fori_loop(0, {d.integer(0, 3)}, lambda i, c: {_body(d, x)}{step}, {x})"


@op("scan", 0.7)
def _scan(d: Draw) -> str:
    xs = _double(d, 1)
    v = d.value(xs)
    init = d.one(f"{xs}[0]", d.name(lambda y: y.shape == v.shape[1:] and y.dtype == float))
    step = d.one(
        "(c * 0.5 + t, c * t)", "(np.sin(c) + t, np.sum(c))", "(np.where(t > c, t, c), t)", "(t, c)", "(c, c * t)"
    )
    reverse = d.one("", "", ", reverse=True")
    return f"lib.scan(lambda c, t: {step}, {init}, {xs}{reverse})[{d.integer(0, 1)}]"


@op("while_loop", 0.3)
def _while_loop(d: Draw) -> str:
    x = _double(d)
    body = d.one("np.cos(s[1]) * s[1]", "s[1] * 1.5", "np.flip(s[1])")
    return f"lib.while_loop(lambda s: s[0] < {d.integer(0, 3)}, lambda s: (s[0] + 1, {body}), (0, {x}))[1]"


@op("cond", 0.5)
def _cond(d: Draw) -> str:
    x = _double(d)
    test = d.one(f"np.sum({x}) > 0", f"np.any({x} > 1)", "True")
    return f"lib.cond({test}, lambda c: {_body(d, x)}, lambda c: {_body(d, x)}, {x})"


@op("wrapped", 1)
def _wrapped(d: Draw) -> str:
    x = _double(d)
    return (
        f"lib.{d.one('checkpoint', 'jit_numpy', 'custom_vjp', 'custom_jvp', 'jit_xla')}(lambda c: {_body(d, x)})({x})"
    )


@op("vmap", 0.5)
def _vmap(d: Draw) -> str:
    x = _double(d, 2)
    return f"lib.vmap(lambda c: {_body(d, x)})({x})"


@op("vmap of cond", 0.5)
def _vmap_of_cond(d: Draw) -> str:
    """Draw a condition on each row, whose index is out of bounds in rows that do not take the side."""
    x = _double(d, 2)
    row = f"np.argmax(np.reshape(c, (len(c), -1))[:, 0]) + {d.integer(1, 2)}"
    side = d.one(f"c * c[{row}]", f"np.sin(c[{row}]) + c")
    return f"lib.vmap(lambda c: lib.cond({row} < len(c), lambda c: {side}, lambda c: {_body(d, x)}, c))({x})"
