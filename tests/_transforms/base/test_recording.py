"""Runs on a tape: passes over it, and the values that it keeps."""

import weakref
from typing import Any

import numpy as np

from funcgrad._transforms.base.recording import record


def test_passes_over_one_recording_lie_apart_and_have_the_arguments_structure_and_dtypes() -> None:
    params = {"w": np.ones(2, np.float32), "unused": np.ones(3, np.float16)}
    recording = record("vjp", lambda p: p["w"] * 2, (params,), {}, [0])
    _, node = recording.taken_apart(recording.out)
    seed = np.array([1.0, 2.0], np.float32)
    (first,), (second,) = [recording.pull([(node, seed)], [seed]) for _ in range(2)]
    assert {name: x.dtype for name, x in first.items()} == {name: x.dtype for name, x in params.items()}
    np.testing.assert_array_equal(first["w"], 2 * seed)
    np.testing.assert_array_equal(first["unused"], np.zeros(3))
    assert not np.shares_memory(first["w"], second["w"])


def test_a_cotangent_that_passes_through_is_not_what_was_given() -> None:
    recording = record("vjp", lambda x: x, (np.ones(2),), {}, [0])
    _, node = recording.taken_apart(recording.out)
    seed = np.ones(2)
    (x_bar,) = recording.pull([(node, seed)], [seed])
    assert not np.shares_memory(x_bar, seed)


def test_a_recording_holds_on_to_no_output_once_the_pass_has_begun() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        y = np.sin(x)
        kept.append(weakref.ref(y._value))
        return y * 1.0

    recording = record("grad", f, (np.ones(2),), {}, [0])
    _, node = recording.taken_apart(recording.out)
    recording.pull(iter([(node, np.ones(2))]))
    del node
    assert kept[0]() is None
