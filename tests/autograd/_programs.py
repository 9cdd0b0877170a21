"""Programs that run alike on PyTorch's tensors and on ours: each takes a namespace and leaves, and returns a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[..., Any]

PROGRAMS: dict[str, tuple[Program, tuple[tuple[int, ...], ...]]] = {
    "polynomial": (lambda a, b: 3 * a**3 - b**2, ((2,), (2,))),
    "broadcast": (lambda a, b: a * b + b / (2 + a * a), ((3, 2), (2,))),
    "matmul": (lambda a, b: (a @ b) @ b.T, ((3, 2), (2, 4))),
    "used twice": (lambda a: a * a + a, ((3,),)),
    "same gradient for two": (lambda a, b: a + b, ((3,), (3,))),
    "index": (lambda a: a[0] * a[1] + a[-1], ((4,),)),
    "slices": (lambda a: a[:, 1:] * a[:, :-1], ((3, 4),)),
    "sum over an axis": (lambda a: a.sum(1) ** 2, ((3, 4),)),
    "mean": (lambda a: (a - a.mean()) ** 2, ((5,),)),
    "reshape": (lambda a: a.reshape(2, 3) @ a.reshape(3, 2), ((6,),)),
    "scalar": (lambda a: a * a * 2.5, ((),)),
    "methods": (lambda a: a.exp() + a.tanh() - a.sin() * a.cos(), ((3,),)),
    "clone": (lambda a: a.clone() * 3, ((3,),)),
    "power of tensors": (lambda a, b: (a * a + 1) ** b, ((3,), (3,))),
    "negative": (lambda a: -a + 1 - a, ((2, 1),)),
}


def leaves_of(name: str) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(map(ord, name)))
    return [rng.standard_normal(shape) for shape in PROGRAMS[name][1]]


def derivatives(make: Callable[[np.ndarray], Any], grad: Callable[..., Any], name: str) -> list[np.ndarray]:
    """Value, gradients, and the gradients of the gradients' weighted sum."""
    leaves = [make(x) for x in leaves_of(name)]
    y = PROGRAMS[name][0](*leaves)
    weights = [make(np.cos(np.arange(np.prod(x.shape, dtype=int))).reshape(x.shape)).detach() for x in [y, *leaves]]
    firsts = grad((y * weights[0]).sum(), leaves, create_graph=True)
    total: Any = sum((first * weight).sum() for first, weight in zip(firsts, weights[1:], strict=True))
    found = [y, *firsts]
    if total.requires_grad:
        zeros = grad(total, leaves, allow_unused=True)
        found += [leaf * 0 if bar is None else bar for leaf, bar in zip(leaves, zeros, strict=True)]
    return [np.asarray(x.detach().numpy()) for x in found]
