"""Calls that are tried of SciPy's module and of ours: eagerly, traced, staged, batched, and some on XLA.

What they are made of is tried there primitive by primitive; compiling all of them takes longer than all else here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad.tree import leaves
from tests.laws._together import result, run_together
from tests.numpy._surface import same

# ``call(module, *arrays)``, and the arrays.
Call = tuple[Callable[..., Any], tuple[Any, ...]]


def agree(
    ours: Any, scipys: Any, calls: Mapping[str, Call], on_xla: Collection[str] = (), tolerance: float = 1e-12
) -> None:
    """SciPy's values, shapes and dtypes, and derivatives against differences; of some of both orders, and on XLA."""
    programs = {}
    for name, (call, args) in calls.items():
        expected = [np.asarray(y) for y in leaves(call(scipys, *args))]

        def function(*xs: Any, call: Callable[..., Any] = call) -> list[Any]:
            return list(leaves(call(ours, *xs)))

        ways = [function(*args), fg.make_graph(function)(*args)(*args)]
        moving = all(np.asarray(x).dtype.kind in "fc" for x in args)
        if moving:
            ways.append(fg.jvp(function, args, args)[0])
            order = 2 if name in on_xla else 1
            fg.check_grads(lambda *xs, f=function: [y for y in f(*xs) if y.dtype.kind in "fc"], args, order)
        twice = fg.vmap(function)(*[np.stack([x, x]) for x in args])
        for found in (*ways, [y[1] for y in twice]):
            assert len(found) == len(expected), name
            for y, value in zip(found, expected, strict=True):
                same(y, value, tolerance)
        if name in on_xla:
            programs[name] = (function, list(args))
    compiled = run_together(programs)
    for name in programs:
        call, args = calls[name]
        for y, value in zip(result(compiled, name), leaves(call(scipys, *args)), strict=True):
            same(y, np.asarray(value), max(tolerance, 1e-11))
