"""Messages about staged values: the argument that a value depends on, and the line of a leaked one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TracerBoolConversionError, TracerIntegerConversionError, UnexpectedTracerError


def branching(p: Any, n: int, x: Any, k: Any = 1.0) -> Any:
    return x if p["w"].sum() * n > k else -x


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_a_branch_names_the_arguments(engine: str) -> None:
    """The message is right even if arguments before them are static."""
    p = {"w": np.ones(2), "b": 1.0}
    with pytest.raises(TracerBoolConversionError, match=r"depends on argument 0 \(p\) of branching at \['w'\]\. Comp"):
        fg.jit(branching, static_argnums=1, static_argnames="k", engine=engine)(p, 3, 1.0)
    with pytest.raises(TracerBoolConversionError, match=r"at \['w'\], argument k of branching\. Compute"):
        fg.jit(branching, static_argnums=1, engine=engine)(p, 3, 1.0, k=2.0)
    with pytest.raises(TracerBoolConversionError, match=r"depends on argument 1 \(x\) of <lambda>"):
        fg.jit(lambda n, x: x if x > n else -x, static_argnums=0, engine=engine)(3, 1.0)
    with pytest.raises(TracerIntegerConversionError, match=r"depends on argument 0 \(n\) of <lambda>"):
        fg.jit(lambda n: sum(range(n)), engine=engine)(3)
    with pytest.raises(TracerBoolConversionError, match=r"depends on argument 0 \(p\) of branching at"):
        fg.make_graph(branching)(p, 3, 1.0)


def test_a_leaked_value_names_its_line() -> None:
    kept = []

    def leaky(x: Any, y: Any) -> Any:
        z = np.sin(x)
        kept.extend([z, y])
        return z

    fg.jit(leaky, engine="numpy")(1.0, 2.0)
    line = leaky.__code__.co_firstlineno + 1
    with pytest.raises(UnexpectedTracerError, match=rf"of a jit that has ended; it was made at test_stage.py:{line}\."):
        np.sin(kept[0])
    with pytest.raises(UnexpectedTracerError, match=r"of a jit that has ended; it is argument 1 \(y\) of leaky\."):
        np.sin(kept[1])


LEAKS = {
    "grad": (lambda f, x: fg.grad(f)(x), "of a grad", r", as the result of sin\."),
    "jvp": (lambda f, x: fg.jvp(f, (x,), (x,)), "of a jvp", r"\."),
    "vmap": (lambda f, x: fg.vmap(f)(np.array([x, x])), "of a vmap", r"\."),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_leaked_value_names_its_function(name: str) -> None:
    kept = []

    def leaky(x: Any) -> Any:
        kept.append(np.sin(x))
        return kept[0] * 2.0

    call, transform, end = LEAKS[name]
    call(leaky, 1.0)
    where = rf"it was made in leaky \(test_stage.py:{leaky.__code__.co_firstlineno}\)"
    with pytest.raises(UnexpectedTracerError, match=rf"{transform} that has ended; {where}{end}"):
        np.sin(kept[0])


def test_a_length_that_is_traced() -> None:
    """NumPy's own error gets a note, because NumPy replaces ours."""
    for make in (np.zeros, lambda n: np.full(n, 2.0)):
        with pytest.raises(TypeError, match="a single integer") as caught:
            fg.jit(make, engine="numpy")(3)
        (note,) = caught.value.__notes__
        assert "NumPy was given a value i64[] as a length, which is traced under jit" in note
        assert "static_argnums" in note
    with pytest.raises(TracerIntegerConversionError, match=r"at test_stage.py:\d+, and under jit"):
        fg.jit(lambda n: np.ones((n, 2)), engine="numpy")(3)
