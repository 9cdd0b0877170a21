"""Equations know the user's line, the named blocks around it, and whether they belong to the backward pass."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.graph import line as line_module
from funcgrad._core.graph.line import Line

W, X = np.full((3, 3), 0.5), np.ones(3)


@fg.named("layer")
def layer(w: Any, x: Any) -> Any:
    with fg.named("linear"):
        y = x @ w
    return np.tanh(y)


def loss(w: Any, x: Any) -> Any:
    return np.sum(layer(w, layer(w, x)) ** 2)


def looped(w: Any, x: Any) -> Any:
    y, _ = fg.scan(lambda c, _: (layer(w, c), None), x, None, length=2)
    return np.sum(fg.checkpoint(lambda y: layer(w, y))(y))


def origins(graph: fg.Graph) -> list[tuple[str, str, bool]]:
    """Return for each equation its line's text, its blocks, and whether it is backward.

    Bodies of loops are included.
    """
    found = []
    for equation in graph.equations:
        source: Any = equation.source
        found.append((source.text, "/".join(block.name for block in source.blocks), source.backward))
        for value in equation.params.values():
            found += origins(value) if isinstance(value, fg.Graph) else []
    return found


TANH, MATMUL = "return np.tanh(y)", "y = x @ w"

COMPILED: Any = fg.jit(fg.grad(loss))
TRANSFORMED: dict[str, Callable[[], fg.Graph]] = {
    "grad": lambda: fg.make_graph(fg.grad(loss))(W, X),
    "grad, simplified": lambda: COMPILED.graph(W, X),
    "vmap of grad": lambda: fg.make_graph(fg.vmap(fg.grad(loss), (None, 0)))(W, np.ones((2, 3))),
    "grad of jit": lambda: fg.make_graph(fg.grad(fg.jit(loss, engine="numpy")))(W, X),
    "graph of a graph": lambda: fg.make_graph(fg.make_graph(fg.grad(loss))(W, X))(W, X),
    "grad of a graph": lambda: fg.make_graph(fg.grad(fg.make_graph(loss)(W, X)))(W, X),
    "jvp of grad": lambda: fg.make_graph(lambda w: fg.jvp(lambda w: fg.grad(loss)(w, X), (w,), (w,)))(W),
    "grad of grad": lambda: fg.make_graph(fg.grad(lambda w: np.sum(fg.grad(loss)(w, X) ** 2)))(W),
    "in loops": lambda: fg.make_graph(fg.grad(looped))(W, X),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_lines_and_blocks_are_kept_there_and_back(name: str) -> None:
    found = set(origins(TRANSFORMED[name]()))
    for backward in (False, True):
        assert (MATMUL, "layer/linear", backward) in found
        assert (TANH, "layer", backward) in found
    # Equations outside every block have no block names, and only these.
    assert {blocks for text, blocks, _ in found if text == MATMUL} == {"layer/linear"}
    assert {blocks for _, blocks, _ in found} == {"", "layer", "layer/linear"}


def test_each_call_is_a_block_of_its_own_and_the_way_back_belongs_to_it() -> None:
    graph = fg.make_graph(fg.grad(loss))(W, X)
    sources: list[Any] = [equation.source for equation in graph.equations]
    calls = list(dict.fromkeys(source.blocks[0].call for source in sources if source.blocks and not source.backward))
    back = list(dict.fromkeys(source.blocks[0].call for source in sources if source.blocks and source.backward))
    assert len(calls) == 2
    assert back == calls[::-1]


def test_a_graph_that_runs_in_a_block_is_in_it() -> None:
    inner = fg.make_graph(lambda x: layer(W, x))(X)
    graph = fg.make_graph(fg.named("outer")(inner))(X)
    assert [blocks for _, blocks, _ in origins(graph)] == ["outer/layer/linear", "outer/layer"]
    # A body that was staged in the block already has its name.
    with fg.named("outer"):
        inner = fg.make_graph(lambda x: layer(W, x))(X)
        graph = fg.make_graph(inner)(X)
    assert [blocks for _, blocks, _ in origins(graph)] == ["outer/layer/linear", "outer/layer"]


def test_a_rule_of_the_users_has_its_own_line() -> None:
    @fg.custom_vjp
    def f(x: Any) -> Any:
        return np.sin(x)

    def back(x: Any, y_bar: Any) -> Any:
        return (y_bar * np.cos(x),)

    f.defvjp(lambda x: (f(x), x), back)
    graph = fg.make_graph(fg.grad(lambda x: np.sum(f(x))))(X)
    assert any(text == "return (y_bar * np.cos(x),)" for text, _, _ in origins(graph))


def test_text_has_the_blocks() -> None:
    lines = str(fg.make_graph(layer)(W, X)).splitlines()
    assert lines[1].endswith(" layer/linear")
    assert lines[2].endswith(" layer")


def test_names_change_nothing_else() -> None:
    np.testing.assert_array_equal(fg.grad(loss)(W, X), fg.grad(lambda w, x: loss(w, x))(W, X))
    assert layer.__name__ == "layer"
    with pytest.raises(ZeroDivisionError):
        fg.named("a")(lambda: 1 / 0)()
    assert [blocks for _, blocks, _ in origins(fg.make_graph(np.sin)(X))] == [""]
    named: Any = fg.named
    with pytest.raises(TypeError, match="must be a string"):
        named(3)
    with pytest.raises(TypeError, match="needed a function"):
        named("a")(3)


def test_a_line_prints_without_its_blocks() -> None:
    line = Line("/a/b.py", 3, (), True)
    assert str(line) == "b.py:3"
    assert line.place == ("/a/b.py", 3, (), False)


def test_a_notebooks_cell_has_its_number() -> None:
    shells = pytest.importorskip("IPython.core.interactiveshell")
    shell = shells.InteractiveShell.instance()
    try:
        shell.run_cell("import numpy, funcgrad", store_history=True)
        shell.run_cell("def f(x):\n    return numpy.tanh(x)", store_history=True)
        shell.run_cell("graph = funcgrad.make_graph(f)(1.0)", store_history=True)
        assert str(shell.user_ns["graph"].equations[0].source) == "In[2]:2"
        assert str(Line("/somewhere/else.py", 3)) == "else.py:3"
    finally:
        shells.InteractiveShell.clear_instance()


def test_each_function_has_its_own_lines_when_many_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    # The ids of functions that are gone belong to other functions later.
    monkeypatch.setattr(line_module, "_MOST_CODES", 3)
    for k in range(20):
        scope: dict[str, Any] = {}
        exec(compile("\n" * k + "def f(x):\n    return x * x\n", f"made_{k % 7}.py", "exec"), scope)
        (equation,) = fg.make_graph(scope["f"])(2.0).equations
        assert equation.source == Line(f"made_{k % 7}.py", k + 2)


def test_operations_of_one_line_have_equal_origins_in_each_block() -> None:
    def f(x: Any) -> Any:
        for name in "ab":
            with fg.named(name):
                x = x * x + x
        return x

    sources: list[Any] = [each.source for each in fg.make_graph(f)(2.0).equations]
    assert [each.blocks[0].name for each in sources] == list("aabb")
    assert sources[0] is sources[1]
    assert len({each.place for each in sources}) == 1
