"""A thousand random runs of SGD against PyTorch: options, trees, dtypes, missing gradients, groups, packing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg

pytestmark = pytest.mark.long

DTYPES = ("float32", "float64", "float16", "bfloat16", "complex64", "complex128")
# Rounding errors of a run, in units of the dtype's epsilon: half precision is rounded once per step here, and after
# every operation there.
ROUNDING = 40

shapes = st.sampled_from([(), (1,), (3,), (2, 2), (0, 2)])
subtrees = st.recursive(
    shapes.map(lambda shape: np.zeros(shape, np.int8)),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.sampled_from("uvw"), children, max_size=3),
    max_leaves=5,
)


@dataclass(frozen=True)
class Run:
    tree: dict[str, Any]
    dtype: str
    groups: dict[str, dict[str, Any]]
    lrs: list[dict[str, float]]
    missing: list[int]
    foreach: bool | None
    seed: int


@st.composite
def options(draw: Any) -> dict[str, Any]:
    momentum = draw(st.sampled_from([0.0, 0.5, 0.9]))
    nesterov = momentum > 0 and draw(st.booleans())
    return {
        "momentum": momentum,
        "dampening": 0.0 if nesterov else draw(st.sampled_from([0.0, 0.3, 1.0])),
        "weight_decay": draw(st.sampled_from([0.0, 0.1])),
        "nesterov": nesterov,
        "maximize": draw(st.booleans()),
    }


@st.composite
def runs(draw: Any) -> Run:
    names = draw(st.sampled_from(["a", "ab", "abc"]))
    steps = draw(st.integers(1, 6))
    rates = st.sampled_from([0.0, 0.01, 0.1])
    return Run(
        tree={name: draw(subtrees) for name in names},
        dtype=draw(st.sampled_from(DTYPES)),
        groups={name: draw(options()) for name in names},
        lrs=[{name: draw(rates) for name in names} for _ in range(steps)],
        missing=[draw(st.sampled_from([0, 0, 0, 0b1, 0b1010, 0b11111])) for _ in range(steps)],
        foreach=draw(st.sampled_from([None, True, False])),
        seed=draw(st.integers(0, 2**16)),
    )


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers that the dtype holds exactly, on both sides."""
    x = rng.standard_normal(shape)
    x = x + 1j * rng.standard_normal(shape) if "complex" in dtype else x
    return np.asarray(x).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def to_torch(torch: Any, x: np.ndarray) -> Any:
    bfloat16 = x.dtype == ml_dtypes.bfloat16
    return torch.tensor(x.astype(np.float32)).to(torch.bfloat16) if bfloat16 else torch.tensor(x)


def from_torch(torch: Any, x: Any) -> np.ndarray:
    return (x.detach().float() if x.dtype == torch.bfloat16 else x.detach()).numpy().astype(complex)


def prefix(run: Run, name: str) -> Any:
    """One value where all groups share it, else a tree of them."""
    values = {group: options[name] for group, options in run.groups.items()}
    return next(iter(values.values())) if len(set(values.values())) == 1 else values


def gradients(run: Run) -> list[list[np.ndarray | None]]:
    rng = np.random.default_rng(run.seed)
    leaves = fg.tree.leaves(run.tree)
    every = [[drawn(rng, leaf.shape, run.dtype) for leaf in leaves] for _ in run.lrs]
    return [
        [None if mask >> i & 1 else g for i, g in enumerate(row)] for row, mask in zip(every, run.missing, strict=True)
    ]


def ours(run: Run, params: Any, update: Any = fg.sgd_update) -> list[Any]:
    treedef = fg.tree.structure(params)
    names = next(iter(run.groups.values()))
    state = fg.sgd_init(params, lr=run.lrs[0], foreach=run.foreach, **{name: prefix(run, name) for name in names})
    structure = fg.tree.structure(state)
    for lr, row in zip(run.lrs, gradients(run), strict=True):
        grads = fg.tree.unflatten(treedef, row)
        params, state = update(grads, state.replace(lr=lr), params)
        assert fg.tree.structure(state) == structure
    return fg.tree.leaves(params)


def theirs(torch: Any, run: Run, params: Any) -> list[Any]:
    groups = {name: [to_torch(torch, x).requires_grad_() for x in fg.tree.leaves(params[name])] for name in run.groups}
    given = [{"params": tensors, **run.groups[name]} for name, tensors in groups.items() if tensors]
    order = [tensor for name in sorted(groups) for tensor in groups[name]]
    if not given:
        return []
    optimizer = torch.optim.SGD(given, lr=0.1)
    for lr, row in zip(run.lrs, gradients(run), strict=True):
        for group, name in zip(optimizer.param_groups, [name for name in groups if groups[name]], strict=True):
            group["lr"] = lr[name]
        for tensor, g in zip(order, row, strict=True):
            tensor.grad = None if g is None else to_torch(torch, g)
        optimizer.step()
    return [from_torch(torch, tensor) for tensor in order]


def initial(run: Run) -> Any:
    rng = np.random.default_rng(run.seed + 1)
    return fg.tree.map(lambda leaf: drawn(rng, leaf.shape, run.dtype), run.tree)


def assert_close(found: list[Any], expected: list[Any], dtype: str) -> None:
    epsilon = float(ml_dtypes.finfo(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype).eps)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(x).astype(complex), y, rtol=0, atol=ROUNDING * epsilon)


@settings(max_examples=1000)
@given(runs())
def test_numpy(torch: Any, run: Run) -> None:
    params = initial(run)
    assert_close(ours(run, params), theirs(torch, run, params), run.dtype)


@settings(max_examples=15)
@given(runs())
def test_compiled_is_the_same(run: Run) -> None:
    params = initial(run)
    found = ours(run, params, fg.jit(fg.sgd_update))
    expected = [np.asarray(x).astype(complex) for x in ours(run, params)]
    assert_close(found, expected, run.dtype)
    assert all(isinstance(x, jax.Array | np.ndarray | np.float64 | np.complex128) for x in found)
