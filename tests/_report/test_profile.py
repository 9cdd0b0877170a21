"""Times of equations, and the program in StableHLO."""

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._report.profile import duration
from funcgrad.errors import ConcretizationTypeError, TreeMismatchError

X = np.full((300, 300), 0.5)


def slow(p: dict[str, Any], scale: float) -> Any:
    y = np.sum(p["w"], axis=0)
    return np.sum(np.exp(np.sin(p["w"]))) * scale + y[0]


def test_a_profile_has_every_equation_slowest_first() -> None:
    graph = fg.make_graph(slow)({"w": X}, 2.0)
    profile = graph.profile({"w": X}, 2.0)
    assert sorted(row.what.split(" = ")[1].split(" ")[0] for row in profile.rows)[-2:] == [
        "reduce_sum[axes=(0,),",
        "sin",
    ]
    assert len(profile.rows) == len(graph.equations)
    seconds = [row.seconds for row in profile.rows]
    assert seconds == sorted(seconds, reverse=True)
    assert all(each > 0 for each in seconds)
    assert sum(row.share for row in profile.rows) == pytest.approx(1)
    assert profile.seconds == pytest.approx(sum(seconds))
    lines = str(profile).splitlines()
    assert lines[0].startswith("slow: ")
    assert len(lines) == 1 + len(graph.equations)
    assert "test_profile.py:" in lines[1]
    by_line = profile.by_line()
    assert sum(row.equations for row in by_line.rows) == len(graph.equations)
    assert {row.what for row in by_line.rows} == {
        'y = np.sum(p["w"], axis=0)',
        'return np.sum(np.exp(np.sin(p["w"]))) * scale + y[0]',
    }
    assert "<table>" in profile._repr_html_()


def test_a_profile_checks_its_arguments() -> None:
    graph = fg.make_graph(slow)({"w": X}, 2.0)
    with pytest.raises(TreeMismatchError, match=r"argument 0 at \['w'\] is f64\[2,2\]"):
        graph.profile({"w": np.ones((2, 2))}, 2.0)
    with pytest.raises(ConcretizationTypeError, match="traced by a running grad"):
        fg.grad(lambda w: graph.profile({"w": w}, 2.0).seconds)(X)
    assert fg.make_graph(lambda x: x)(X).profile(X).rows == []


def test_durations() -> None:
    assert [duration(t) for t in (2.0, 0.0123, 4.5e-6, 3e-8)] == ["2 s", "12.3 ms", "4.5 us", "30 ns"]


def test_stablehlo() -> None:
    table = np.arange(3.0)
    text = fg.make_graph(fg.grad(lambda x, s: np.sum(np.tanh(x) * table) * s))(np.ones(3), 2.0).to_stablehlo()
    assert "tensor<3xf64>" in text
    assert "stablehlo.tanh" in text
    assert "dense<[0.0" in text
    kept = []
    fg.grad(lambda x: (kept.append(fg.make_graph(lambda y: y * x)(table)), np.sum(x))[1])(table)
    with pytest.raises(ConcretizationTypeError, match="traced by a running grad"):
        kept[0].to_stablehlo()
    with pytest.raises(fg.errors.UnsupportedFunctionError, match="traced by a running grad"):
        kept[0].to_python()
