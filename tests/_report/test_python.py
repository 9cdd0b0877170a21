"""Exported files run without the package and compute the same as the graph."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import UnsupportedFunctionError
from tests._report._graphs import DRAWN, W, X
from tests.laws._cases import Case, all_rows

CALLS_OUT = {"callback", "effect", "tap", "jax_function"}
FIRST = {row.primitive.name: row for row in reversed(all_rows())}


def run(text: str, name: str) -> Callable[..., Any]:
    """Return the function of a file, run without funcgrad."""
    hidden = {key: sys.modules.pop(key) for key in list(sys.modules) if key.split(".")[0] in ("funcgrad", "jax")}
    sys.modules["funcgrad"] = None  # pyright: ignore[reportArgumentType]  (that is how an import is made to fail)
    file: dict[str, Any] = {"__name__": "exported"}
    try:
        exec(compile(text, "exported.py", "exec"), file)
    finally:
        del sys.modules["funcgrad"]
        sys.modules.update(hidden)
    return file[name]


def assert_same(found: Any, expected: Any) -> None:
    assert fg.tree.structure(found) == fg.tree.structure(expected)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b), strict=True)


def export_row(name: str) -> tuple[fg.Graph, list[Any]]:
    """Return the graph of one primitive, and operands."""
    row = FIRST[name]
    operands = Case(row, np.dtype(float)).operands(np.random.default_rng(0))
    return fg.make_graph(lambda *xs: row.primitive(*xs, **row.params))(*operands), operands


# ``python -m tests._report.test_python`` tries all of them. Their names alone decide which are tried here.
@pytest.mark.parametrize("name", sorted(name for name in set(FIRST) - CALLS_OUT if sum(map(ord, name)) % 5 == 0))
def test_a_primitive_is_written_out(name: str) -> None:
    graph, operands = export_row(name)
    assert_same(run(graph.to_python(), "function")(*operands), graph(*operands))


@pytest.mark.parametrize("name", sorted(CALLS_OUT))
def test_what_calls_python_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedFunctionError, match=rf"to_python: {name} at test_python.py:\d+ of"):
        export_row(name)[0].to_python()


def structured(p: dict[str, Any], *, scale: Any, table: Any) -> dict[str, Any]:
    y = (p["w"] @ p["b"][0]) * scale + table
    y[1:] *= 2
    return {"z": (y, [None, 3.0]), "a": np.where(y > 0, y, -np.inf), "same": p["w"]}


def test_structures_numbers_and_constants(tmp_path: Path) -> None:
    kwargs = {"scale": 2.0, "table": np.arange(3.0)}
    args = ({"b": [X], "w": W},)
    graph = fg.make_graph(structured)(*args, **kwargs)
    text = graph.to_python()
    (tmp_path / "exported.py").write_text(text)
    function = run(text, "structured")
    assert_same(function(*args, **kwargs), graph(*args, **kwargs))
    assert list(function(*args, **kwargs)) == ["z", "a", "same"]
    # The function writes neither to arguments nor to constants: a second call gives the same.
    assert_same(function(*args, **kwargs), graph(*args, **kwargs))
    with pytest.raises(TypeError, match=r"arg0\['w'\] is float64\[2, 3\]; needed float64\[3, 3\]"):
        function({"b": [X], "w": W[:2]}, **kwargs)
    with pytest.raises(TypeError, match="scale is a str; needed a Python float"):
        function(*args, scale="2", table=kwargs["table"])


CONSTANTS = {
    "many": np.linspace(0, 1, 100),
    "by columns": np.asfortranarray(np.arange(60.0).reshape(6, 10)),
    "with NaN": np.array([np.nan, -np.inf, -0.0, 1e-320]),
    "narrow": np.array([0.1, 2.0], np.float32),
    "complex": np.array([1 - 0.0j, complex(np.inf, 2)]),
    "empty": np.zeros((0, 3)),
    "swapped": np.array([1.5, 2.5], ">f8"),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_keep_their_bits(name: str) -> None:
    value = CONSTANTS[name]
    graph = fg.make_graph(lambda x: (x + 1.0, value))(X)
    found = run(graph.to_python(), "function")(X)[1]
    assert found.tobytes() == graph(X)[1].tobytes()
    assert found.dtype == value.dtype


@pytest.mark.parametrize("name", DRAWN)
def test_programs_with_blocks_loops_and_branches(name: str) -> None:
    graph = DRAWN[name]()
    args = [np.random.default_rng(0).standard_normal(x.aval.shape) for x in graph.inputs]
    for each in (graph, graph.simplify()):
        name = each.name if each.name.isidentifier() else "function"
        assert_same(run(each.to_python(), name)(*args), graph(*args))


def test_classes_of_ones_own_are_refused() -> None:
    state = fg.sgd_init({"w": X}, lr=0.1, momentum=0.9)
    graph = fg.make_graph(fg.sgd_update)({"w": X}, state, {"w": X})
    with pytest.raises(UnsupportedFunctionError, match="the result of sgd_update holds a SGDState"):
        graph.to_python()


if __name__ == "__main__":
    for each in sorted(set(FIRST) - CALLS_OUT):
        made, given = export_row(each)
        assert_same(run(made.to_python(), "function")(*given), made(*given))
    print(f"{len(FIRST) - len(CALLS_OUT)} primitives")  # noqa: T201  (to be run by hand)
