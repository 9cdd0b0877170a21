"""Donation by name, and the programs that a compiled function keeps."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import funcgrad as fg


def step(x: Any, state: Any) -> Any:
    return 2 * x, state + x


def by_name_only(x: Any, *, state: Any) -> Any:
    return 2 * x, state + x


@pytest.mark.parametrize("f", [step, by_name_only], ids=lambda f: f.__name__)
def test_donation_by_name(f: Any) -> None:
    compiled = fg.jit(f, donate_argnames="state")
    x, state = jnp.ones(4, jnp.float32), jnp.ones(4, jnp.float32)
    assert np.array_equal(compiled(x, state=state)[1], [2.0] * 4)
    assert (x.is_deleted(), state.is_deleted()) == (False, True)
    on_numpy = fg.jit(f, donate_argnames=["state"], engine="numpy")
    memory = np.ones(4)
    assert on_numpy(np.ones(4), state=memory)[1] is memory
    assert np.array_equal(memory, [2.0] * 4)


def test_a_donated_name_holds_for_positions_too() -> None:
    x, state = jnp.ones(4, jnp.float32), jnp.ones(4, jnp.float32)
    fg.jit(step, donate_argnames="state")(x, state)
    assert (x.is_deleted(), state.is_deleted()) == (False, True)
    x, state = jnp.ones(4, jnp.float32), jnp.ones(4, jnp.float32)
    fg.jit(step, donate_argnums=0, donate_argnames="state")(x, state)
    assert (x.is_deleted(), state.is_deleted()) == (True, True)


def test_names_that_cannot_be_donated() -> None:
    with pytest.raises(ValueError, match="jit: donate_argnames of step has 'nothing', and there is no such argument"):
        fg.jit(step, donate_argnames="nothing")
    with pytest.raises(ValueError, match="argument state of by_name_only is both in donate_argnames and static"):
        fg.jit(by_name_only, donate_argnames="state", static_argnames="state")
    with pytest.raises(TypeError, match=r"donate_argnames of step contains a int; .* Use donate_argnums"):
        fg.jit(step, donate_argnames=[1])  # pyright: ignore[reportArgumentType]  (refused)


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_the_cache_can_be_counted_and_cleared(engine: str) -> None:
    staged = []

    def twice(x: Any) -> Any:
        staged.append(None)
        return 2 * x

    f = fg.jit(twice, engine=engine)
    for x in (1.0, 2.0, 3, np.ones(2), np.zeros(2)):
        f(x)
    assert f.cache_size() == len(staged) == 3
    f.clear_cache()
    assert f.cache_size() == 0
    assert float(f(4.0)) == 8.0
    assert f.cache_size() == 1
    assert len(staged) == 4


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_the_cache_of_paths(engine: str) -> None:
    f = fg.jit(lambda x: x if x > 0 else -x, paths=4, engine=engine)
    assert [float(f(x)) for x in (1.0, -2.0, 3.0)] == [1.0, 2.0, 3.0]
    assert f.cache_size() == 2
    f.clear_cache()
    assert f.cache_size() == 0
    assert float(f(-4.0)) == 4.0
