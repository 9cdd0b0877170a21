"""The logger ``funcgrad`` reports each staging and compilation, and the reason for each repetition."""

from __future__ import annotations

import logging
import re
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

W, LONG = np.ones(2), np.ones(3)
# Two calls in a row, and the reason for the second staging.
REASONS: dict[str, tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...], dict[str, Any], str]] = {
    "shape": (
        ({"w": W}, 3),
        {},
        ({"w": LONG}, 3),
        {},
        r"\(p\) of f at \['w'\] was f64\[2\] and is f64\[3\]",
    ),
    "dtype": (({"w": W}, 3), {}, ({"w": W.astype("f")}, 3), {}, r"at \['w'\] was f64\[2\] and is f32\[2\]"),
    "Python number": (
        ({"w": W}, 3, 1.0),
        {},
        ({"w": W}, 3, np.float64(1)),
        {},
        r"argument 2 \(x\) of f was f64\[\], a Python number and is f64\[\]",
    ),
    "static position": (({"w": W}, 3), {}, ({"w": W}, 4), {}, r"the static argument 1 \(n\) of f was 3 and is 4"),
    "static name": (({"w": W}, 3), {}, ({"w": W}, 3), {"mode": "b"}, "argument mode of f was not passed and is 'b'"),
    "structure": (
        ({"w": W}, 3),
        {},
        ({"w": W, "b": W}, 3),
        {},
        r"argument 0 \(p\) of f had the structure .* and has",
    ),
    "by name": (({"w": W}, 3, W), {}, ({"w": W}, 3), {"x": W}, "other arguments were passed by position or by name"),
}


def f(p: Any, n: int, x: Any = 1.0, *, mode: str = "a") -> Any:
    return {"y": p["w"] * n + x, "mode": 1 if mode == "a" else 2}


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("name", REASONS)
def test_why_it_is_staged_again(name: str, engine: str, caplog: pytest.LogCaptureFixture) -> None:
    args, kwargs, other_args, other_kwargs, reason = REASONS[name]
    compiled = partial(fg.jit, static_argnums=1, static_argnames="mode", engine=engine)(f)
    with caplog.at_level(logging.DEBUG, "funcgrad"):
        compiled(*args, **kwargs)
        compiled(*args, **kwargs)
        compiled(*other_args, **other_kwargs)
    messages = [record.getMessage() for record in caplog.records if record.name == "funcgrad"]
    assert len(messages) == 4
    first, built, again, _ = messages
    assert first.startswith("jit: staged f in ")
    assert "Again" not in first
    assert "called at test_log.py:" in first
    assert f"staged, compiled and ran f on {engine} in " in built
    caplog.clear()
    assert re.search(f"Again, because .*{reason}", again), again


def test_silent_by_default(caplog: pytest.LogCaptureFixture) -> None:
    fg.jit(f, static_argnums=1, engine="numpy")({"w": W}, 3)
    assert not [record for record in caplog.records if record.name == "funcgrad"]


def test_long_steps_have_the_level_info(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = fg.jit(f, static_argnums=1, engine="numpy")
    with caplog.at_level(logging.INFO, "funcgrad"):
        compiled({"w": W}, 3)
        assert not caplog.records
        monkeypatch.setattr("funcgrad._transforms.compiled.log._LONG", 0.0)
        compiled({"w": LONG}, 3)
    staged, built = [record.getMessage() for record in caplog.records]
    assert re.search(r"staged f in \d+\.\d s, \d+ equations", staged)
    assert re.search(r"staged, compiled and ran f on numpy in \d+\.\d s", built)


def test_the_time_of_a_build_includes_kernels_that_the_first_run_compiles(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message comes after the first run, which calls the user's Python here."""
    order: list[str] = []

    def called(x: Any) -> Any:
        order.append("ran")
        return x

    monkeypatch.setattr("funcgrad._transforms.compiled.log.compiled", lambda *_: order.append("reported"))
    compiled = fg.jit(lambda x: fg.call_numpy(called, fg.ShapeDtype((2,), float), x), engine="numba")
    compiled(W)
    compiled(W)
    assert order == ["ran", "reported", "ran"]
