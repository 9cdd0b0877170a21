"""Engines as records: complete, found by name, and sufficient for the rest of the package."""

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.graph.ir import Graph
from funcgrad._engines import ENGINES, NUMPY, XLA, engine_named, engine_of, is_abstract, lasting, place_beside
from funcgrad._engines.engine import NO_SCOPE, Engine
from funcgrad._ops.elementwise.trigonometric import sin_p

PACKAGE = Path(fg.__file__).parent


NO_FUNCTIONS = (
    "name",
    "tracing",
    "written",
    "written_paths",
    "written_path",
    "rolls_above",
    "most_equations",
    "splits_loops",
)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_the_record_is_whole(engine: Engine) -> None:
    for field in dataclasses.fields(engine):
        assert field.default is dataclasses.MISSING, f"{field.name} may be left out"
        assert callable(getattr(engine, field.name)) or field.name in NO_FUNCTIONS
    assert engine_named(engine.name) is engine


@pytest.mark.parametrize(("engine", "x"), [(NUMPY, np.ones(3)), (XLA, jax.numpy.ones(3))], ids=["numpy", "xla"])
def test_a_record_does_what_it_says(engine: Engine, x: Any) -> None:
    graph = fg.make_graph(lambda x: np.sin(x))(np.ones(3, x.dtype))
    with engine.scope():
        wanted = np.sin(np.asarray(x))
        np.testing.assert_allclose(engine.run(sin_p, (x,), {}), wanted, rtol=1e-6)
        np.testing.assert_allclose(engine.compile(graph)(x)[0], wanted, rtol=1e-6)
    assert engine.owns(x)
    assert not engine.is_abstract(x)
    assert engine.known(x) is x
    assert engine.lasting(x, ()) is x
    np.testing.assert_array_equal(engine.place_beside(np.arange(2), x), np.arange(2))


def test_a_value_knows_its_engine() -> None:
    on_xla = jax.numpy.ones(2)
    assert engine_of(on_xla) is XLA
    assert [engine_of(x) for x in (1, 2.0, np.ones(2), np.float32(1), "text", None)] == [None] * 6
    abstract, numbers = [], []
    jax.jit(lambda x: abstract.append(is_abstract(x)))(on_xla)
    jax.jit(lambda x: numbers.append(XLA.known(x)))(on_xla)
    jax.grad(lambda x: numbers.append(XLA.known(x)) or x)(2.0)
    assert numbers == [None, 2.0]
    fg.grad(lambda x: abstract.append(is_abstract(x)) or x)(1.0)
    assert abstract == [True, False]
    assert not is_abstract(on_xla)


def test_what_is_numpys_stays_as_it_is() -> None:
    value = np.arange(2)
    assert place_beside(value, np.ones(2)) is value
    assert lasting(value, (jax.numpy.ones(2),)) is value
    assert NUMPY.scope() is NO_SCOPE


@pytest.mark.parametrize("name", ["cuda", "", None, []], ids=repr)
def test_a_name_that_is_none_is_refused(name: Any) -> None:
    with pytest.raises(ValueError, match='needed "xla" or "numpy"'):
        fg.jit(np.sin, engine=name)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Graph]:
    """The graphs that a third engine compiles. It is the NumPy engine with another name, and notes each graph."""
    graphs: list[Graph] = []

    def compile_noted(graph: Graph) -> Any:
        graphs.append(graph)
        return graph.evaluate

    toy = dataclasses.replace(NUMPY, written=None, name="toy", owns=lambda x: False, compile=compile_noted)
    monkeypatch.setitem(ENGINES, "toy", toy)
    return graphs


def loss(x: Any) -> Any:
    return np.sum(np.sin(x) ** 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda f: fg.jit(fg.grad(f), engine="toy"),
        lambda f: fg.grad(fg.jit(f, engine="toy")),
        lambda f: fg.jit(fg.grad(fg.jit(f, engine="toy")), engine="toy"),
        lambda f: fg.jacfwd(fg.jit(f, engine="toy")),
    ],
    ids=["jit of grad", "grad of jit", "jit of grad of jit", "forward"],
)
def test_a_third_engine_is_one_record(make: Any, compiled: list[Graph]) -> None:
    x = np.array([0.3, -1.2, 2.0])
    gradient = make(loss)
    for _ in range(2):
        np.testing.assert_allclose(gradient(x), np.sin(2 * x), rtol=1e-12)
    # Each graph is compiled once, and by this engine.
    assert compiled
    assert len(set(map(id, compiled))) == len(compiled)


def test_a_third_engine_maps_over_a_batch(compiled: list[Graph]) -> None:
    xs = np.array([[0.3, -1.2], [2.0, 0.1]])
    np.testing.assert_allclose(fg.vmap(fg.grad(fg.jit(loss, engine="toy")))(xs), np.sin(2 * xs), rtol=1e-12)
    assert compiled


def test_the_message_names_all_engines(compiled: list[Graph]) -> None:
    with pytest.raises(ValueError, match='needed "xla" or "numpy" or "numba" or "toy"'):
        fg.jit(loss, engine="torch")


def test_an_engine_that_writes_no_source_says_so(compiled: list[Graph]) -> None:
    jitted: Any = fg.jit(loss, engine="toy")
    with pytest.raises(ValueError, match=r"The engine 'toy' writes none; needed .* Use engine=\"numpy\""):
        jitted.source(np.ones(3))


def test_numpys_own_loops_and_branches_leave_jax_alone() -> None:
    program = """
import sys
import numpy as np
import funcgrad as fg

def f(x):
    last, _ = fg.scan(lambda carry, row: (carry * row, carry), x, np.ones(3))
    return fg.cond(x > 0, np.sin, np.cos, fg.while_loop(lambda y: y < 10, lambda y: 2 * y, fg.checkpoint(np.exp)(last)))

fg.jit(f, engine="numpy")(1.0)
sys.exit('jax' in sys.modules and 'jax was imported')
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# The files that may import an engine's own modules: interoperation with JAX, donation (which is JAX's), steps of
# optimizers, schedules as functions of JAX, and access to the text that an engine writes.
KNOWN = {
    "_report/python/write.py",
    "_report/stablehlo.py",
    "_transforms/compiled/xla_function.py",
    "interop/jax.py",
    "io/_directory.py",
    "io/_spread.py",
    "jax/_bridge.py",
    "jax/_compiled.py",
    "jax/_names.py",
    "jax/lax/_control.py",
    "optim/_run/leaf.py",
    "optim/_run/program.py",
    "optim/_state/hyperparameters.py",
    "sharding.py",
}


def test_the_rest_of_the_package_knows_engines_by_their_records() -> None:
    inside = ("funcgrad._engines.xla", "funcgrad._engines.source")
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] != "_engines" and any(name in path.read_text() for name in inside)
    }
    assert users - KNOWN == set()
