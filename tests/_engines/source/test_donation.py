"""Donated arguments: a step writes into the memory of the values that it replaces, and refuses shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg


def step(params: Any, state: Any, gradients: Any) -> tuple[Any, Any]:
    return fg.sgd_update(gradients, state, params)


def given(n: int = 40) -> tuple[Any, Any, Any]:
    params = {"w": np.linspace(0, 1, n * n).reshape(n, n), "b": np.linspace(-1, 1, n)}
    state = fg.sgd_init(params, lr=0.1, momentum=0.9, weight_decay=1e-3)
    return params, state, fg.tree.map(np.cos, params)


def arrays(tree: Any) -> list[np.ndarray]:
    return [leaf for leaf in fg.tree.leaves(tree) if isinstance(leaf, np.ndarray) and leaf.ndim]


# Arrays of 40 fit into the processor's cache. For arrays of 200 a program reuses memory.
@pytest.mark.parametrize("n", [3, 40, 200])
def test_a_donated_step_writes_into_what_it_replaces(n: int) -> None:
    fresh, donating = fg.jit(step, engine="numpy"), fg.jit(step, engine="numpy", donate_argnums=(0, 1))
    wanted, mine = given(n)[:2], given(n)[:2]
    gradients = given(n)[2]
    places = [id(x) for x in arrays(mine)]
    kept = [x.copy() for x in arrays(gradients)]
    for _ in range(3):
        before = [x.copy() for x in arrays(wanted)]
        previous = wanted
        wanted, mine = fresh(*wanted, gradients), donating(*mine, gradients)
        for x, y in zip(arrays(wanted), arrays(mine), strict=True):
            np.testing.assert_array_equal(x, y, strict=True)
        # Arrays that are not donated keep their numbers.
        for x, y in zip(arrays(previous), before, strict=True):
            np.testing.assert_array_equal(x, y)
    assert sorted(places) == sorted(id(x) for x in arrays(mine))
    for x, y in zip(arrays(gradients), kept, strict=True):
        np.testing.assert_array_equal(x, y)


def combined(x: Any, y: Any) -> Any:
    return np.sin(x) * 2 + y[0]


READ_ONLY = np.ones((2, 2))
READ_ONLY.flags.writeable = False
BASE = np.arange(12.0)
OVERLAPPING = np.lib.stride_tricks.as_strided(np.arange(4.0), (2, 2), (8, 8))
BYTES = bytearray(64)

REFUSED: dict[str, tuple[Any, Any, str]] = {
    "read only": (READ_ONLY, np.ones(2), r"argument 0 \(x\) of combined is donated.* It cannot be written to; needed"),
    "overlapping elements": (OVERLAPPING, np.ones(2), "Its elements overlap; needed"),
    "the same array": (BASE.reshape(3, 4), BASE.reshape(3, 4), r"shares memory with argument 1 \(y\) of combined"),
    "a view of it": (BASE.reshape(3, 4), BASE[3:7], "shares memory with argument 1"),
    "two views of one buffer": (np.frombuffer(BYTES).reshape(2, 4), np.frombuffer(BYTES)[:4], "shares memory"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_others_see_is_refused(name: str) -> None:
    x, y, message = REFUSED[name]
    kept = x.copy(), y.copy()
    jitted = fg.jit(combined, engine="numpy", donate_argnums=0)
    jitted(np.ones(x.shape), np.ones(y.shape))
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            jitted(x, y)
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(y, kept[1])


def test_the_leaf_is_named_and_static_arguments_are_counted() -> None:
    def scaled(power: int, tree: Any, *, by: Any) -> Any:
        return fg.tree.map(lambda x: x**power * by, tree)

    jitted = fg.jit(scaled, engine="numpy", static_argnums=0, donate_argnums=1)
    x = np.ones(3)
    with pytest.raises(
        ValueError, match=r"argument 1 \(tree\) of scaled at \['a'\] is .* argument \['by'\] of scaled;"
    ):
        jitted(2, {"a": x, "b": np.ones(3)}, by=x)
    made = jitted(2, {"a": x, "b": np.ones(3)}, by=2.0)
    np.testing.assert_array_equal(made["a"], 2 * np.ones(3))


def test_an_array_that_the_function_closes_over() -> None:
    table = np.arange(6.0)
    jitted = fg.jit(lambda x: x * 2 + table, engine="numpy", donate_argnums=0)
    np.testing.assert_array_equal(jitted(np.ones(6)), 2 + table)
    np.testing.assert_array_equal(jitted(np.ones(6)), 2 + np.arange(6.0))


DONATED: dict[str, Callable[[], Any]] = {
    "apart in one array": lambda: np.arange(12.0).reshape(2, 6)[:, ::2],
    "turned": lambda: np.arange(6.0).reshape(3, 2).T,
    "backwards": lambda: np.arange(6.0).reshape(2, 3)[::-1, ::-1],
    "narrow": lambda: np.arange(6, dtype=np.float32).reshape(2, 3),
    "empty": lambda: np.zeros((0, 3)),
    "integers": lambda: np.arange(6).reshape(2, 3),
    "a number": lambda: 1.5,
    "0-d": lambda: np.array(1.5),
}

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "a chain": lambda x: np.exp(-x) * 2 + 1,
    "itself and more": lambda x: (x, x * 2),
    "a view and more": lambda x: (np.reshape(x, (-1,)), x * 2),
    "its transpose beside it": lambda x: x * 2 + np.sum(x.T),
    "read twice": lambda x: (np.sin(x) * x, np.cos(x) * x),
    "a product": lambda x: x + np.matmul(x, x.T).sum() if np.ndim(x) else x + 1,
    "a write": lambda x: fg.numpy.at(x)[..., 0].set(0) if np.ndim(x) else x,
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("name", DONATED)
def test_donated_arrays_of_all_kinds(name: str, program: str) -> None:
    f = PROGRAMS[program]
    wanted = fg.jit(f, engine="numpy")(DONATED[name]())
    jitted = fg.jit(f, engine="numpy", donate_argnums=-1)
    for _ in range(2):
        got = jitted(DONATED[name]())
        for y, z in zip(fg.tree.leaves(got), fg.tree.leaves(wanted), strict=True):
            np.testing.assert_array_equal(y, z, strict=True)


def test_a_donated_result_shares_no_memory_with_another() -> None:
    jitted = fg.jit(lambda x: (x * 2, x.reshape(-1), x[1:]), engine="numpy", donate_argnums=0)
    found = jitted(np.arange(6.0).reshape(3, 2))
    for i, y in enumerate(found):
        assert not any(np.shares_memory(y, z) for z in found[:i])
