"""``vmap``: axes and prefixes, errors, other transforms within and around it, loops, custom rules, and training."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import (
    ConcretizationTypeError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    TreeMismatchError,
    UnexpectedTracerError,
)
from tests._transforms._rows import ENGINES, RNG, SCALES, XS, YS, W, assert_same, looped, loss


def test_prefixes_of_the_arguments() -> None:
    def f(tree: Any, scale: Any, label: str, *, shift: Any) -> Any:
        assert label == "label"
        return {"a": tree["pair"][0] * scale + shift, "b": (tree["pair"][1], tree["rest"])}

    tree = {"pair": (XS, YS.T), "rest": np.ones(2)}
    got = fg.vmap(f, in_axes=({"pair": (0, -1), "rest": None}, 0, None))(tree, SCALES, "label", shift=SCALES)
    rows = [f({"pair": (XS[i], YS[i]), "rest": np.ones(2)}, SCALES[i], "label", shift=SCALES[i]) for i in range(5)]
    assert_same(got, fg.tree.map(lambda *x: np.stack(x), *rows))


def test_prefixes_of_the_results() -> None:
    def f(x: Any) -> Any:
        return {"a": (x, np.sum(x)), "b": np.outer(x, x), "c": 3.0, "d": "text"}

    got = fg.vmap(f, out_axes={"a": (1, 0), "b": -1, "c": 0, "d": None})(XS)
    wanted = [f(x) for x in XS]
    np.testing.assert_array_equal(got["a"][0], XS.T)
    np.testing.assert_allclose(got["a"][1], XS.sum(1), rtol=1e-15)
    np.testing.assert_array_equal(got["b"], np.stack([row["b"] for row in wanted], axis=-1))
    np.testing.assert_array_equal(got["c"], np.full(5, 3.0))
    assert got["d"] == "text"
    assert fg.vmap(lambda x, y: (x, y), in_axes=(0, None), out_axes=(0, None))(XS, 2.0)[1] == 2.0


def test_nested_and_axes_in_the_middle() -> None:
    table = fg.vmap(fg.vmap(np.dot, in_axes=(None, 0)), in_axes=(0, None))(XS, 2 * XS)
    np.testing.assert_allclose(table, 2 * XS @ XS.T, rtol=1e-14)
    cube = RNG.normal(size=(2, 3, 4))
    inner = fg.vmap(lambda x: x - np.sum(x), in_axes=1, out_axes=1)
    np.testing.assert_allclose(fg.vmap(inner, in_axes=2, out_axes=2)(cube), cube - cube.sum(0), rtol=1e-13)
    assert fg.vmap(fg.vmap(np.sin))(np.ones((0, 3))).shape == (0, 3)


MISTAKES = {
    "axis": (
        lambda: fg.vmap(np.sum, in_axes=2)(XS),
        ValueError,
        r"vmap: in_axes asks for axis 2 of argument 0 \(a\) of sum\. It is f64\[5,4\], which has no axis 2; .*None",
    ),
    "scalar": (
        lambda: fg.vmap(lambda x: x)({"k": 1.0}),
        ValueError,
        r"of argument 0 \(x\) of .* at \['k'\]\. It is f64",
    ),
    "not-an-array": (lambda: fg.vmap(lambda x: x)("abc"), TypeError, r"It is a str; needed an array .* or None"),
    "nothing": (lambda: fg.vmap(np.sum, in_axes=None)(XS), ValueError, "maps no argument of sum; needed at least one"),
    "no-arguments": (lambda: fg.vmap(lambda: 1.0)(), ValueError, "maps no argument"),
    "lengths": (
        lambda: fg.vmap(loss, in_axes=(None, 0, 1))(W, XS, YS),
        TreeMismatchError,
        r"lengths that differ: 5 along axis 0 of argument 1 \(x\) of loss and 3 along axis 1 of argument 2 \(y\)",
    ),
    "lengths-by-name": (
        lambda: fg.vmap(lambda x, y: x + y)(XS, y=np.ones(2)),
        TreeMismatchError,
        "5 along axis 0 of argument 0 .* and 2 along axis 0 of argument y",
    ),
    "count": (lambda: fg.vmap(loss, in_axes=(0, 0))(W, XS, YS), ValueError, "2 entries for the 3 positional .* None"),
    "kind": (lambda: fg.vmap(np.sum, in_axes=0.5)(XS), TypeError, "in_axes of sum has a float; needed ints and None"),
    "prefix": (
        lambda: fg.vmap(lambda d: d["a"], in_axes=({"a": 0},))({"a": XS, "b": XS}),
        TreeMismatchError,
        r"in_axes of <lambda> must be a prefix .* with keys \['a'\]",
    ),
    "out-axis": (
        lambda: fg.vmap(np.sum, out_axes=1)(XS),
        ValueError,
        r"out_axes asks for axis 1 of a result of sum that is f64\[5\] .* needed an axis from -1 to 0",
    ),
    "out-none": (
        lambda: fg.vmap(np.sum, out_axes=None)(XS),
        ValueError,
        r"out_axes is None for a result f64\[\] of sum, which differs from element to element",
    ),
    "out-prefix": (
        lambda: fg.vmap(lambda x: (x, x), out_axes=(0, 0, 0))(XS),
        TreeMismatchError,
        "out_axes of <lambda> must be a prefix",
    ),
    "out-kind": (lambda: fg.vmap(lambda x: (x, "text"))(XS), TypeError, "returned a str; needed arrays or numbers"),
    "branch": (
        lambda: fg.vmap(lambda x: x if x > 0 else -x)(SCALES),
        TracerBoolConversionError,
        r"test_vmap\.py:\d+, and under vmap it stands for one value per element .* np\.where \(or fg\.cond\)",
    ),
    "branch-within": (
        lambda: fg.vmap(fg.grad(lambda x: x * x if x > 0 else -x))(SCALES),
        TracerBoolConversionError,
        r"test_vmap\.py:\d+, and under vmap it stands for one value per element",
    ),
    "float": (lambda: fg.vmap(float)(SCALES), ConcretizationTypeError, "float.* under vmap it stands for one value"),
    "range": (
        lambda: fg.vmap(lambda n: sum(range(n)))(np.arange(3)),
        TracerIntegerConversionError,
        "an integer index .* under vmap .* in_axes=None",
    ),
    "nonzero": (lambda: fg.vmap(np.nonzero)(SCALES), ConcretizationTypeError, "nonzero.* under vmap"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake: str) -> None:
    call, error, message = MISTAKES[mistake]
    with pytest.raises(error, match=message):
        call()
    np.testing.assert_array_equal(fg.vmap(lambda x: 2 * x)(XS), 2 * XS)


def test_a_leak_is_refused() -> None:
    kept: list[Any] = []
    fg.vmap(lambda x: kept.append(x) or x)(XS)
    with pytest.raises(UnexpectedTracerError, match="tracer of a vmap that has ended"):
        np.sin(kept[0])


def test_per_example_gradients() -> None:
    got = fg.vmap(fg.value_and_grad(loss, (0, 1)), in_axes=(None, 0, 0))(W, XS, YS)
    assert_same(got, looped(lambda x, y: fg.value_and_grad(loss, (0, 1))(W, x, y), XS, YS))


@pytest.mark.parametrize("engine", ENGINES)
def test_compiled_within_and_around(engine: str) -> None:
    def f(x: Any, y: Any) -> Any:
        return fg.grad(loss)(W, x, y)

    wanted = looped(f, XS, YS)
    assert_same(fg.jit(fg.vmap(f), engine=engine)(XS, YS), wanted)
    assert_same(fg.vmap(fg.jit(f, engine=engine))(XS, YS), wanted)
    compiled = fg.jit(loss, engine=engine)
    assert_same(fg.vmap(fg.grad(compiled), in_axes=(None, 0, 0))(W, XS, YS), wanted)
    total = fg.grad(lambda w: np.sum(fg.vmap(compiled, in_axes=(None, 0, 0))(w, XS, YS)))
    assert_same(total(W), wanted.sum(0))


def test_between_other_transforms() -> None:
    """Outside: gradient and tangent of a batch. Inside: those of each element. Closures over tracers of both."""

    def batch(w: Any) -> Any:
        return fg.vmap(lambda x, y: loss(w, x, y) * np.sum(w))(XS, YS)

    def each(w: Any) -> Any:
        return np.stack([loss(w, x, y) * np.sum(w) for x, y in zip(XS, YS, strict=True)])

    w_dot = RNG.normal(size=W.shape)
    assert_same(fg.jvp(batch, (W,), (w_dot,)), fg.jvp(each, (W,), (w_dot,)))
    assert_same(fg.grad(lambda w: np.sum(batch(w) ** 2))(W), fg.grad(lambda w: np.sum(each(w) ** 2))(W))
    within = fg.vmap(lambda s: fg.grad(lambda w: loss(s * w, XS[0], YS[0]) * np.sum(s * w))(W))
    assert_same(
        within(SCALES), looped(lambda s: fg.grad(lambda w: loss(s * w, XS[0], YS[0]) * np.sum(s * w))(W), SCALES)
    )
    tangents = fg.vmap(lambda s, d: fg.jvp(lambda w: loss(s * w, XS[0], YS[0]), (W,), (d,))[1])
    directions = RNG.normal(size=(5, 3, 4))
    assert_same(
        tangents(SCALES, directions),
        looped(lambda s, d: fg.jvp(lambda w: loss(s * w, XS[0], YS[0]), (W,), (d,))[1], SCALES, directions),
    )
    mixed = fg.grad(lambda w: np.sum(fg.vmap(lambda s: fg.grad(lambda t: loss(t * w, XS[0], YS[0]))(s))(SCALES)))
    assert_same(
        mixed(W), sum(fg.grad(lambda w, s=s: fg.grad(lambda t: loss(t * w, XS[0], YS[0]))(s))(W) for s in SCALES)
    )


def test_on_xla_arrays_in_double_precision() -> None:
    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(x) for x in (XS, YS)]
    got = fg.vmap(fg.grad(loss), in_axes=(None, 0, 0))(W, *arrays)
    assert isinstance(got, jax.Array)
    assert_same(got, looped(lambda x, y: fg.grad(loss)(W, x, y), XS, YS))


LRS, MOMENTA = np.array([0.01, 0.05, 0.1]), np.array([0.5, 0.9, 0.1])
START = {"w": np.zeros((3, 4)), "b": np.zeros(3)}


def objective(params: Any) -> Any:
    return np.mean((np.tanh(XS @ params["w"].T + params["b"]) - YS) ** 2)


def by_python(state: Any) -> Any:
    params = START
    for _ in range(8):
        params, state = fg.sgd_update(fg.grad(objective)(params), state, params)
    return params, objective(params)


def by_scan(state: Any) -> Any:
    def step(carry: Any, _: None) -> Any:
        params, state = carry
        return fg.sgd_update(fg.grad(objective)(params), state, params), objective(params)

    (params, _), _ = fg.scan(step, (START, state), None, length=8)
    return params, objective(params)


@pytest.mark.parametrize("engine", [None, *ENGINES])
@pytest.mark.parametrize("train", [by_python, by_scan])
def test_a_sweep_over_hyperparameters(train: Any, engine: str | None) -> None:
    """Run trainings for several learning rates and momenta as one program."""
    states = [fg.sgd_init(START, lr=lr, momentum=momentum) for lr, momentum in zip(LRS, MOMENTA, strict=True)]
    wanted = fg.tree.map(lambda *x: np.stack(x), *map(by_python, states))
    wrap = (lambda f: f) if engine is None else lambda f: fg.jit(f, engine=engine)
    stacked = fg.tree.map(lambda *x: np.stack(x), *states)
    assert_same(wrap(fg.vmap(train))(stacked), wanted, 1e-11)

    def sweep(lr: Any, momentum: Any) -> Any:
        return train(states[0].replace(lr=lr, momentum=momentum))

    assert_same(wrap(fg.vmap(sweep))(LRS, MOMENTA), wanted, 1e-11)
    table = wrap(fg.vmap(fg.vmap(lambda lr, m: sweep(lr, m)[1], in_axes=(None, 0)), in_axes=(0, None)))(LRS, MOMENTA)
    assert_same(np.diagonal(table), wanted[1], 1e-11)


TABLE, PLACES = np.arange(12.0).reshape(4, 3), np.array([2, 0])
LOOKUPS: dict[str, Any] = {
    "a row": lambda t, i: t[i],
    "an element": lambda t, i: t[i, 1],
    "a column": lambda t, i: t[:, i],
    "by two": lambda t, i: t[i, i],
    "by a list": lambda t, i: t[[i, 0]],
    "by a computed place": lambda t, i: t[np.argmax(np.cos(t[i]))],
    "of what was computed": lambda t, i: np.sin(t)[i] + (2 * t)[i] + t.T[i % 3].sum() + t[1][i],
    "by known numbers": lambda t, i: t[1] + t[1:, 0] * i,
    "where something is known": lambda t, i: (t[t > 5].sum() if np.any(t > 5) else t[0, 0]) + float(t[1, 1]) + i,
}


LOOKUP_AT_ONCE = {e: fg.jit(fg.vmap(lambda t, i: t[i], (None, 0)), engine=e) for e in ("numpy", "xla")}


@pytest.mark.parametrize("name", LOOKUPS)
def test_what_is_the_same_for_all_is_indexed_by_what_is_not(name: str) -> None:
    f = LOOKUPS[name]
    expected = np.stack([f(TABLE, i) for i in PLACES])
    got = fg.vmap(f, (None, 0))(TABLE, PLACES)
    assert type(got) is np.ndarray
    np.testing.assert_array_equal(got, expected)
    nested = fg.vmap(fg.vmap(f, (None, 0)), (None, 0))(TABLE, PLACES[None])
    np.testing.assert_array_equal(nested, expected[None])


def test_an_argument_that_is_not_mapped_stays_what_it_is() -> None:
    same, mapped = fg.vmap(lambda t, i: (t, t * i), (None, 0), (None, 0))(TABLE, PLACES)
    assert same is TABLE
    assert type(mapped) is np.ndarray
    gradient = fg.vmap(fg.grad(lambda t, i: np.sum(t[i] ** 2)), (None, 0))(TABLE, PLACES)
    np.testing.assert_array_equal(gradient[0], 2 * TABLE * (np.arange(4) == 2)[:, None])
    through = fg.grad(lambda t: np.sum(fg.vmap(lambda t, i: t[i] ** 2, (None, 0))(t, PLACES)))(TABLE)
    np.testing.assert_array_equal(through, 2 * TABLE * np.isin(np.arange(4), PLACES)[:, None])
    for engine in ("numpy", "xla"):
        for order in (fg.vmap(fg.jit(lambda t, i: t[i], engine=engine), (None, 0)), LOOKUP_AT_ONCE[engine]):
            np.testing.assert_array_equal(order(TABLE, PLACES), TABLE[PLACES])
