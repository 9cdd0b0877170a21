"""Generated recorders: the values that they keep, their results, and their lines in tracebacks."""

import inspect
import traceback
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from benchmarks.frames import frames_of
from funcgrad._core.trace import recorder
from funcgrad._core.trace.tape import kept_by
from funcgrad._ops.elementwise.arithmetic import mul_p


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("y", 7.0),
        ("y_aval", "f64[]"),
        ("b", (4.0, 5.0)),
        ("b_shape", (2,)),
        ("a_shape", ()),
        ("a_aval", "f64[]"),
        ("axis_shape", "a parameter"),
    ],
)
def test_what_a_rule_names_is_read(name: str, value: Any) -> None:
    scope: dict[str, Any] = {}
    exec(f"def rule(t, {name}): ...", scope)
    read = recorder.reader("reads of a test", recorder.Operands(("a", "b")), scope["rule"])
    (got,) = read(7.0, {"axis_shape": "a parameter"}, 3.0, np.array([4.0, 5.0]))
    assert (tuple(got) if isinstance(got, np.ndarray) else str(got) if name.endswith("aval") else got) == value


def test_rules_that_read_the_same_keep_it_once() -> None:
    rules = {0: lambda t, y, b: t * y * b, 2: lambda t, b, scale: t * b * scale}
    kept = recorder.names_read(rules.values())
    assert kept == ["y", "b", "scale"]
    pull = recorder.pull("pull of a test", rules, kept, recorder.Operands(("a", "b", "c")))
    assert pull(2.0, (0, 0, "parent", "parent", 3.0, 5.0, 7.0)) == (30.0, 70.0)


def test_shapes_are_kept_only_where_operands_broadcast() -> None:
    def node(a: Any, b: Any) -> Any:
        nodes = []
        fg.grad(lambda a, b: (nodes.append((y := a * b)._node), np.sum(y))[1], (0, 1))(a, b)
        return nodes[0]

    assert len(kept_by(node(np.ones(3), np.ones(3)))) == 2
    assert kept_by(node(np.ones(3), np.ones((2, 3))))[:2] == ((3,), (2, 3))


def test_tracebacks_show_the_written_line() -> None:
    with fg.full_tracebacks(), pytest.raises(ValueError, match="broadcast") as caught:
        fg.grad(lambda x: np.sum(np.sin(x) * np.ones(2) * np.ones(2) * np.ones(3)))(np.ones(2))
    lines = [entry.line or "" for entry in traceback.extract_tb(caught.value.__traceback__)]
    assert any(line.startswith("lambda trace, params, x0, x1") and "run(x0, x1)" in line for line in lines)
    assert inspect.getsource(next(filter(None, mul_p.recorders))).startswith("lambda trace")


def test_reads_and_writes_of_rows_enter_few_functions() -> None:
    """Loops over ``x[t]`` and loops that fill ``out[t]`` spend most of their time in these calls."""
    counts: dict[str, int] = {}

    def loss(x: Any) -> Any:
        out = np.zeros_like(x)
        out[0] = x[0]
        row = np.tanh(out[0])

        def write() -> None:
            out[1] = row

        write()
        counts.update(read=frames_of(lambda: x[3]).total(), write=frames_of(write).total())
        counts.update(written=frames_of(lambda: out[1]).total())
        return np.sum(out)

    fg.grad(loss)(np.ones((5, 4)))
    assert counts["read"] <= 7
    assert counts["written"] <= 15
    assert counts["write"] <= 14


def test_a_gradient_enters_few_functions() -> None:
    """The gradient of a small function consists of such calls, and slows down with each one more."""
    a, b = np.ones(5), np.ones(5)
    gradient = fg.grad(lambda a, b: np.sum(3 * a**3 - b**2), argnums=(0, 1))
    for _ in range(2):
        gradient(a, b)
    assert frames_of(lambda: gradient(a, b)).total() <= 69
