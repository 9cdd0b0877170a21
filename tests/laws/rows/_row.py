"""A row of the table of primitives: what the laws need to try one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from funcgrad._core.primitive import Primitive

Sampler = Callable[[np.random.Generator, tuple[int, ...], np.dtype], np.ndarray]


@dataclass(frozen=True)
class Row:
    """One way to call a primitive.

    Args:
        primitive: the primitive.
        operands: per operand a shape, to be sampled (and differentiated), or an array, passed as it is (indices,
            predicates; floats in the precision of what is sampled).
        params: the primitive's parameters.
        sample: where operands are drawn from: ``normal``, ``positive`` (0.5 to 2), ``unit`` (-0.9 to 0.9),
            ``above_one`` (1.1 to 3), ``distinct`` (no two closer than 0.05), or a function of (rng, shape, dtype).
        complex: whether the primitive also takes complex operands; ``"only"`` where it takes no others.
        differentiable: whether it carries derivatives at all; comparisons, rounding and argmax do not.
        dtypes: the dtypes of sampled operands, where the parameters fix them (a graph has types of its own).
        tolerance: of float64 results against finite differences, relative to their size.
        reads_values: whether it looks at the value of an operand where it runs at once (a branch at its condition).
        beyond_jax: why JAX cannot differentiate the XLA implementation, which we differentiate by our own rule.
        elsewhere: why the laws of derivatives do not apply, and what holds the primitive's derivative instead.
        name: what tells this row from others of the same primitive.
    """

    primitive: Primitive
    operands: tuple[Any, ...]
    params: dict[str, Any] = field(default_factory=dict)
    sample: str | Sampler = "normal"
    complex: bool | Literal["only"] = False
    differentiable: bool = True
    dtypes: tuple[str, ...] = ()
    tolerance: float = 1e-6
    reads_values: bool = False
    elsewhere: str = ""
    beyond_jax: str = ""
    name: str = ""

    @property
    def id(self) -> str:
        return f"{self.primitive.name}{f'-{self.name}' if self.name else ''}"
