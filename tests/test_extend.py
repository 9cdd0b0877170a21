"""``fg.extend``: what a third party declares with it is differentiated, batched, staged and compiled as ours."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import extend
from funcgrad._core.primitive import primitives


@pytest.fixture
def declared() -> Iterator[None]:
    """Remove the primitives that a test declares after it."""
    before = dict(primitives)
    yield
    primitives.clear()
    primitives.update(before)


def _turned(x: Any) -> Any:
    return np.roll(np.flip(x, -1), 1, -1)


def circular_convolution(**changed: Any) -> extend.Primitive:
    def xla(lax: Any, a: Any, b: Any) -> Any:
        length = a.shape[-1:]
        return lax.fft(lax.mul(lax.fft(a, "RFFT", length), lax.fft(b, "RFFT", length)), "IRFFT", length)

    fields: dict[str, Any] = {
        "operands": ("a", "b"),
        "numpy": lambda a, b: np.fft.irfft(np.fft.rfft(a) * np.fft.rfft(b), a.shape[-1]).astype(a.dtype),
        "xla": xla,
        "aval": lambda a, b: a,
        "derivative": extend.Multilinear(
            ("a", "b"), [lambda y_bar, b: primitive(y_bar, _turned(b)), lambda y_bar, a: primitive(y_bar, _turned(a))]
        ),
        "batch": extend.batch_all(),
        "cost": lambda y, a, b: 8 * y.size,
    }
    primitive = extend.Primitive(**{"name": "circular_convolution", **fields, **changed})
    return primitive


@pytest.mark.usefixtures("declared")
def test_a_primitive_from_outside_on_both_engines_under_nested_transforms(rng: np.random.Generator) -> None:
    convolve = circular_convolution()
    a, b = rng.standard_normal((2, 4, 5))
    loop = np.stack([[sum(x[j] * y[i - j] for j in range(5)) for i in range(5)] for x, y in zip(a, b, strict=True)])

    def loss(a: Any, b: Any) -> Any:
        return np.sum(convolve(a, b) ** 2)

    gradients = [fg.grad(loss)(x, y) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(fg.vmap(convolve)(a, b), loop)
    fg.check_grads(convolve, (a[0], b[0]))
    for engine in ("numpy", "xla"):
        np.testing.assert_allclose(fg.jit(convolve, engine=engine)(a, b), loop)
        np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(loss)), engine=engine)(a, b), gradients)
    with jax.enable_x64(True):
        np.testing.assert_allclose(convolve(jax.numpy.asarray(a), jax.numpy.asarray(b)), loop)
        for gradient in (fg.grad(loss), jax.jit(fg.grad(loss)), jax.grad(fg.to_jax(loss))):
            np.testing.assert_allclose(gradient(jax.numpy.asarray(a[0]), b[0]), gradients[0])


@pytest.mark.usefixtures("declared")
def test_rules_of_one_operand_run_on_arrays_of_jax() -> None:
    rules = [lambda y_bar, x: y_bar * np.cos(x)], [lambda x_dot, x: np.cos(x) * x_dot]
    sine = extend.Primitive(
        "sine",
        operands=("x",),
        numpy=np.sin,
        xla=lambda lax, x: lax.sin(x),
        aval=lambda x: x,
        derivative=extend.PerOperand(("x",), *rules),
        batch=extend.batch_same,
        cost=lambda y, x: y.size,
    )
    x = np.array([0.5, 2.0])
    slope = lambda x: fg.jvp(fg.grad(lambda x: np.sum(sine(x))), (x,), (x,))
    with jax.enable_x64(True):
        for got, expected in zip(jax.jit(slope)(jax.numpy.asarray(x)), (np.cos(x), -x * np.sin(x)), strict=True):
            np.testing.assert_allclose(got, expected)
    with pytest.raises(ValueError, match=r"PerOperand: the first argument of a rule .* is called 'x'"):
        extend.PerOperand(("x",), [lambda x: x], [None])
    with pytest.raises(TypeError, match="Multilinear: a rule of the operands a b is a ufunc"):
        extend.Multilinear(("a", "b"), [np.sin, None])


@pytest.mark.usefixtures("declared")
def test_a_wrong_transpose_from_outside_is_noticed(rng: np.random.Generator) -> None:
    wrong = [lambda y_bar, b: y_bar * b, lambda y_bar, a: y_bar * a]
    convolve = circular_convolution(derivative=extend.Multilinear(("a", "b"), wrong))
    with pytest.raises(fg.errors.GradientMismatchError, match="argument 0"):
        fg.check_grads(convolve, tuple(rng.standard_normal((2, 5))))


@pytest.mark.usefixtures("declared")
def test_what_has_no_batching_rule_is_refused_by_name() -> None:
    convolve = circular_convolution(batch=None)
    with pytest.raises(NotImplementedError, match="the primitive circular_convolution has no batching rule"):
        fg.vmap(convolve)(np.ones((2, 3)), np.ones((2, 3)))


@pytest.mark.parametrize("name", extend.__all__)
def test_each_name_says_what_it_is(name: str) -> None:
    value = getattr(extend, name)
    if inspect.isfunction(value) or inspect.isclass(value):
        assert value.__doc__
        assert not value.__doc__.startswith(f"{name}(")


def halved(factor: float = 0.5, **options: Any) -> extend.Primitive:
    return extend.elementwise(
        "halved",
        "x",
        numpy=lambda x: factor * x,
        xla=lambda lax, x: lax.mul(x, lax.full_like(x, factor)),
        maps=[lambda t: t * factor],
        **options,
    )


@pytest.mark.usefixtures("declared")
@pytest.mark.parametrize("kind", [list, tuple])
def test_rules_come_as_a_list_or_as_a_tuple(kind: type) -> None:
    def map_of_base(t: Any, a: Any, b: Any) -> Any:
        return t * 2 * a * b

    def map_of_factor(t: Any, a: Any) -> Any:
        return t * a * a

    scaled = extend.elementwise(
        "scaled_square",
        "a b",
        numpy=lambda a, b: a * a * b,
        xla=lambda lax, a, b: lax.mul(lax.mul(a, a), b),
        maps=kind((map_of_base, map_of_factor)),
        jvps=kind((map_of_base, map_of_factor)),
    )
    assert fg.grad(scaled, argnums=(0, 1))(3.0, 2.0) == (12.0, 9.0)
    assert fg.jvp(scaled, (3.0, 2.0), (1.0, 1.0))[1] == 21.0
    assert fg.jit(fg.grad(scaled), engine="numpy")(3.0, 2.0) == 12.0


@pytest.mark.parametrize(
    ("rules", "error", "words"),
    [
        ({"maps": [None]}, ValueError, "maps of 'mine' has 1 rules; needed 2, one per operand of 'a b'"),
        ({"maps": (None,) * 3}, ValueError, "maps of 'mine' has 3 rules; needed 2"),
        ({"maps": [None, None], "jvps": [None]}, ValueError, "jvps of 'mine' has 1 rules; needed 2"),
        ({"maps": np.negative}, TypeError, "maps of 'mine' is a ufunc; needed a list or tuple"),
        ({"maps": None}, TypeError, "maps of 'mine' is a NoneType; needed a list or tuple"),
        ({"maps": [None, None], "jvps": np.negative}, TypeError, "jvps of 'mine' is a ufunc"),
    ],
)
def test_rules_that_are_not_one_per_operand_are_refused(rules: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        extend.elementwise("mine", "a b", numpy=np.multiply, xla="mul", **rules)


@pytest.mark.parametrize("name", ["sin", "pow", "index", "scan", "recursion", "sparse_solve"])
@pytest.mark.parametrize("module", [None, "mine"])
def test_a_name_of_the_librarys_is_refused(name: str, module: str | None) -> None:
    """Engines, rules and pickled graphs know the library's primitives by name."""
    before = dict(primitives)
    said = rf"^primitive {name}: the library has a primitive of this name .* Call it 'my_{name}', for example\.$"
    with pytest.raises(ValueError, match=said):
        extend.elementwise(name, "x", numpy=np.cos, xla="cos", maps=[lambda t, x: -t * np.sin(x)], module=module)
    with pytest.raises(ValueError, match=said):
        extend.predicate(name, "x y", numpy=np.less, xla="lt", module=module)
    with pytest.raises(ValueError, match=said):
        circular_convolution(name=name, module=module)
    assert primitives == before


@pytest.mark.usefixtures("declared")
def test_a_pickled_graph_refers_to_a_primitive_by_module_and_name() -> None:
    mine, yours = halved(0.5, module="mine"), halved(0.25, module="yours")
    for primitive, factor in ((mine, 0.5), (yours, 0.25)):
        graph = fg.make_graph(primitive)(np.ones(2))
        loaded = pickle.loads(pickle.dumps(graph))
        assert loaded == graph
        assert loaded.equations[0].primitive is primitive
        np.testing.assert_array_equal(loaded(np.ones(2)), [factor, factor])
    assert pickle.loads(pickle.dumps(fg.make_graph(np.sin)(1.0))).equations[0].primitive is primitives["sin"]


@pytest.mark.usefixtures("declared")
def test_what_a_pickle_could_mistake_is_refused() -> None:
    nameless = fg.make_graph(halved())(np.ones(2))
    with pytest.raises(pickle.PicklingError, match=r"without its module; .* Declare it with module=__name__\.$"):
        pickle.dumps(nameless)
    assert copy.deepcopy(nameless) == nameless
    before = fg.make_graph(halved(0.5, module="mine"))(np.ones(2))
    data = pickle.dumps(before)
    after = fg.make_graph(halved(0.25, module="mine"))(np.ones(2))
    with pytest.raises(
        pickle.PicklingError, match=r"mine has declared another primitive of this name since, .* Make the graph again"
    ):
        pickle.dumps(before)
    # As of a function that was defined again: what was written down before means the one that is there now.
    assert pickle.loads(data) == after
    np.testing.assert_array_equal(before(np.ones(2)), [0.5, 0.5])
    # The name that multiprocessing gives to the main module in the processes that it spawns.
    spawned = fg.make_graph(halved(0.5, module="__mp_main__"))(np.ones(2))
    assert pickle.loads(pickle.dumps(spawned)) == spawned
    assert primitives["__main__:halved"] is spawned.equations[0].primitive


def test_another_process_imports_the_module_that_declares_a_primitive(tmp_path: Path) -> None:
    (tmp_path / "halves.py").write_text(
        "from funcgrad import extend\n"
        "halved_p = extend.elementwise('halved', 'x', numpy=lambda x: x / 2, xla=lambda lax, x: x / 2,\n"
        "    maps=[lambda t: t / 2], module=__name__)\n"
    )
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    write = "import pickle, sys, numpy as np, funcgrad as fg, halves; graph = fg.make_graph(fg.grad(lambda x: np.sum("
    write += "halves.halved_p(x) ** 2)))(np.ones(2)); sys.stdout.buffer.write(pickle.dumps(graph))"
    read = "import pickle, sys, numpy as np; graph = pickle.load(sys.stdin.buffer); print(graph(np.array([1.0, 4.0])))"
    data = b""
    for program in (write, read):
        done = subprocess.run(
            [sys.executable, "-c", program], input=data, capture_output=True, check=True, env={"PYTHONPATH": paths}
        )
        data = done.stdout
    assert data.decode().strip() == "[0.5 2. ]"


@pytest.mark.usefixtures("declared")
def test_rules_with_functions_of_numpy_run_inside_of_jax(rng: np.random.Generator) -> None:
    """A map's ``np.exp`` meets bare JAX values, also abstract ones, when the function runs on JAX's arrays."""
    power = extend.elementwise(
        "own_power",
        "x n",
        numpy=np.power,
        xla="pow",
        maps=[lambda t, x, n: t * n * np.power(x, n - 1), lambda t, x, n_aval, y: t * y * np.log(x) * n_aval.shape[0]],
    )

    def f(x: Any, n: Any) -> Any:
        return np.sum(np.sin(power(x, n)))

    x, n = 1 + rng.random(3), np.array([1.5, 2.0, 3.0])
    v = rng.standard_normal(3)
    wanted = [fg.grad(f, (0, 1))(x, n), fg.jvp(f, (x, n), (v, v)), fg.hessian(f)(x, n)]
    with jax.enable_x64(True):
        a, b, c = map(jax.numpy.asarray, (x, n, v))
        for wrap in (jax.jit, lambda g: g, fg.to_jax):
            found = [
                wrap(fg.grad(f, (0, 1)))(a, b),
                wrap(lambda a, b, c: fg.jvp(f, (a, b), (c, c)))(a, b, c),
                wrap(fg.hessian(f))(a, b),
            ]
            for one, other in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
                assert isinstance(one, jax.Array)
                np.testing.assert_allclose(one, other, rtol=1e-12)
    # The rule towards n counts its own length, so that a type is among what it reads.
    np.testing.assert_allclose(wanted[0][1], 3 * np.cos(x**n) * x**n * np.log(x), rtol=1e-12)


@pytest.mark.usefixtures("declared")
@pytest.mark.parametrize(
    ("operands", "maps", "text"),
    [
        ("y", [lambda t, y: t * y], "an operand of own is called 'y'; needed another name"),
        ("x x_shape", [lambda t: t, None], "an operand of own is called 'x_shape'"),
        ("y_aval", [None], "an operand of own is called 'y_aval'"),
        ("x x", [None, None], "needed names of Python, each once"),
        ("in", [None], "needed names of Python, each once"),
        ("x", [lambda x: 2 * x], r"the first argument of a rule of own is called 'x', as an operand is"),
        ("t", (lambda t: 2 * t,), "or call the operand otherwise"),
        ("x", [lambda y: 2 * y], "as the result is; it gets the tangent or cotangent"),
        ("x", [], "maps of 'own' has 0 rules; needed 1"),
    ],
)
def test_names_by_which_rules_would_read_something_else(operands: str, maps: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        extend.elementwise("own", operands, numpy=np.negative, xla="neg", maps=maps)
    with pytest.raises(TypeError, match="a rule of own is a ufunc; needed a Python function"):
        extend.elementwise("own", "x", numpy=np.negative, xla="neg", maps=[np.negative])
