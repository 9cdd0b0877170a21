"""Graphs to draw: small and large, with blocks and loops, with and without a backward pass."""

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad as fg

W, X = np.full((3, 3), 0.5), np.ones(3)


@fg.named("layer </script>")
def layer(w: Any, x: Any) -> Any:
    with fg.named("linear"):
        y = x @ w
    return np.tanh(y)


def network(w: Any, x: Any) -> Any:
    for _ in range(3):
        x = layer(w, x)
    return np.sum(x**2) + x[0]


def unrolled(x: Any) -> Any:
    for _ in range(120):
        y = np.sin(x) * 2.0
        x = x + y / 3
    return {"sum": np.sum(x), "last": x}


def looped(w: Any, x: Any) -> Any:
    y, ys = fg.scan(lambda c, row: (layer(w, c) + row, c), x, np.ones((4, 3)))
    return np.sum(fg.cond(y[0] > 0, np.sin, np.cos, y)) + np.sum(ys)


def entered_again(x: Any) -> Any:
    with fg.named("a"):
        y = np.sin(x)
    for _ in range(2):
        with fg.named("b"):
            y = y * x
    return y, 1.0, x


DRAWN: dict[str, Callable[[], fg.Graph]] = {
    "nothing": lambda: fg.make_graph(lambda x: x)(X),
    "one": lambda: fg.make_graph(np.sin)(X),
    "network": lambda: fg.make_graph(fg.grad(network))(W, X),
    "network, simplified": lambda: fg.make_graph(fg.value_and_grad(network))(W, X).simplify(),
    "unrolled": lambda: fg.make_graph(unrolled)(X),
    "unrolled and back": lambda: fg.make_graph(fg.grad(lambda x: unrolled(x)["sum"]))(X),
    "loops": lambda: fg.make_graph(fg.grad(looped))(W, X),
    "blocks that are entered again": lambda: fg.make_graph(fg.vmap(entered_again))(W),
    "constants": lambda: fg.make_graph(lambda x: x * W[0] + W[1])(X),
}
