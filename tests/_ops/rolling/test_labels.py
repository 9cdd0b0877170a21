"""Loops that read what they compute at a place that differs from round to round, such as a label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._ops.rolling.labels import labelled, unlabelled
from tests._ops.rolling._rolled import assert_engine_agrees, assert_rolls

rng = np.random.default_rng(13)
X = rng.normal(size=(40, 3))
W = 0.4 * rng.normal(size=(5, 3))
LABELS = rng.integers(0, 5, 40).tolist()
PLACES = rng.integers(0, 3, 40).tolist()


def cross_entropy(x: Any, w: Any) -> Any:
    """Compute the loss of a recurrent net with one label for each round."""
    h, loss = x[0] * 0.0, 0.0
    for t, label in enumerate(LABELS):
        h = np.tanh(x[t] + h @ w[:3])
        z = w @ h
        p = np.exp(z) / np.sum(np.exp(z))
        loss -= np.log(p[label])
    return loss


def columns_of_numbers(x: Any, w: Any) -> Any:
    h, loss = np.zeros((3, 1), like=x), 0.0
    for t, label in enumerate(LABELS):
        h = np.cos(x[t].reshape(3, 1) + np.dot(w[:3], h))
        z = np.dot(w, h)
        loss += z[label, 0] ** 2
    return loss


def rows(x: Any, w: Any) -> Any:
    s = x[0] * 0.0
    for t, label in enumerate(LABELS):
        m = np.tanh(w * x[t] + s)
        s = s + m[label]
    return np.sum(s**2)


def last_axis(x: Any, w: Any) -> Any:
    s = w[:, 0] * 0.0
    for t, place in enumerate(PLACES):
        m = np.sin(w * x[t] + s[:, None])
        s = 0.5 * s + m[:, place]
    return np.sum(s**2)


def of_the_round_before(x: Any, w: Any) -> Any:
    z, loss = w @ x[0], 0.0
    for t in range(1, len(LABELS)):
        loss = loss + z[LABELS[t]]
        z = np.tanh(w @ x[t] + 0.1 * z)
    return loss


def one_label_after_another(x: Any, w: Any) -> Any:
    """Read one place in the first loop, and several in the second."""
    loss = 0.0
    for labels in ([2] * len(LABELS), LABELS):
        z = w @ x[0]
        for t, label in enumerate(labels):
            z = np.tanh(w @ x[t] + 0.1 * z)
            loss = loss + z[label] ** 2
    return loss


PROGRAMS: list[Callable[..., Any]] = [
    cross_entropy,
    columns_of_numbers,
    rows,
    last_axis,
    of_the_round_before,
    one_label_after_another,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_labels_roll(f: Callable[..., Any]) -> None:
    assert_rolls(f, X, W)
    assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), X, W, most=110)


@pytest.mark.parametrize("engine", ["xla", "numba", "numpy"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_labels_agree(f: Callable[..., Any], engine: str) -> None:
    assert_engine_agrees(engine, fg.value_and_grad(f, argnums=(0, 1)), X, W)


def test_places_that_are_the_same_in_each_round_are_no_labels() -> None:
    def state(x: Any) -> Any:
        s = x[0]
        for t in range(12):
            s = np.stack([s[1], s[2] - s[0], np.sin(s[0]) + x[t, 1]])
        return s[0]

    assert labelled(fg.make_graph(fg.value_and_grad(state))(X)) is None


def test_labels_that_are_numbers_are_put_back() -> None:
    graph = fg.make_graph(fg.value_and_grad(cross_entropy, argnums=(0, 1)))(X, W)
    labels = labelled(graph)
    assert labels is not None
    back = unlabelled(labels)
    assert str(back) == str(graph)
    for found in (labels, back):
        fg.extend.check_graph(found)
        for a, b in zip(fg.tree.leaves(found(X, W)), fg.tree.leaves(graph(X, W)), strict=True):
            np.testing.assert_array_equal(a, b)
