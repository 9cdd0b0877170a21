"""Graphs as text: one round of a long loop is shown for all rounds."""

import re
from typing import Any

import numpy as np

import funcgrad as fg


def running(x: Any) -> Any:
    y = np.zeros(len(x), like=x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = np.tanh(0.5 * y[t - 1] + x[t])
    return np.sum(y)


def hidden(text: str) -> int:
    """Return the number of equations that are not shown."""
    found = re.findall(r"\.\.\. ([\d,]+) more rounds of (\d+) equations like these \.\.\.", text)
    return sum(int(rounds.replace(",", "")) * int(period) for rounds, period in found)


def test_one_round_of_a_long_loop_is_shown() -> None:
    for f in (running, fg.grad(running)):
        graph = fg.make_graph(f)(np.ones(2000))
        text = str(graph)
        shown = [line for line in text.splitlines() if re.match(r"  \w+: ", line) and " = constant " not in line]
        assert len(shown) < 60
        assert len(shown) + hidden(text) == len(graph.equations)
        # A parameter with one part for each round is cut, too.
        assert max(map(len, text.splitlines())) < 200


def test_short_programs_and_programs_that_do_not_repeat_are_shown_whole() -> None:
    short = fg.make_graph(running)(np.ones(10))
    assert len(str(short).splitlines()) == len(short.equations) + len(short.constants) + 2

    def no_loop(x: Any) -> Any:
        source = "\n".join(f"x = np.{('sin', 'cos', 'tanh')[k * k % 3]}(x)" for k in range(300))
        scope = {"np": np, "x": x}
        exec(source, scope)
        return scope["x"]

    straight = fg.make_graph(no_loop)(np.ones(2))
    assert hidden(str(straight)) == 0
